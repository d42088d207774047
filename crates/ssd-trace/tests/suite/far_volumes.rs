//! Hosts and volumes that change below the first lines of a file, from which its format is known.

use ssd_core::rng::Stream;
use ssd_trace::config::{AllVolumes, VolumeKey, Workload, WorkloadKind};
use ssd_trace::raw::each_request;
use ssd_trace::{TraceFacts, TraceSource};
use std::fmt::Write as _;
use std::ops::ControlFlow;

/// Lines of more bytes than are examined.
const LINES: u64 = 3_000;

fn read(text: &str) -> Result<TraceFacts, String> {
    let volume = Some(VolumeKey::One(0));
    let workload = Workload { kind: WorkloadKind::Trace, volume, ..Workload::default() };
    let read = TraceSource::read("t.csv", text.as_bytes(), &workload, 4096, 1 << 28);
    read.map(|(_, facts)| facts).map_err(|error| error.0)
}

/// The host of a line: the last ones have another.
fn host(line: u64) -> &'static str {
    if line < LINES - 10 { "prn" } else { "usr" }
}

#[test]
fn the_message_for_a_second_host_has_the_commands() {
    let mut random = Stream::new(39, "hosts");
    let mut text = String::new();
    for line in 0..LINES {
        let (time, page) = (128_166_372_003_061_629 + 1000 * line, random.below(1000));
        let host = host(line);
        writeln!(text, "{time},{host},0,Write,{},4096,100", page * 4096).unwrap();
    }
    let error = read(&text).expect_err("it is of two hosts");
    for part in [
        "line 2991: expected the host of the first record",
        "choose one of these commands",
        r#"awk -F, '$2 == "prn"' t.csv | ssdlab trace info -  # host "prn""#,
        r#"awk -F, '$2 == "usr"' t.csv | ssdlab trace info -  # host "usr": from line 2,991 on"#,
        r#"'{ $2 = $2 "-" $3 } 1' t.csv | ssdlab trace info - --columns time=1:100ns,op=4,offset=5:B,"#,
    ] {
        assert!(error.contains(part), "{part} is not in {error}");
    }
}

#[test]
fn a_column_that_may_be_of_volumes_is_named_where_it_may_change_below() {
    let note = |lines: u64| {
        let mut text = "time_us,host,disk,op,offset_bytes,size_bytes\n".to_owned();
        for line in 0..lines {
            let page = line * 7 % 50;
            writeln!(text, "{line}00,{},{},W,{},4096", host(0), line % 2, page * 4096).unwrap();
        }
        read(&text).expect("it has the names of its columns").notes.join("\n")
    };
    assert!(note(LINES).contains("if \"host\" changes below the first"), "{}", note(LINES));
    assert!(!note(9).contains("changes below"));
}

#[test]
fn device_numbers_too_large_for_a_request_are_renumbered_with_a_note() {
    let note = |text: &str| {
        let name = format!("ssdlab-numbers-{}-{}.txt", std::process::id(), text.len());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("it is written");
        let workload = Workload {
            kind: WorkloadKind::Trace,
            trace: Some(path.display().to_string()),
            volume: Some(VolumeKey::Every(AllVolumes::All)),
            ..Workload::default()
        };
        let read = each_request(&workload, |_| ControlFlow::Continue(()), |_| Ok(()));
        std::fs::remove_file(&path).expect("it is removed");
        read.unwrap_or_else(|_| panic!("{text}")).notes.join("\n")
    };
    let of_devices =
        note("  8,0 1 1 0.000000000 9 Q R 8 + 8 [x]\n  8,16 1 2 0.000001000 9 Q W 16 + 8 [x]\n");
    assert!(
        of_devices.ends_with("volumes are numbered from 0: 0 is 8,0; 1 is 8,16"),
        "{of_devices}"
    );
    let of_numbers = note("80,R,4096,4096,1577808000000046\n81,W,8192,4096,1577808000001052\n");
    assert_eq!(of_numbers, "");
}
