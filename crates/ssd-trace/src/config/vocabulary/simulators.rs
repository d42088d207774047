//! Words of simulators and emulators.

use super::{FREE_BLOCKS, NO_HOST_STACK, OF_RAW};
use ssd_core::config::terms::{Term, absent, other, same};

const NS: &str = "nanoseconds there; write the unit, as in \"40000 ns\"";
const US: &str = "microseconds there; write the unit, as in \"40 us\"";
const MS: &str = "milliseconds there; write the unit, as in \"0.04 ms\"";
const FREE_SHARE: &str = "the share f of free pages there; write gc.trigger={ policy = \"used-space\", \
     at = 1 - f, scope = \"pool\" }";
const NO_SECTORS: &str = "sectors have 512 bytes";
const NS_IN_A_LIST: &str = "nanoseconds of one type there; here all in one list, as in [\"40000 ns\", \"65000 ns\"], \
     and device.bits says how many";
const PS_IN_A_LIST: &str = "picoseconds of one type there; here all in one list, as in [\"40 us\", \"65 us\"], and \
     device.bits says how many";
const NO_CACHED_MAP: &str = "the map is in the controller as a whole";
const DIES: &str = "dies are the chips of a channel here; write dies * chips";

pub(super) const MQSIM: &[Term] = &[
    same("Flash_Channel_Count", "device.channels"),
    same("Chip_No_Per_Channel", "device.chips_per_channel"),
    other("Die_No_Per_Chip", "device.chips_per_channel", DIES),
    same("Plane_No_Per_Die", "device.planes_per_chip"),
    same("Block_No_Per_Plane", "device.blocks_per_plane"),
    same("Page_No_Per_Block", "device.pages_per_block"),
    same("Page_Capacity", "device.page_size"),
    other("Overprovisioning_Ratio", "device.over_provisioning", OF_RAW),
    other(
        "Page_Read_Latency_LSB|Page_Read_Latency_CSB|Page_Read_Latency_MSB",
        "timing.read_types",
        NS_IN_A_LIST,
    ),
    other(
        "Page_Program_Latency_LSB|Page_Program_Latency_CSB|Page_Program_Latency_MSB",
        "timing.program_types",
        NS_IN_A_LIST,
    ),
    other("Block_Erase_Latency", "timing.erase", NS),
    same("Block_PE_Cycles_Limit", "wear.endurance"),
    other(
        "Channel_Transfer_Rate",
        "timing.bus_rate",
        "MT/s there; write the unit, as in \"333 MT/s\"",
    ),
    other(
        "Flash_Channel_Width",
        "timing.bus_rate",
        "a transfer has 8 bits; multiply the rate by the bytes of the width",
    ),
    other(
        "IO_Queue_Depth",
        "host.queue_depth",
        "the room of the queue there; here the requests that are outstanding",
    ),
    other(
        "Queue_Fetch_Size",
        "host.max_outstanding",
        "requests of an open loop that the drive has at a time",
    ),
    other(
        "Average_No_of_Reqs_in_Queue",
        "host.queue_depth",
        "requests that are outstanding (QUEUE_DEPTH)",
    ),
    other("Data_Cache_Capacity", "host.write_buffer_pages", "bytes there, pages here"),
    other(
        "Caching_Mechanism|Device_Level_Data_Caching_Mode",
        "host.write_buffer_pages",
        "TURNED_OFF is 0",
    ),
    other("GC_Exec_Threshold|GC_Exect_Threshold", "gc.trigger", FREE_SHARE),
    other("GC_Hard_Threshold", "gc.reserve", FREE_BLOCKS),
    same("GC_Block_Selection_Policy", "gc.victim"),
    other("Use_Copyback_for_GC", "gc.path", "true is gc.path=copyback, false gc.path=controller"),
    other(
        "Preemptible_GC_Enabled",
        "sched.order",
        "true is sched.order=host-first, false sched.order=gc-first",
    ),
    other("Transaction_Scheduling_Policy", "sched.order", "the order of the queues of a chip"),
    other(
        "Plane_Allocation_Scheme",
        "alloc.placement",
        "static stripes by channel first; the others are dynamic",
    ),
    same("Dynamic_Wearleveling_Enabled", "wear.dynamic"),
    other("Static_Wearleveling_Enabled", "wear.static_threshold", "0 is off"),
    same("Static_Wearleveling_Threshold", "wear.static_threshold"),
    other(
        "Enabled_Preconditioning",
        "precondition.fill",
        "the share of the pages that are written before the run",
    ),
    other(
        "Initial_Occupancy_Percentage",
        "precondition.fill",
        "a percentage there; write it with its sign, as in 75%",
    ),
    other(
        "Read_Percentage",
        "workload.read",
        "a percentage there; write it with its sign, as in 70%",
    ),
    other(
        "Working_Set_Percentage",
        "workload.span",
        "a percentage there; write it with its sign, as in 85%",
    ),
    other(
        "Percentage_of_Hot_Region",
        "workload.hot_space",
        "a percentage there; write it with its sign, as in 20%",
    ),
    other(
        "Address_Distribution",
        "workload.kind",
        "STREAMING is workload.kind=sequential, RANDOM_UNIFORM uniform, RANDOM_HOTCOLD hot-cold",
    ),
    other(
        "Average_Request_Size",
        "workload.size",
        "sectors there; write the unit, as in \"4 KiB\" for 8",
    ),
    other(
        "Request_Size_Distribution|Variance_Request_Size",
        "workload.size",
        "a list of { size, weight }",
    ),
    other(
        "Synthetic_Generator_Type",
        "host.mode",
        "QUEUE_DEPTH is host.mode=closed, BANDWIDTH is host.mode=open",
    ),
    other(
        "Bandwidth",
        "workload.arrival.rate",
        "bytes a second there; requests a second here, as in \"20000 per s\"",
    ),
    same("Total_Requests_To_Generate", "workload.requests"),
    other("Stop_Time", "host.stop_after", NS),
    same("File_Path", "workload.trace"),
    other("Percentage_To_Be_Executed", "workload.until", "the time at which the trace ends"),
    same("Relay_Count", "workload.loops"),
    other(
        "Time_Unit",
        "workload.time_unit",
        "NANOSECOND is ns, MICROSECOND us; PICOSECOND has no word",
    ),
    other(
        "Generated_Aligned_Addresses|Address_Alignment_Unit",
        "workload.whole_pages",
        "true covers whole pages",
    ),
    other(
        "PCIe_Lane_Count|PCIe_Lane_Bandwidth",
        "host.link_rate",
        "lanes * GB/s of a lane, as in \"4 GB/s\"",
    ),
    absent("Ideal_Mapping_Table|CMT_Capacity|CMT_Sharing_Mode|Address_Mapping", NO_CACHED_MAP),
    other(
        "CMD_Suspension_Support",
        "timing.suspend",
        "ERASE is \"erase\" here, and PROGRAM_ERASE \"both\"",
    ),
    other("Suspend_Erase_Time|Suspend_Program_Time", "timing.suspend_time", NS),
    absent(
        "Preferred_suspend_erase_time_for_read|Preferred_suspend_erase_time_for_write|\
         Preferred_suspend_write_time_for_read",
        "a read suspends what runs if more than timing.suspend_time is left of it",
    ),
    absent(
        "Data_Cache_DRAM_Row_Size|Data_Cache_DRAM_Data_Rate|Data_Cache_DRAM_Data_Burst_Size|\
         Data_Cache_DRAM_Data_Busrt_Size|Data_Cache_DRAM_tRCD|Data_Cache_DRAM_tCL|Data_Cache_DRAM_tRP|\
         Data_Cache_Sharing_Mode",
        "the write buffer takes no time of its own",
    ),
    absent(
        "Priority_Class|Channel_IDs|Chip_IDs|Die_IDs|Plane_IDs",
        "requests of all tenants are served alike, by all chips",
    ),
    absent(
        "SATA_Processing_Delay|HostInterface_Type",
        "the host link has a rate (host.link_rate, host.link_duplex) and no other time",
    ),
    absent(
        "Memory_Type|Flash_Technology|Flash_Comm_Protocol|Page_Metadat_Capacity|Page_Metadata_Capacity",
        "flash is what its times and its geometry say",
    ),
    absent(
        "Enable_ResponseTime_Logging|ResponseTime_Logging_Period_Length",
        "every report has the latencies",
    ),
    same("gc.victim=rga", "gc.victim=d-choices"),
    same("gc.victim=random_p|gc.victim=random_pp", "gc.victim=random"),
    same("workload.kind=streaming", "workload.kind=sequential"),
    same("workload.kind=random_uniform", "workload.kind=uniform"),
    same("workload.kind=random_hotcold", "workload.kind=hot-cold"),
];

