//! Words of other tools lead to keys that exist, and values are understood as the field writes them.

use ssd_core::config::keys::policy::DECISIONS;
use ssd_core::config::{Composed, Input, key_paths, load};
use ssd_trace::config::RunConfig;
use std::collections::BTreeSet;

fn loaded(key: &str, value: &str) -> Result<RunConfig, Vec<String>> {
    let sets = vec![(key.to_string(), value.to_string())];
    load(&Input { sets, ..Input::default() })
        .map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn message(key: &str, value: &str) -> String {
    loaded(key, value).expect_err(key).join("\n")
}

/// Whether `path` is a key, a parameter of one of its policies, or a part of its table.
fn is_key(path: &str) -> bool {
    let keys = key_paths::<RunConfig>();
    let is_parameter = |key: &str, name: &str| {
        key == "workload.arrival"
            || DECISIONS.iter().filter(|decision| decision.key == key).any(|decision| {
                decision.policies.iter().any(|policy| policy.params.iter().any(|p| p.name == name))
            })
    };
    keys.contains(&path)
        || path
            .rsplit_once('.')
            .is_some_and(|(key, name)| keys.contains(&key) && is_parameter(key, name))
}

#[test]
fn words_lead_to_keys_that_exist() {
    for vocabulary in RunConfig::VOCABULARIES {
        let mut known = BTreeSet::new();
        for term in vocabulary.terms {
            let key = term.key.split('=').next().unwrap_or_default();
            assert!(key.is_empty() || is_key(key), "{}: no key {key}", vocabulary.tool);
            assert!(!(key.is_empty() && term.note.is_empty()), "{} says nothing", term.words);
            for word in term.spellings() {
                let plain = word.to_lowercase().replace(['_', ' ', '-', '/'], "");
                assert!(known.insert(plain), "{}: {word} stands twice", vocabulary.tool);
            }
        }
    }
}

#[test]
fn every_word_is_refused_with_its_key() {
    for vocabulary in RunConfig::VOCABULARIES {
        for term in vocabulary.terms {
            for word in term.spellings() {
                let (path, value) = word.split_once('=').unwrap_or((word, "1"));
                let text = message(path, value);
                let meant = term.key.rsplit('=').next().unwrap_or_default();
                assert!(text.contains(meant), "{word}: {text}");
                assert!(text.contains(term.note), "{word}: {text}");
            }
        }
    }
}

/// "costbenefit" is a word, and "cost-benefit", which differs from it by a hyphen, is the value.
#[test]
fn the_value_of_a_word_is_taken() {
    let terms = RunConfig::VOCABULARIES.iter().flat_map(|vocabulary| vocabulary.terms);
    let values: Vec<_> = terms.filter_map(|term| term.key.split_once('=')).collect();
    assert!(values.contains(&("gc.victim", "cost-benefit")));
    for (key, value) in values {
        assert!(loaded(key, value).is_ok(), "{key} = {value}");
    }
}

#[test]
fn the_command_of_a_word_sets_its_key() {
    for (word, value, key) in [
        ("iodepth", "32", "host.queue_depth"),
        ("bs", "4k", "workload.size"),
        ("host.iodepth", "32", "host.queue_depth"),
        ("tPROG", "600us", "timing.program"),
        ("timing.t_prog", "600us", "timing.program"),
        ("op", "28%", "device.over_provisioning"),
        ("device.size", "1 GiB", "device.user_capacity"),
        ("gc.policy", "fifo", "gc.victim"),
        ("Flash_Channel_Count", "8", "device.channels"),
        ("nchs", "8", "device.channels"),
    ] {
        let text = message(word, value);
        assert_eq!(commands(&text), [(key.to_owned(), value.to_owned())], "{text}");
        assert!(loaded(key, value).is_ok(), "--set {key}={value}");
    }
}

/// The keys and values of the commands `--set KEY=VALUE` in a message, in which blanks are quoted.
fn commands(text: &str) -> Vec<(String, String)> {
    let command = |rest: &str| {
        let (rest, ends) = match rest.strip_prefix('\'') {
            Some(quoted) => (quoted, "'"),
            None => (rest, " ,);"),
        };
        let set = rest.split(|letter| ends.contains(letter));
        let (key, value) = set.into_iter().next()?.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    };
    text.split("--set ").skip(1).filter_map(command).collect()
}

/// Values as data sheets, fio and simulators write them.
const VALUES: [&str; 14] = [
    "0", "1", "8", "28", "0.28", "28%", "1T", "4k", "16g", "4 KiB", "64kib", "40us", "true",
    "greedy",
];

#[test]
fn no_word_leads_to_a_command_that_is_refused() {
    let terms = RunConfig::VOCABULARIES.iter().flat_map(|vocabulary| vocabulary.terms);
    let mut count = 0;
    for word in terms.flat_map(|term| term.spellings()).filter(|word| !word.contains('=')) {
        for value in VALUES {
            for (key, value) in commands(&message(word, value)) {
                // Other keys may have to be set, too, but the value is one of the key.
                let errors = loaded(&key, &value).err().unwrap_or_default();
                let is_refused = |error: &String| {
                    error.contains("unknown") || error.starts_with(&format!("--set: {key}: found "))
                };
                assert!(!errors.iter().any(is_refused), "{word}: --set {key}={value}: {errors:?}");
                count += 1;
            }
        }
    }
    assert!(count > 500, "only {count} commands");
}

#[test]
fn a_value_that_the_key_does_not_take_is_named_with_what_it_may_mean() {
    let both = |size: [&str; 2]| size.map(|size| ("device.user_capacity".into(), size.to_owned()));
    assert_eq!(commands(&message("device.size", "1T")), both(["1TB", "1TiB"]));
    let shares = ["28%", "2800%"].map(|ratio| ("device.over_provisioning".into(), ratio.into()));
    assert_eq!(commands(&message("op", "28")), shares);
    for (word, key) in
        [("mqes", "host.queue_depth"), ("sqsize", "host.queue_depth"), ("nlb", "workload.size")]
    {
        assert!(message(word, "7").contains(&format!("is {key} here")), "{word}");
    }
    assert!(loaded("workload.size", "64kib").is_ok() && loaded("workload.size", "64KIB").is_ok());
}

#[test]
fn percentages_are_numbers() {
    let share = |text: &str| loaded("workload.read", text).expect("a share").workload.read;
    assert_eq!(
        ["28%", "70 %", "0.5%"].map(|text| share(text).to_bits()),
        [0.28, 0.7, 0.005].map(f64::to_bits)
    );
    let pages =
        |text: &str| loaded("device.over_provisioning", text).expect("a ratio").device.user_pages;
    assert_eq!(pages("28%"), pages("0.28"));
    assert_eq!(pages("250%"), pages("2.5"));
    let toml = "[gc]\nvictim = { policy = \"list-order\", ratio = \"35%\" }\n";
    let input = Input { file: Some(("x.toml".into(), toml.into())), ..Input::default() };
    let config: RunConfig = load(&input).expect("a policy with a percentage");
    assert_eq!(config.gc.victim.real("ratio").to_bits(), 0.35_f64.to_bits());
    for text in ["%", "-5%", "28%%", "1e2%", "101%"] {
        assert!(loaded("workload.read", text).is_err(), "{text}");
    }
}

#[test]
fn a_ratio_that_is_as_likely_a_percentage_is_questioned() {
    let text = message("device.over_provisioning", "28");
    assert!(text.contains("--set device.over_provisioning=28%"), "{text}");
    assert!(text.contains("--set device.over_provisioning=2800%"), "{text}");
    assert!(loaded("device.over_provisioning", "2800%").is_ok());
    assert!(loaded("device.over_provisioning", "2.3").is_ok());
    assert!(message("workload.read", "70").ends_with("did you mean \"70%\"?"));
}

#[test]
fn letters_are_sizes_of_pages_and_requests() {
    let page = |text: &str| loaded("device.page_size", text).expect("a size").device.page_bytes;
    assert_eq!([page("16k"), page("8K"), page("16 KiB")], [16_384, 8_192, 16_384]);
    let request = loaded("workload.size", "64k").expect("a size").workload.sizes[0].bytes;
    assert_eq!(request, 65_536);
    // A capacity is sold in powers of 1000 and counted in powers of 1024.
    let text = message("device.user_capacity", "3G");
    assert!(text.ends_with("did you mean \"3 GB\" or \"3 GiB\"?"), "{text}");
    assert!(message("workload.requests", "64k").ends_with("did you mean 64000 or 65536?"));
    assert!(message("timing.bus_rate", "333MT").ends_with("did you mean \"MT/s\"?"));
    assert!(message("device.page_size", "4 KB").ends_with("did you mean \"kB\" or \"KiB\"?"));
}
