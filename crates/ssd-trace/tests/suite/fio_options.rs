//! What becomes of fio's options, engines and examples.

use ssd_trace::fio::{Class, JobFile, engines_without_device, options};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Names of the options of fio 3.33, from `fio --cmdhelp` and, of engines for block devices, `fio --enghelp=ENGINE`.
const NAMES: &str = include_str!("../fio-3.33-options.txt");

fn names() -> BTreeSet<&'static str> {
    options().flat_map(|option| [Some(option.name), option.alias]).flatten().collect()
}

#[test]
fn every_option_has_one_class() {
    let names = names();
    for name in NAMES.lines() {
        assert!(names.contains(name), "{name}: of no class");
    }
    let all: Vec<&str> =
        options().flat_map(|option| [Some(option.name), option.alias]).flatten().collect();
    assert_eq!(all.len(), names.len(), "a name has two classes");
    for option in options() {
        if let Class::Refused(why) = option.class {
            assert!(why.len() > 5 && !why.ends_with('.'), "{}: {why}", option.name);
        }
    }
}

/// An option of each class does what its class says.
#[test]
fn options_are_taken_ignored_or_refused() {
    for option in options() {
        for name in [Some(option.name), option.alias].into_iter().flatten() {
            let text = format!("[a]\nsize=1m\n{name}=no such value\n");
            match (option.class, JobFile::parse(&text, "a")) {
                (Class::Host, Ok(file)) => assert_eq!(file.hosting().ignored, [option.name]),
                (Class::Refused(why), Err(error)) => {
                    assert_eq!(error.0, format!("a: line 3: {name}: {why}"));
                    let off = text.replace("no such value", "0");
                    assert!(JobFile::parse(&off, "a").is_ok(), "{name}=0 asks for nothing");
                }
                (Class::Modelled, Err(error)) => {
                    let head = format!("a: line 3: {name}: found \"no such value\"; expected ");
                    let waits = name == "wait_for" && error.0.contains("wait_for: 0 jobs");
                    assert!(waits || error.0.starts_with(&head), "{name}: {}", error.0);
                }
                (Class::Modelled, Ok(_)) => {
                    assert!(["filename", "uri", "ioengine"].contains(&option.name), "{name}");
                }
                (class, parsed) => panic!("{name}: {class:?}, {:?}", parsed.err()),
            }
        }
    }
}

#[test]
fn an_engine_without_a_device_is_refused_for_that() {
    for (engine, what) in engines_without_device() {
        let text = format!("[global]\nioengine={engine}\nhttp_mode=s3\n[a]\nrw=nothing\n");
        let error = JobFile::parse(&text, "a").unwrap_err().0;
        assert_eq!(error, format!("a: line 2: ioengine={engine} {what} (job a)"));
    }
    // A job may have another engine than the others.
    let text = "[global]\nioengine=cpuio\n[a]\nioengine=libaio\nsize=1m\n";
    assert!(JobFile::parse(text, "a").is_ok());
    let error = JobFile::parse(&format!("{text}[b]\n"), "a").unwrap_err().0;
    assert!(error.contains("line 2: ioengine=cpuio uses CPUs only (job b)"), "{error}");
}

/// Where fio is installed, its own list.
#[test]
#[allow(clippy::print_stderr, reason = "it says why it proves nothing")]
fn the_list_is_that_of_fio() {
    let Ok(help) = Command::new("fio").arg("--cmdhelp").output() else {
        eprintln!("skipped: fio is not installed");
        return;
    };
    let help = String::from_utf8(help.stdout).unwrap();
    let names = names();
    let unknown: Vec<&str> = help
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(|name| name.trim_end_matches(':'))
        .filter(|name| !names.contains(name))
        .collect();
    assert_eq!(unknown, [] as [&str; 0], "options of this version of fio without a class");
}

/// The examples of fio, where they are installed: each runs, or is refused for its engine or for an option that is
/// known and not simulated. None has an option that is not known.
#[test]
#[allow(clippy::print_stderr, reason = "it says why it proves nothing, and what it has found")]
fn examples_run_or_are_refused_for_what_they_ask() {
    let Ok(folder) = fs::read_dir("/usr/share/doc/fio/examples") else {
        eprintln!("skipped: the examples of fio are not installed (Debian: fio-examples)");
        return;
    };
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "fio"));
    files.sort();
    let (mut run, mut without_device, mut refused) = (0, 0, Vec::new());
    for path in &files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap();
        let error = match JobFile::parse(&text, &name).and_then(|file| file.source(1 << 40, 1)) {
            Ok(mut source) => {
                let first = ssd_core::host::source::clients_of(&mut source)
                    .arrive(ssd_core::units::Nanos(0))
                    .unwrap();
                assert!(first.is_some(), "{name} asks for nothing");
                run += 1;
                continue;
            }
            Err(error) => error.0,
        };
        if error.contains(": ioengine=") {
            without_device += 1;
        } else {
            assert!(!error.contains("no option of fio"), "{error}");
            refused.push(error);
        }
    }
    eprintln!(
        "{} examples: {run} run, {without_device} have engines without a block device, {} are \
         refused:\n{}",
        files.len(),
        refused.len(),
        refused.join("\n")
    );
    let least = if files.len() == 86 { 70 } else { 8 * files.len() / 10 };
    assert!(run + without_device >= least, "too many are refused");
}
