//! What may be said, what it means, and what is printed of it.

use ssd_core::config::{
    Amount, Frontiers, HostMode, Input, PowerCut, Precondition, digest, key_paths, load, presets,
    reference_markdown, schema, to_toml,
};
use ssd_core::plug::Value;
use ssd_trace::config::{RunConfig, WorkloadKind};

fn input(text: &str) -> Input {
    Input { file: Some(("ssd.toml".into(), text.into())), ..Input::default() }
}

fn with_sets(text: &str, sets: &[(&str, &str)]) -> Input {
    let sets = sets.iter().map(|&(k, v)| (k.to_string(), v.to_string())).collect();
    Input { sets, ..input(text) }
}

fn ok(input: &Input) -> RunConfig {
    load::<RunConfig>(input).unwrap_or_else(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

#[test]
fn nothing_said_gives_the_defaults() {
    assert_eq!(ok(&Input::default()), RunConfig::default());
    let config = RunConfig::default();
    assert_eq!(config.device.user_pages, (8 * 4 * 256 * 128) * 100 / 115);
    assert_eq!(config.timing.transfer_ns, 12_300);
    assert_eq!(config.workload.page_bytes, 4096, "the unit of traces that count in pages");
}

/// Every key of the contract, as the contract writes it.
const CONTRACT: &str = r#"
preset = "greedy-8ch"
[run]
seed = 1
mode = "timed"
data = "none"
name = "a run"
drive = "a drive"
[device]
channels = 4
chips_per_channel = 2
planes_per_chip = 2
blocks_per_plane = 512
pages_per_block = 64
page_size = "4 KiB"
over_provisioning = 0.07
[timing]
model = "serial"
busy_unit = "plane"
read = "25 us"
program = "200 us"
erase = "0.7 ms"
bus_rate = "333 MB/s"
command = "0 ns"
sram = "12 us"
[interconnect]
model = "slices"
flit_bits = 32
slice_time = "20 ns"
columns = 8
rows = 4
mean_path = 9.25
rounding = "10 ns"
[host]
mode = "open"
queue_depth = 8
think_time = "0 s"
think_every = 1
stop_after = "0 s"
max_outstanding = 100
queues = 4
link_rate = "3.2 GB/s"
link_duplex = "half"
write_buffer_pages = 64
write_buffer_threshold = 0.25
[alloc]
placement = "least-busy"
frontiers = "streams:4"
pool = "chip"
erase_unit = "block"
[sched]
order = "read-first"
[controller]
buffers = "unlimited"
ecc_time = "5 us"
host_ecc_time = "3 us"
retry_probability = 0.01
retry_growth = 1e-5
retry_limit = 8
retry_factor = 1.25
page_error_probability = 1e-4
traversals_host = 0
firmware_p50 = "20 us"
firmware_p99 = "200 us"
metadata_time = "300 ns"
[gc]
reserve = 2
trigger = [{ policy = "used-space", at = 0.70 }, { policy = "free-blocks", soft = 4 }, "idle"]
victim = { policy = "greedy" }
amount = { policy = "one" }
concurrency = { policy = "adaptive", theta1 = 0.4, theta2 = 0.8, gmax = 3, rounding = "floor" }
path = { policy = "controller" }
blocking = { scope = "plane", granularity = "step" }
window = 1
[wear]
dynamic = false
static_threshold = 20
endurance = 3000
endurance_spread = 0.1
factory_bad_blocks = 0.002
[precondition]
fill = 1.0
order = "random"
overwrite = 2.0
steady_state = "none"
snapshot = "none"
[workload]
trace = "FILE"
kind = "trace"
format = "msr"
volume = 3
action = "C"
from = "1 s"
until = "2 s"
unit = "pages"
time_unit = "us"
columns = "time=1,op=2,offset=3,size=4"
page_size = "8 KiB"
sort = true
skip_bad = true
max_bad = 0.2
dedup = true
fit = "wrap"
loops = 2
time_scale = 0.5
phases = "recorded"
warmup_requests = 10
[metrics]
interval = "100 ms"
op_log = true
request_log = true
"#;

/// Keys of synthetic requests, and of a start from a snapshot.
const MADE: [&str; 8] = [
    r#"
[device]
bits = 2
word_line = 4
[timing]
read_types = ["40 us", "65 us"]
program_types = ["500 us", "1300 us"]
partial = true
suspend = "both"
suspend_time = "10 us"
resume_time = "2 us"
suspend_limit = 3
[alloc]
separation = { policy = "dac", classes = 3 }
[remap]
mode = "share"
[precondition]
snapshot = "FILE"
[workload]
kind = "zipf"
requests = 1_000
seed = 7
size = [{ size = "4 KiB", weight = 3 }, { size = 512 }]
read = 0.5
trim = 0.1
copy = 0.2
theta = 0.8
span = 0.5
arrival = { kind = "bursty", rate = "20000 per s", burst = 8, pause = "1 ms" }
"#,
    "[workload]\nkind = \"hot-cold\"\nhot_space = 0.2\nhot_access = 0.8",
    "[workload]\nkind = \"app:mysql\"\nset = \"noc-copyback\"",
    r#"
[raid]
group = 4
update = "read-modify"
redirect = { policy = "deferred-gc" }
merge = true
queue = 10
read_buffer_pages = 16
reads = "reconstruct-if-busy"
fail = [{ chip = 0, at = "1 ms" }, { chip = 3, at = "2 s" }]
spares = 2
rebuild_rate = "20 MB/s"
rebuild_window = 8
until_rebuilt = true
[gc]
trigger = "on-demand"
[workload]
kind = "msr:wdev_0"
pattern = "msr-sample"
short_gaps = 0.7
gap_cv = 2.5
train_gap = "20 us"
train_cv = 0.9
same_size = 0.6
sequential_writes = 0.2
read_recent = 0.1
shrink = 4
whole_pages = true
"#,
    r#"
[workload]
kind = "app:mysql"
cycle = 8192
journal_run = 2000
table_skew = 0.5
"#,
    r#"
[host]
write_buffer_pages = 64
[power]
cut = { at = ["1 s", "2.5 s"] }
nvram = "1 MiB"
nvram_time = "400 ns"
checkpoint = "1 GiB"
buffer = "protected"
"#,
    "[device]\nfit = \"trace\"\nbits = 2\n[slc]\nmode = \"hybrid\"\nstatic = \"4 MiB\"\nshare = 0.5\nread = \"30 us\"\n\
     program = \"250 us\"\nfold = \"idle\"\nidle = \"50 ms\"\npath = \"copyback\"\nfull = \"wait\"\nendurance = 20000\n\
     [wear]\nendurance = 3000\ndaily_writes = \"20 GB\"\nwarranty_years = 3\n\
     [energy]\nread = \"80 mW\"\nprogram = \"81 mW\"\nerase = \"82 mW\"\nbus = \"30 mW\"\nidle = \"1 W\"\n\
     [metrics]\ntenants = true\n\
     [workload]\ntrace = \"FILE\"\nwarmup_share = 0.5",
    "[host]\ninterface = \"zns\"\n[zns]\nunits = 2\nopen = 6\nactive = 8\n\
     [alloc]\npool = \"device\"\nerase_unit = \"superblock\"\nplacement = \"round-robin\"",
];

/// Each of these keys shows nothing by default, and has no effect with the key that comes after it.
#[test]
fn keys_without_effect_are_set_back_by_their_own_words() {
    for (key, value, later) in [
        ("workload.seed", "7", ("workload.trace", "x.csv")),
        ("workload.like", "x.csv", ("workload.trace", "x.csv")),
        ("workload.volume", "3", ("workload.kind", "uniform")),
    ] {
        let sets = [(key, value), later].map(|(k, v)| (k.to_string(), v.to_string()));
        let workload = ok(&Input { sets: sets.into(), ..Input::default() }).workload;
        let left = (workload.seed, workload.like.is_some(), workload.volume);
        assert_eq!(left, (None, false, None), "{key} is kept");
    }
}

#[test]
fn every_key_of_the_contract_is_accepted() {
    let config = ok(&input(CONTRACT));
    assert_eq!(config.preset.as_deref(), Some("greedy-8ch"));
    assert_eq!(config.alloc.frontiers, Frontiers::Streams(4));
    assert_eq!(config.gc.amount, Amount::One);
    assert_eq!(config.gc.trigger.len(), 3);
    assert_eq!(config.gc.trigger[1].int("hard"), 0);
    assert_eq!(config.gc.concurrency.int("gmax"), 3);
    assert_eq!(config.timing.erase_ns, 700_000);
    let [made, _, _, stand_in, _, cut, fitted, zoned] = MADE.map(|text| ok(&input(text)));
    assert_eq!(made.workload.arrival.interval_ns, 50_000);
    assert_eq!(made.workload.sizes[1].bytes, 512);
    assert_eq!(stand_in.workload.train_gap_ns, 20_000);
    assert_eq!((zoned.zones(), zoned.zone_streams()), (126, 5));
    assert_eq!(fitted.workload.fit, ssd_trace::config::Fit::Compact);
    assert_eq!(cut.power.cut, PowerCut::At(vec![1_000_000_000, 2_500_000_000]));
    assert_eq!((made.workload_seed(), config.workload_seed()), (7, 1));
    let tables = |text: &str| text.parse::<toml::Table>().expect("the texts above are TOML");
    let said: Vec<_> = [CONTRACT].into_iter().chain(MADE).map(tables).collect();
    let alternatives = [
        "device.user_capacity",
        "timing.transfer",
        "timing.multi_plane",
        "workload.like",
        "workload.msr",
        "workload.job",
    ];
    for path in key_paths::<RunConfig>() {
        let (table, key) = path.split_once('.').expect("a key stands in a table");
        let is_said = |said: &toml::Table| said.get(table).is_some_and(|t| t.get(key).is_some());
        assert!(
            said.iter().any(is_said) || alternatives.contains(&path),
            "{path} is not tried above"
        );
    }
}

#[test]
fn quantities_are_exact() {
    let config = ok(&input(
        "[device]\npage_size = 8192\nuser_capacity = \"3.4 GiB\"\n\
         [timing]\nread = \"0.7 ms\"\nbus_rate = \"1.2 GT/s\"\n[workload]\nsize = \"8 KiB\"",
    ));
    assert_eq!(config.timing.read_ns, 700_000);
    assert_eq!(config.timing.transfer_ns, 6_827);
    assert_eq!(config.device.user_pages, 445_644); // 3.4 GiB are 445 644.8 pages
    let config = ok(&input("[timing]\ntransfer = \"714 us\"\n[device]\npage_size = \"16 KiB\""));
    assert_eq!(config.timing.transfer_ns, 714_000);
}

#[test]
fn later_layers_win() {
    let text = "preset = \"greedy-8ch\"\n[device]\nover_provisioning = 0.25\n[gc]\nwindow = 2";
    let sets = [("gc.window", "3"), ("gc.window", "4"), ("run.name", "2026"), ("run.seed", "0x10")];
    let config = ok(&with_sets(text, &sets));
    assert_eq!(config.device.user_pages, 8 * 4 * 256 * 32 * 4 / 5);
    assert_eq!(config.gc.window, 4);
    assert_eq!(config.run.name, "2026");
    assert_eq!(config.run.seed, 16);
    assert_eq!(config.host.queue_depth, 64);
    let config = ok(&with_sets(text, &[("device.user_capacity", "512 MiB")]));
    assert_eq!(config.device.user_pages, 131_072);
    let named = Input { preset: Some("modern-tlc".into()), ..input("preset = \"greedy-8ch\"") };
    assert_eq!(ok(&named).preset.as_deref(), Some("modern-tlc"));
    let set = Input { sets: vec![("preset".into(), "greedy-8ch".into())], ..named };
    assert_eq!(ok(&set).preset.as_deref(), Some("greedy-8ch"));
}

#[test]
fn another_kind_of_arrivals_drops_earlier_bursts() {
    let text = "[workload]\narrival = { kind = \"bursty\", burst = 8, pause = \"1 ms\", rate = \"5 per s\" }";
    let arrival = |sets: &[(&str, &str)]| ok(&with_sets(text, sets)).workload.arrival;
    let kept = arrival(&[("workload.arrival.kind", "bursty")]);
    assert_eq!((kept.burst, kept.pause_ns), (8, 1_000_000));
    for said in [("workload.arrival", "fixed"), ("workload.arrival.kind", "poisson")] {
        let dropped = arrival(&[said]);
        assert_eq!((dropped.burst, dropped.pause_ns, dropped.interval_ns), (1, 0, 200_000_000));
    }
}

#[test]
fn the_interval_of_a_rate_is_the_nearest_nanosecond() {
    for (rate, interval_ns) in [
        ("7 per s", 142_857_143),
        ("3 per s", 333_333_333),
        ("0.3 per s", 3_333_333_333),
        ("1000000000 per s", 1),
        ("600000000 per s", 2),
    ] {
        let sets = [("workload.arrival.rate", rate)];
        assert_eq!(ok(&with_sets("", &sets)).workload.arrival.interval_ns, interval_ns, "{rate}");
    }
}

#[test]
fn a_run_is_called_after_its_file_or_its_preset() {
    let name = |input: &Input| ok(input).kernel.run.name;
    assert_eq!(name(&Input::default()), "run");
    let preset = Input { preset: Some("greedy-8ch".into()), ..Input::default() };
    assert_eq!(name(&preset), "greedy-8ch");
    let file = Input { file: Some(("some/where/mine.toml".into(), String::new())), ..preset };
    assert_eq!(name(&file), "mine");
    assert_eq!(name(&input("[run]\nname = \"x\"")), "x");
}

#[test]
fn another_policy_starts_from_its_own_defaults_and_the_same_one_keeps_its_parameters() {
    let text = "[gc]\nconcurrency = { policy = \"fixed\", k = 7 }";
    let k = |sets: &[(&str, &str)]| ok(&with_sets(text, sets)).kernel.gc.concurrency;
    assert_eq!(k(&[("gc.concurrency.policy", "fixed")]).int("k"), 7);
    assert_eq!(k(&[("gc.concurrency.k", "8")]).int("k"), 8);
    assert_eq!(k(&[("gc.concurrency", "half")]).params.len(), 0);
    assert_eq!(k(&[("gc.concurrency", "half"), ("gc.concurrency", "fixed")]).int("k"), 1);
    let trigger = |value: &str| ok(&with_sets("", &[("gc.trigger", value)])).kernel.gc.trigger;
    assert_eq!(trigger("[{ policy = \"used-space\", at = 1 }, \"idle\"]").len(), 2);
    assert_eq!(trigger("{ policy = \"free-blocks\", soft = 9 }")[0].int("soft"), 9);
    let spec = &trigger("idle")[0];
    assert_eq!(spec.params["after"], Value::Int(0));
    let soft = ok(&with_sets("", &[("gc.trigger.soft", "6")])).kernel.gc.trigger;
    assert_eq!(soft[0].int("soft"), 6);
}

#[test]
fn a_trace_is_replayed_in_the_open_loop_unless_said_otherwise() {
    let kind = |config: &RunConfig| (config.workload.kind, config.host.mode);
    let config = ok(&with_sets("", &[("workload.trace", "a.trace")]));
    assert_eq!(kind(&config), (WorkloadKind::Trace, HostMode::Open));
    let config = ok(&input("[workload]\ntrace = \"-\"\n[host]\nmode = \"closed\""));
    assert_eq!(kind(&config), (WorkloadKind::Trace, HostMode::Closed));
    let config = ok(&with_sets("[workload]\ntrace = \"-\"", &[("workload.kind", "zipf")]));
    assert_eq!(kind(&config), (WorkloadKind::Zipf, HostMode::Closed));
    assert_eq!(config.workload.trace, None);
}

/// The messages of what is refused, without the places.
fn refused(input: &Input) -> Vec<String> {
    let errors = load::<RunConfig>(input).expect_err("something is refused");
    errors.into_iter().map(|error| format!("{}: {}", error.key, error.message)).collect()
}

#[test]
fn keys_without_effect_are_refused_and_say_what_they_need() {
    for (text, key, needed) in [
        ("[host]\nlink_duplex = \"half\"", "host.link_duplex", "host.link_rate"),
        (
            "[host]\nwrite_buffer_threshold = 0.25",
            "host.write_buffer_threshold",
            "host.write_buffer_pages",
        ),
        ("[host]\nqueues = 2\nmode = \"open\"", "host.queues", "host.max_outstanding"),
        ("[host]\nqueues = 2\nmax_outstanding = 8\nmode = \"closed\"", "host.queues", "host.mode"),
        ("preset = \"zns\"\n[gc]\nvictim = \"fifo\"", "gc.victim", "host.interface = \"block\""),
        ("[controller]\nretry_limit = 3", "controller.retry_limit", "controller.retry_probability"),
        ("[controller]\nretry_factor = 2", "controller.retry_factor", "controller.retry_growth"),
        ("[wear]\nendurance_spread = 0.1", "wear.endurance_spread", "wear.endurance"),
        (
            "[precondition]\nsnapshot = \"s\"\nfill = 0.5",
            "precondition.fill",
            "precondition.snapshot = \"none\"",
        ),
        (
            "[precondition]\nsteady_state = \"mean-field\"\norder = \"random\"",
            "precondition.order",
            "precondition.steady_state = \"none\"",
        ),
        ("[workload]\ntheta = 0.5", "workload.theta", "workload.kind = \"zipf\""),
        ("[workload]\nhot_space = 0.5", "workload.hot_space", "workload.kind = \"hot-cold\""),
        ("[workload]\nset = \"noc-copyback\"", "workload.set", "app:"),
        ("[workload]\nfrom = \"1 s\"", "workload.from", "workload.trace"),
        ("[workload]\nfit = \"wrap\"", "workload.fit", "workload.trace or workload.msr"),
        ("[workload]\nloops = 2", "workload.loops", "workload.trace"),
        ("[workload]\ntime_scale = 2.0", "workload.time_scale", "workload.trace"),
        ("[workload]\ndedup = true", "workload.dedup", "workload.trace"),
        ("[workload]\ntrace = \"t\"\nseed = 3", "workload.seed", "synthetic requests"),
        ("[workload]\nvolume = 3", "workload.volume", "workload.trace"),
        ("[workload]\nlike = \"t\"", "workload.like", "app:"),
        ("[workload]\nmsr = \"t\"", "workload.msr", "msr:"),
    ] {
        let [message] = &refused(&input(text))[..] else { panic!("one message: {text}") };
        let begin = format!("{key}: has no effect here: it needs ");
        assert!(message.starts_with(&begin) && message.contains(needed), "{message}");
    }
    assert!(
        reference_markdown::<RunConfig>().contains(" Needs host.link_rate."),
        "the reference tells"
    );
}

#[test]
fn a_key_without_effect_may_say_its_default() {
    assert_eq!(
        ok(&input("[workload]\ntheta = 0.99\nfit = \"none\"")).workload,
        RunConfig::default().workload
    );
}

#[test]
fn a_later_layer_has_done_with_keys_that_it_leaves_without_effect() {
    let text = "[workload]\nkind = \"zipf\"\ntheta = 0.5";
    let config = ok(&with_sets(text, &[("workload.kind", "uniform")]));
    assert_eq!(digest(&config), digest(&ok(&input(""))));
    let [theta, uniform] = [("workload.theta", "0.5"), ("workload.kind", "uniform")];
    assert_eq!(ok(&with_sets("", &[theta, uniform])), ok(&input("")));
    assert_eq!(refused(&with_sets("", &[uniform, theta])).len(), 1, "said after it");
    // A preset speaks for its own workload and its own start.
    let snapshot = [("precondition.snapshot", "s")];
    let preset = Input { preset: Some("greedy-8ch".into()), ..with_sets("", &snapshot) };
    let expected = Precondition { snapshot: Some("s".into()), ..RunConfig::default().precondition };
    assert_eq!(ok(&preset).precondition, expected);
}

#[test]
fn tight_devices_are_accepted() {
    let text = "[device]\nchannels = 1\nchips_per_channel = 1\nblocks_per_plane = 4\n\
                pages_per_block = 8\nuser_capacity = \"96 KiB\"\n\
                [gc]\nreserve = 1\ntrigger = { policy = \"free-blocks\", soft = 1 }";
    assert_eq!(ok(&input(text)).spare_units_per_pool(), 1);
    let half_a_percent = "[device]\nover_provisioning = 0.005\n[gc]\nreserve = 1";
    assert_eq!(ok(&input(half_a_percent)).spare_units_per_pool(), 1);
}

/// Fails where a preset names a policy that is not in the registries (yet).
#[test]
fn all_presets_resolve() {
    for preset in presets::PRESETS {
        let config = ok(&Input { preset: Some(preset.name.into()), ..Input::default() });
        assert_eq!(config.preset.as_deref(), Some(preset.name));
        assert!(preset.summary().ends_with('.'), "{}", preset.name);
    }
}

#[test]
fn what_was_published_of_a_drive_is_no_configuration() {
    for preset in presets::PRESETS {
        // The default drive of `try` states its endurance.
        let is_drive = preset.name.starts_with("drive:") || preset.name == "tlc-960gb";
        assert_eq!(preset.published().is_some(), is_drive, "{}", preset.name);
        assert!(!preset.text().contains("[published]"), "{}", preset.name);
        let config = ok(&Input { preset: Some(preset.name.into()), ..Input::default() });
        assert_eq!(config.run.name, preset.name.replace(':', "-"));
    }
    let listed: Vec<&str> = presets::PRESETS.iter().map(|preset| preset.name).collect();
    assert!(listed.is_sorted());
}

/// As above where the victim policy exists; greedy stands in where it does not.
#[test]
fn all_presets_resolve_with_greedy() {
    for preset in presets::PRESETS {
        let text: String = preset.text().lines().filter(|l| !l.starts_with("victim")).fold(
            String::new(),
            |mut text, line| {
                text += line;
                text.push('\n');
                text
            },
        );
        let config = ok(&input(&text));
        let mut expected = config.clone();
        expected.preset = None;
        assert_eq!(ok(&input(&to_toml(&config))), expected);
    }
}

#[test]
fn every_number_of_a_preset_has_its_source() {
    for preset in presets::PRESETS {
        let mut inside = false;
        for line in preset.text().lines().filter(|l| !l.starts_with(['#', '['])) {
            inside |= line.contains('=');
            let named = line.split_once("# ").is_some_and(|(_, source)| source.len() > 3);
            assert!(line.is_empty() || named, "{}: {line}", preset.name);
        }
        assert!(inside && preset.text().contains("[device]"), "{}", preset.name);
        assert!(preset.text().lines().all(|l| l.chars().count() <= 100), "{}", preset.name);
    }
}

#[test]
fn a_printed_config_loads_again() {
    for text in [
        "",
        CONTRACT,
        MADE[0],
        MADE[1],
        MADE[2],
        "[workload]\nsize = [{ size = \"1 MiB\", weight = 0.1 }]",
    ] {
        let config = ok(&input(text));
        assert_eq!(ok(&input(&to_toml(&config))), config, "{}", to_toml(&config));
    }
}

#[test]
fn the_digest_leaves_names_out_and_nothing_else() {
    let plain = ok(&input(""));
    let named = ok(&input("[run]\nname = \"other\""));
    assert_ne!(plain.run.name, named.run.name);
    assert_eq!(digest(&plain), digest(&named));
    assert_eq!(digest(&plain).len(), 16);
    let mut seen = vec![digest(&plain)];
    for (key, value) in [("run.seed", "2"), ("gc.window", "2"), ("gc.trigger.soft", "5")] {
        seen.push(digest(&ok(&with_sets("", &[(key, value)]))));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 4);
}

#[test]
fn schema_and_reference_name_every_key_with_its_default() {
    let (schema, page) = (schema::<RunConfig>(), reference_markdown::<RunConfig>());
    for path in key_paths::<RunConfig>() {
        let (table, key) = path.split_once('.').expect("a key stands in a table");
        let entry = &schema["properties"][table]["properties"][key];
        assert!(entry["description"].as_str().is_some_and(|d| d.len() > 5), "{path}");
        assert!(!entry["default"].is_null(), "{path}");
        assert!(page.contains(&format!("| `{key}` | ")), "{path}");
    }
    assert_eq!(schema["properties"]["timing"]["properties"]["read"]["default"], "75 us");
    assert_eq!(schema["properties"]["host"]["properties"]["queue_depth"]["default"], 32);
    assert!(page.contains("- **free-blocks**: "), "{page}");
    assert!(page.contains("| `bus_rate` | rate | 333 MB/s |"), "{page}");
}

#[test]
fn the_schema_describes_keys_by_their_form() {
    let schema = schema::<RunConfig>();
    let entry = |table: &str, key: &str| schema["properties"][table]["properties"][key].clone();
    let rate = "Rate at which pages cross the bus; in \"333 MT/s\" a transfer is 8 bit. Alternative \
                to `transfer`. (rate)";
    assert_eq!(entry("timing", "bus_rate")["description"], rate);
    assert_eq!(entry("timing", "bus_rate")["type"], serde_json::json!(["string"]));
    assert_eq!(entry("timing", "read")["description"], "Array read (tR).", "a time needs no note");
}