pub(super) const FEMU: &[Term] = &[
    absent("secsz|sec_size", NO_SECTORS),
    other(
        "secs_per_pg",
        "device.page_size",
        "sectors there; write the unit, as in \"4 KiB\" for 8",
    ),
    same("pgs_per_blk", "device.pages_per_block"),
    same("blks_per_pl", "device.blocks_per_plane"),
    same("pls_per_lun", "device.planes_per_chip"),
    same("luns_per_ch", "device.chips_per_channel"),
    same("nchs", "device.channels"),
    other("pg_rd_lat", "timing.read", NS),
    other("pg_wr_lat", "timing.program", NS),
    other("blk_er_lat", "timing.erase", NS),
    other("ch_xfer_lat", "timing.transfer", NS),
    other(
        "gc_thres_pcent|gc_thres_pcnt",
        "gc.trigger",
        "the percentage of lines in use; write gc.trigger={ policy = \"used-space\", at = \"75%\" }",
    ),
    other("gc_thres_pcent_high|gc_thres_pcnt_high", "gc.reserve", FREE_BLOCKS),
    other(
        "devsz_mb|ssd_size",
        "device.user_capacity",
        "MiB there; write the unit, as in \"12288 MiB\"",
    ),
    other("femu_mode", "host.interface", "a number there; 1 is \"block\", and 3 is \"zns\""),
    other("zns_zonesize", "zns.units", "bytes there, superblocks of each pool here"),
    absent("num_rzones", "a host writes every zone in order"),
    absent("multipoller_enabled|num_poller", NO_HOST_STACK),
];

