//! A small trace of every format, with what it says.

use ssd_core::host::request::Op;
use ssd_trace::formats::TraceFormat;

/// Time, operation, first sector, sectors.
pub(crate) type RequestTuple = (u64, Op, u64, u32);

/// Format, file, requests.
pub(crate) type Sample = (TraceFormat, Vec<u8>, Vec<RequestTuple>);

type TextSample = (TraceFormat, &'static str, Vec<RequestTuple>);

/// Of every format.
pub(crate) fn samples() -> Vec<Sample> {
    let text = texts().into_iter();
    let text = text.map(|(format, text, requests)| (format, text.as_bytes().to_vec(), requests));
    text.chain(binaries()).collect()
}

/// The one of `format`.
pub(crate) fn sample(format: TraceFormat) -> Sample {
    samples().into_iter().find(|sample| sample.0 == format).expect("every format has a sample")
}

/// Of every format of text.
pub(crate) fn texts() -> Vec<TextSample> {
    [from_alibaba_to_fio(), others(), from_fiu(), of_tools()].concat()
}

fn from_alibaba_to_fio() -> Vec<TextSample> {
    use Op::{Flush, Read, Trim, Write};
    vec![
        (
            TraceFormat::Alibaba,
            "419,W,8192,4096,1577808000000046\n419,R,512,1024,1577808000000050\n",
            vec![(0, Write, 16, 8), (4000, Read, 1, 2)],
        ),
        (
            TraceFormat::BlockEvent,
            "8,0 1 1 0.000000100 7 Q W 16 + 8 [a]\n8,0 1 1 0.5 7 Q R 1 + 2 [a]\n",
            vec![(100, Write, 16, 8), (500_000_000, Read, 1, 2)],
        ),
        (
            TraceFormat::Blkreplay,
            "made by hand\nstart ; sector ; length ; op\n0.000000100 ; 16 ; 8 ; W ; 0.0 ; 0.1\n\
             1.5;1;2;RA\n",
            vec![(100, Write, 16, 8), (1_500_000_000, Read, 1, 2)],
        ),
        (
            TraceFormat::Disksim,
            "0.500000 0 16 8 0\n1.250000 0 1 2 1\n2 0 1 2 b\n",
            vec![(500_000, Write, 16, 8), (1_250_000, Read, 1, 2), (2_000_000, Read, 1, 2)],
        ),
        (
            TraceFormat::FioV2,
            "fio version 2 iolog\n/d add\n/d open\n/d write 8192 4096\n/d wait 150 0\n\
             /d read 512 1024\n/d wait 50\n/d sync 0 0\n/d datasync\n/d trim 8192 4096\n/d close\n",
            vec![
                (0, Write, 16, 8),
                (150_000, Read, 1, 2),
                (200_000, Flush, 0, 0),
                (200_000, Flush, 0, 0),
                (200_000, Trim, 16, 8),
            ],
        ),
        (
            TraceFormat::FioV3,
            "fio version 3 iolog\n0 /d add\n1 /d open\n100 /d write 8192 4096\n\
             250 /d read 512 1024\n300 /d sync 0 0\n301 /d close\n",
            vec![(100_000, Write, 16, 8), (250_000, Read, 1, 2), (300_000, Flush, 0, 0)],
        ),
    ]
}

fn from_fiu() -> Vec<TextSample> {
    use Op::{Read, Write};
    vec![
        (
            TraceFormat::Fiu,
            "329131208190249 4892 syslogd 16 8 W 6 0 531e779a531e779a531e779a531e779a\n\
             329131208190349 5 a 7 b 1 2 R 6 0 531E779A531e779a531e779a531e779a\n",
            vec![(0, Write, 16, 8), (100, Read, 1, 2)],
        ),
        (
            TraceFormat::Mqsim,
            "100 0 16 8 0\n250 0 1 2 1\n",
            vec![(100, Write, 16, 8), (250, Read, 1, 2)],
        ),
        (
            TraceFormat::Msr,
            "128166372003061629,hm,1,Write,8192,4096,2212\n\
             128166372003061630,hm,1,Read,512,1024,22\n",
            vec![(0, Write, 16, 8), (100, Read, 1, 2)],
        ),
        (
            TraceFormat::Spc,
            "0,16,4096,W,0.5\n0,1,1024,r,0.551706,extra\n",
            vec![(500_000_000, Write, 16, 8), (551_706_000, Read, 1, 2)],
        ),
        (
            TraceFormat::Ssdsim,
            "100 0 16 8 0 5eb63bbbe01eeed0\n250 0 1 2 1 5eb63bbbe01eeed0\n",
            vec![(100, Write, 16, 8), (250, Read, 1, 2)],
        ),
        (
            TraceFormat::Systor17,
            "Timestamp,Response,IOType,LUN,Offset,Size\n\
             1455592315.217387915,0.000234,W,4,8192,4096\n1455592315.217388,,R,4,512,1024\n",
            vec![(0, Write, 16, 8), (85, Read, 1, 2)],
        ),
        (
            TraceFormat::Tencent,
            "1538323200,16,8,1,1283\n1538323201,1,2,0,1283\n",
            vec![(0, Write, 16, 8), (1_000_000_000, Read, 1, 2)],
        ),
    ]
}

fn of_tools() -> Vec<TextSample> {
    use Op::{Flush, Read, Trim, Write};
    vec![
        (
            TraceFormat::Biosnoop,
            "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)\n\
             0.000004    jbd2/sda 1 x   413     sda       W 16         4096       0.74\n\
             1.5         a              7       sda       R 1          1024       0.10\n",
            vec![(0, Write, 16, 8), (1_499_996_000, Read, 1, 2)],
        ),
        (
            TraceFormat::Hfplayer,
            "#DUMP_OFFSET.I,ELAPSED_USECS.D,CMD.S,LUN_SSID.I,LBA.I,NBLKS.I,LATENCY_USECS.D\n\
             4124,50,WR_IN,6,16,8,200\n4130,60.5,WR_OUT,6,16,8,200\n4152,100.25,RD,6,1,2,200\n",
            vec![(0, Write, 16, 8), (50_250, Read, 1, 2)],
        ),
        (
            TraceFormat::Libcachesim,
            "1,5633,2a,4096,16\n1,5634,28,1024,1\n",
            vec![(0, Write, 16, 8), (1_000_000_000, Read, 1, 2)],
        ),
        (
            TraceFormat::Midas,
            "0.146559796 1 2 4096\n0.5 0 3 8192\n1.25 3 2 4096\n",
            vec![
                (146_559_796, Write, 16, 8),
                (500_000_000, Read, 24, 16),
                (1_250_000_000, Trim, 16, 8),
            ],
        ),
        (
            TraceFormat::Tracepoint,
            "# tracer: nop\n#\n\
             a b-7  [001] d..1.  10.000000100: block_bio_queue: 8,0 WS 16 + 8 [a b]\n\
             a b-7  [001] d..1.  10.000000200: block_rq_issue: 8,0 WS 4096 () 16 + 8 none,0,0 [a b]\n\
             c-8    [000] .....  10.2: sched_switch: prev_comm=c\n\
             c-8    [000] .....  10.25: block_bio_queue: 8,0 FF 18446744073709551615 + 0 [c]\n\
             c 8 [000] 10.500000100: block:block_bio_queue: 8,0 RA 1 + 2 [c]\n",
            vec![(0, Write, 16, 8), (249_999_900, Flush, 0, 0), (500_000_000, Read, 1, 2)],
        ),
        (
            TraceFormat::Wiscsee,
            "7 D write 8192 4096 0.0000001 0 True\n7 C write 8192 4096 0.2 0 True\n\
             7 D read 512 1024 0.5 0.1 False\n",
            vec![(0, Write, 16, 8), (499_999_900, Read, 1, 2)],
        ),
    ]
}

fn others() -> Vec<TextSample> {
    use Op::{Flush, Read, Write};
    vec![
        (
            TraceFormat::Biotracer,
            "16\t\t8\t\t4096\t\t3\t\t0.000000100\t\t0.2\t\t0.3\t\t0.4\n\
             1\t\t2\t\t1024\t\t0\t\t0.5\t\t0.6\t\t0.7\t\t0.8\n",
            vec![(0, Write, 16, 8), (499_999_900, Read, 1, 2)],
        ),
        (
            TraceFormat::Diskmon,
            "#\tTime\tDuration (s)\tDisk\tRequest\tSector\tLength\n\
             0\t0.000100\t0.00003052\t1\tWrite\t16\t8\n1\t0.5\t0\t1\tRead\t1\t2\n",
            vec![(100_000, Write, 16, 8), (500_000_000, Read, 1, 2)],
        ),
        (
            TraceFormat::Etw,
            "BeginHeader\n  DiskRead,  TimeStamp,  Process Name ( PID),   ThreadID,  IrpPtr\n\
             FileIoRead, TimeStamp\nEndHeader\n\
             FileIoRead, 90, a\n\
             DiskReadInit,  95, a ( 5), 7, 0xfffffa80\n\
             DiskWrite,  100, sql server.exe (1432),  1820, 0xfffffa80, 0x000002000, 0x00001000, \
             5, 0, 0x060043, 4, Normal, none, 0xfffffa80, \"a, b\"\n\
             DiskFlush,  120, System (4), 7, 0xfffffa80,  5, 0, 0x0, 4, Normal\n\
             DiskRead,  150, System (   4),  7, 1, 0xfffffa80, 0x200, 0x400, 5, 0\n",
            vec![(100_000, Write, 16, 8), (120_000, Flush, 0, 0), (150_000, Read, 1, 2)],
        ),
    ]
}

fn binaries() -> Vec<Sample> {
    use Op::{Flush, Read, Write};
    let requests = vec![(0, Write, 16, 8), (400, Flush, 0, 0), (1000, Read, 1, 2)];
    let mut vscsi = vscsi(1, 7, 0x2a, 4096, 16, 1_000_001);
    vscsi.extend(self::vscsi(1, 8, 0x28, 1024, 1, 1_000_002));
    let blktrace = [
        blktrace(Order::Little, 90, NOTIFY, 0, 0, b"fio\0"),
        blktrace(Order::Little, 100, 1 | QUEUE | WRITE, 16, 4096, b""),
        blktrace(Order::Little, 200, 15 | QUEUE | WRITE, 16, 4096, &[0; 16]),
        blktrace(Order::Little, 300, 7 | ISSUE | WRITE, 16, 4096, b""),
        blktrace(Order::Little, 500, 1 | QUEUE | WRITE | FLUSH, 0, 0, b""),
        blktrace(Order::Little, 1100, 1 | QUEUE, 1, 1024, b""),
    ];
    vec![
        (TraceFormat::Blktrace, blktrace.concat(), requests),
        (TraceFormat::Vscsi, vscsi, vec![(0, Write, 16, 8), (1000, Read, 1, 2)]),
    ]
}

/// Byte order of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Little,
    Big,
}

