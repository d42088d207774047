//! Bad configs and the exact words about them; and that no text whatever makes the loader panic.
//!
//! `config_errors.txt` holds the cases: a config (or `--set key=value` lines), `=>`, and the
//! messages. Where they differ, the test writes what it got beside the build and names the file to
//! compare.

use crate::cases::cases;
use proptest::prelude::*;
use ssd_core::config::{Input, key_paths, load, presets};
use ssd_trace::config::RunConfig;

const CASES: &str = include_str!("config_errors.txt");

fn of_text(text: &str) -> Input {
    Input { file: Some(("ssd.toml".into(), text.into())), ..Input::default() }
}

fn messages(input: &Input) -> String {
    let errors = load::<RunConfig>(input).err().unwrap_or_default();
    errors.iter().map(|error| format!("{error}\n")).collect()
}

fn input_of(case: &str) -> Input {
    let sets = case.lines().filter_map(|line| line.strip_prefix("--set ")?.split_once('='));
    let sets: Vec<_> = sets.map(|(key, value)| (key.to_string(), value.to_string())).collect();
    if sets.is_empty() { of_text(case) } else { Input { sets, ..Input::default() } }
}

#[test]
fn bad_configs_and_their_messages() {
    let mut actual = Vec::new();
    for case in CASES.split("----\n") {
        let (config, _) = case.split_once("=>\n").expect("a case has a config and messages");
        actual.push(format!("{config}=>\n{}", messages(&input_of(config))));
        assert!(!actual.last().is_some_and(|a| a.ends_with("=>\n")), "no error: {config}");
    }
    let actual = actual.join("----\n");
    if actual != CASES {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/config_errors.txt");
        std::fs::write(path, &actual).expect("the build folder can be written");
        panic!("messages changed: compare tests/config_errors.txt with {path}");
    }
}

#[test]
fn all_errors_are_reported_at_once_in_the_order_of_the_lines() {
    let text = "[gc]\nvictim = \"gredy\"\nreserve = 0\n[devices]\nx = 1\n[timing]\nread = 25\n\
                [workload]\nread = 0.9\ntrim = 0.9\n[host]\nqueue_depth = 1.5";
    let mut input = of_text(text);
    input.sets = vec![("gc.windw".into(), "1".into()), ("run.seed".into(), "x".into())];
    let errors = load::<RunConfig>(&input).expect_err("seven errors in the file, two after --set");
    let places: Vec<_> = errors.iter().map(|e| (e.source_name.as_deref(), e.line)).collect();
    let file = |line| (Some("ssd.toml"), Some(line));
    let set = (Some("--set"), None);
    assert_eq!(places, [file(2), file(3), file(4), file(7), file(9), file(12), set, set]);
}

#[test]
fn a_flood_of_syntax_errors_is_cut_short() {
    let text = "= 1\n".repeat(10_000);
    let errors = load::<RunConfig>(&of_text(&text)).expect_err("no line is TOML");
    assert_eq!(errors.len(), 21);
    assert_eq!(errors[0].message, "not TOML: syntax errors on 10000 lines");
}

#[test]
fn deep_nesting_and_huge_numbers_are_errors() {
    let n = 100_000;
    for text in [
        format!("a = {}", "[".repeat(n)),
        format!("a = {}1{}", "{ a = ".repeat(n), " }".repeat(n)),
        format!("{}a = 1", "a.".repeat(n)),
        format!("[{}a]", "a.".repeat(n)),
        format!("[device]\nchannels = {}", "9".repeat(n)),
        format!("[timing]\nread = \"{} us\"", "9".repeat(n)),
        format!("[gc]\nvictim = \"{}\"", "x".repeat(n)),
        format!("{} = 1", "x".repeat(n)),
    ] {
        let all = messages(&of_text(&text));
        assert!(!all.is_empty(), "{:.60}", text);
        assert!(
            load::<RunConfig>(&Input {
                sets: vec![("gc.victim".into(), text.clone())],
                ..Input::default()
            })
            .is_err()
        );
        let sets = vec![(text.clone(), "1".into())];
        assert!(load::<RunConfig>(&Input { sets, ..Input::default() }).is_err(), "{:.60}", text);
    }
}

/// Values that fit some key, and some that fit none.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "4",
    "0.5",
    "1e308",
    "nan",
    "inf",
    "4294967295",
    "18446744073709551615",
    "99999999999999999999999999999999999999999999",
    "true",
    "\"\"",
    "\"4 KiB\"",
    "\"1 TiB\"",
    "\"25 us\"",
    "\"100000000000 h\"",
    "\"1e-30 s\"",
    "\"20000 per s\"",
    "\"streams:255\"",
    "\"pipelined\"",
    "\"chip\"",
    "\"device\"",
    "\"superblock\"",
    "\"round-robin\"",
    "\"idle\"",
    "[]",
    "[1]",
    "{}",
    "{ policy = \"free-blocks\", soft = 4294967296 }",
    "[\"idle\", {}]",
    "{ policy = 1 }",
    "{ scope = 1 }",
    "[{ size = 512, weight = 1e300 }]",
    "{ kind = \"bursty\" }",
    "1979-05-27",
    "\"\u{b5}\u{0}\"",
];

fn key_and_value() -> impl Strategy<Value = (String, String)> {
    let keys: Vec<&'static str> = key_paths::<RunConfig>();
    (proptest::sample::select(keys), proptest::sample::select(VALUES.to_vec()))
        .prop_map(|(key, value)| (key.to_string(), value.to_string()))
}

proptest! {
    #![proptest_config(cases(256, 62))]

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>(), key in any::<String>()) {
        let _ = load::<RunConfig>(&of_text(&text));
        let _ = load::<RunConfig>(&Input { sets: vec![(key, text)], ..Input::default() });
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = load::<RunConfig>(&of_text(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn mutated_presets_never_panic(
        which in 0..presets::PRESETS.len(),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = presets::PRESETS[which].text().as_bytes().to_vec();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = load::<RunConfig>(&of_text(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn any_value_of_any_key_loads_or_says_why(
        pairs in proptest::collection::vec(key_and_value(), 1..12),
    ) {
        match load::<RunConfig>(&Input { sets: pairs, ..Input::default() }) {
            Ok(config) => {
                let printed = ssd_core::config::to_toml(&config);
                let again = load::<RunConfig>(&of_text(&printed));
                prop_assert_eq!(again.as_ref(), Ok(&config), "{}", printed);
            }
            Err(errors) => prop_assert!(errors.iter().all(|e| e.message.len() > 10)),
        }
    }
}