pub(super) const NVMEVIRT: &[Term] = &[
    same("NAND_CHANNELS", "device.channels"),
    same("LUNS_PER_NAND_CH", "device.chips_per_channel"),
    same("PLNS_PER_LUN", "device.planes_per_chip"),
    same("BLKS_PER_PLN", "device.blocks_per_plane"),
    same("FLASH_PAGE_SIZE|ONESHOT_PAGE_SIZE", "device.page_size"),
    other("BLK_SIZE", "device.pages_per_block", "bytes there, pages here"),
    other(
        "NAND_READ_LATENCY_LSB|NAND_READ_LATENCY_CSB|NAND_READ_LATENCY_MSB",
        "timing.read_types",
        NS_IN_A_LIST,
    ),
    other(
        "NAND_4KB_READ_LATENCY_LSB|NAND_4KB_READ_LATENCY_CSB|NAND_4KB_READ_LATENCY_MSB",
        "timing.read",
        "a page is read whole",
    ),
    other("NAND_PROG_LATENCY", "timing.program", NS),
    other("NAND_ERASE_LATENCY", "timing.erase", NS),
    other(
        "NAND_CHANNEL_BANDWIDTH",
        "timing.bus_rate",
        "MB/s there; write the unit, as in \"800 MB/s\"",
    ),
    other("PCIE_BANDWIDTH", "host.link_rate", "MB/s there; write the unit, as in \"3360 MB/s\""),
    same("OP_AREA_PERCENT", "device.over_provisioning"),
    other("GLOBAL_WB_SIZE|WRITE_BUFFER_SIZE", "host.write_buffer_pages", "bytes there, pages here"),
    absent("SSD_PARTITIONS", "the drive has one FTL"),
    other(
        "FW_4KB_READ_LATENCY|FW_READ_LATENCY|FW_WBUF_LATENCY0|FW_WBUF_LATENCY1|FW_CH_XFER_LATENCY",
        "controller.firmware_p50",
        "a time of each step there, the median of a whole request here",
    ),
];

pub(super) const SIMPLESSD: &[Term] = &[
    same("Channel", "device.channels"),
    same("Package|Way", "device.chips_per_channel"),
    other("Die", "device.chips_per_channel", DIES),
    same("Plane", "device.planes_per_chip"),
    same("Block", "device.blocks_per_plane"),
    same("Page", "device.pages_per_block"),
    same("PageSize", "device.page_size"),
    other("LSBRead|CSBRead|MSBRead", "timing.read_types", PS_IN_A_LIST),
    other("LSBWrite|CSBWrite|MSBWrite", "timing.program_types", PS_IN_A_LIST),
    other("Erase", "timing.erase", "picoseconds there; write the unit, as in \"3.5 ms\""),
    other(
        "DMASpeed|DMAWidth",
        "timing.bus_rate",
        "MT/s there; write the unit, as in \"400 MT/s\" for 8 bits",
    ),
    other(
        "SuperblockSize",
        "alloc.erase_unit",
        "write alloc.erase_unit=superblock, and alloc.pool for what it spans",
    ),
    same("EnableMultiPlaneOperation", "timing.multi_plane"),
    other("OverProvisioningRatio", "device.over_provisioning", OF_RAW),
    other("GCThreshold", "gc.trigger", FREE_SHARE),
    other(
        "GCMode|GCReclaimBlocks|GCReclaimThreshold",
        "gc.amount",
        "one, until-satisfied or all-candidates",
    ),
    same("EvictPolicy|VictimSelectionPolicy", "gc.victim"),
    other("DChoiceParam", "gc.victim.d", "with gc.victim=d-choices"),
    same("EraseThreshold", "wear.endurance"),
    other(
        "FillingMode|InvalidPageRatio|InvalidFillRatio",
        "precondition.overwrite",
        "overwrites of the filled pages, in multiples of their number",
    ),
    same("FillRatio", "precondition.fill"),
    absent(
        "CMTPolicy|CMTCapacityRatio|CMTCapacityBytes|CMTMissLatency|CMTWriteBackLatency|MappingMode",
        NO_CACHED_MAP,
    ),
    other("EnableWriteCache", "host.write_buffer_pages", "0 is off"),
];