// Bits of blktrace's actions.
pub(crate) const WRITE: u32 = 1 << 17;
pub(crate) const FLUSH: u32 = 1 << 18;
pub(crate) const SYNC: u32 = 1 << 19;
pub(crate) const QUEUE: u32 = 1 << 20;
pub(crate) const REQUEUE: u32 = 1 << 21;
pub(crate) const ISSUE: u32 = 1 << 22;
pub(crate) const COMPLETE: u32 = 1 << 23;
pub(crate) const PACKET: u32 = 1 << 25;
pub(crate) const NOTIFY: u32 = 1 << 26;
pub(crate) const AHEAD: u32 = 1 << 27;
pub(crate) const META: u32 = 1 << 28;
pub(crate) const DISCARD: u32 = 1 << 29;
pub(crate) const DRIVER_DATA: u32 = 1 << 30;
pub(crate) const FUA: u32 = 1 << 31;

/// A record of blktrace, of device 8,0.
pub(crate) fn blktrace(
    order: Order,
    time: u64,
    action: u32,
    sector: u64,
    bytes: u32,
    tail: &[u8],
) -> Vec<u8> {
    let four = |value: u32| match order {
        Order::Little => value.to_le_bytes(),
        Order::Big => value.to_be_bytes(),
    };
    let eight = |value: u64| match order {
        Order::Little => value.to_le_bytes(),
        Order::Big => value.to_be_bytes(),
    };
    let two = |value: usize| match order {
        Order::Little => u16::try_from(value).unwrap().to_le_bytes(),
        Order::Big => u16::try_from(value).unwrap().to_be_bytes(),
    };
    let mut record = Vec::new();
    record.extend([four(0x6561_7407), four(1)].concat());
    record.extend([eight(time), eight(sector)].concat());
    // Length, action, process, device, CPU.
    record.extend([four(bytes), four(action), four(42), four(8 << 20), four(0)].concat());
    record.extend([two(0), two(tail.len())].concat());
    record.extend(tail);
    record
}

/// A vscsi record of `version` 1 or 2.
pub(crate) fn vscsi(
    version: u16,
    serial: u32,
    command: u16,
    bytes: u32,
    sector: u64,
    time_us: u64,
) -> Vec<u8> {
    let numbers = [serial, bytes, 1].map(u32::to_le_bytes).concat();
    let kind = [command, version << 8].map(u16::to_le_bytes).concat();
    let place = [sector, time_us].map(u64::to_le_bytes).concat();
    match version {
        1 => [numbers, kind, place].concat(),
        _ => [kind, numbers, place, 77u64.to_le_bytes().to_vec()].concat(),
    }
}