pub(super) const SSDSIM: &[Term] = &[
    same("channel number", "device.channels"),
    same("chip number", "device.chips_per_channel"),
    other("die number", "device.chips_per_channel", DIES),
    same("plane number", "device.planes_per_chip"),
    same("block number", "device.blocks_per_plane"),
    same("page number", "device.pages_per_block"),
    same("page capacity", "device.page_size"),
    absent("subpage page|subpage capacity", "a page is mapped as a whole"),
    other("overprovide", "device.over_provisioning", OF_RAW),
    other("gc threshold|gc hard threshold|gc soft threshold", "gc.trigger", FREE_SHARE),
    other(
        "dram capacity|buffer management",
        "host.write_buffer_pages",
        "bytes there, pages here; 0 is off",
    ),
    same("erase limit|ers limit", "wear.endurance"),
    other(
        "allocation|static_allocation|dynamic_allocation",
        "alloc.placement",
        "static or dynamic, by name",
    ),
    other(
        "requset queue depth|request queue depth",
        "host.queue_depth",
        "requests that are outstanding",
    ),
    other("greed CB command|advanced commands", "gc.path", "copyback is gc.path=copyback"),
    absent("address mapping", NO_CACHED_MAP),
];

pub(super) const DISKSIM: &[Term] = &[
    other(
        "Flash chip elements|Number of parallel units",
        "device.channels",
        "channels * chips_per_channel are the elements",
    ),
    same("Planes per package", "device.planes_per_chip"),
    same("Blocks per plane", "device.blocks_per_plane"),
    other("Blocks per element", "device.blocks_per_plane", "of one plane, not of the element"),
    same("Pages per block", "device.pages_per_block"),
    other("Page size", "device.page_size", "sectors there; write the unit, as in \"4 KiB\" for 8"),
    other("Page read latency", "timing.read", MS),
    other("Page write latency", "timing.program", MS),
    other("Block erase latency", "timing.erase", MS),
    other(
        "Chip xfer latency",
        "timing.transfer",
        "the time of a byte in milliseconds there, that of a page here",
    ),
    other("Reserve pages percentage", "device.over_provisioning", OF_RAW),
    other("Minimum free blocks percentage", "gc.trigger", FREE_SHARE),
    other("Cleaning policy", "gc.victim", "2 is greedy; 3 weighs wear, as cost-age-times does"),
    other("Copy back", "gc.path", "1 is gc.path=copyback, 0 gc.path=controller"),
    other("Cleaning in background", "gc.trigger", "1 is the trigger idle"),
    other(
        "Write policy|Plane block mapping|Element stride pages|Allocation pool logic",
        "alloc.pool",
        "the planes that share free blocks",
    ),
    absent("Elements per gang|Gang share", "every chip has its channel"),
];

pub(super) const FLASHSIM: &[Term] = &[
    same("SSD_SIZE", "device.channels"),
    same("PACKAGE_SIZE", "device.chips_per_channel"),
    same("DIE_SIZE", "device.planes_per_chip"),
    same("PLANE_SIZE", "device.blocks_per_plane"),
    same("BLOCK_SIZE", "device.pages_per_block"),
    other("PAGE_READ_DELAY", "timing.read", US),
    other("PAGE_WRITE_DELAY|PAGE_PROGRAM_DELAY|CELL_PROGRAM_DELAY", "timing.program", US),
    other("BLOCK_ERASE_DELAY", "timing.erase", US),
    other("BUS_DATA_DELAY", "timing.transfer", US),
    other("BUS_CTRL_DELAY", "timing.command", US),
    same("BLOCK_ERASES", "wear.endurance"),
    other(
        "OVERPROVISIONING|OVP|OVER_PROV",
        "device.over_provisioning",
        "a percentage there; write it with its sign, as in 28%",
    ),
    same("MAX_SSD_QUEUE_SIZE", "host.queue_depth"),
    same("MAX_CONCURRENT_GC_OPS", "gc.concurrency"),
    absent(
        "FTL_IMPLEMENTATION|CACHE_DFTL_LIMIT|BAST_LOG_PAGE_LIMIT|FAST_LOG_PAGE_LIMIT|MAP_DIRECTORY_SIZE",
        NO_CACHED_MAP,
    ),
    absent("RAM_READ_DELAY|RAM_WRITE_DELAY", "the write buffer takes no time of its own"),
];
