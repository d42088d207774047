//! The folder of a drive: who may use it, and what survives in it.

use crate::rig::{Temporary, everything, finish, fold, open, with_state};
use ssd_serve::state::{Folder, StateError, served};
use std::fs;

#[test]
fn a_new_drive_that_is_never_served_leaves_nothing() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let path = folder.0.join("some/folder");
    let state = Folder::open(&path).expect("a new folder");
    assert!(path.join("lock").exists());
    drop(state);
    let mut state = Folder::open(&path).expect("a new folder");
    let opened = state.drive(&config, &mut ssd_run::Unattended).expect("a new drive");
    assert!(path.join("current").exists());
    drop((opened, state));
    assert_eq!(fs::read_dir(&folder.0).expect("the folder").count(), 0);
    // A folder that existed before stays, and so does what somebody else has put into it.
    fs::create_dir_all(&path).expect("a folder");
    drop(Folder::open(&path).expect("an empty folder"));
    assert_eq!(fs::read_dir(&path).expect("the folder").count(), 0);
    let state = Folder::open(&path).expect("an empty folder");
    fs::write(path.join("letter.txt"), b"dear").expect("a file");
    drop(state);
    assert_eq!(fs::read_dir(&path).expect("the folder").count(), 1);
    fs::remove_file(path.join("letter.txt")).expect("the file");
    // A drive that has been served stays, whatever happens to the next server.
    drop(open(&path, &config).expect("a new drive"));
    drop(Folder::open(&path).expect("a drive"));
    assert!(path.join("current").exists());
}

/// Why a drive with these settings is not opened in `folder`.
fn refused(folder: &Temporary, sets: &[(&str, &str)]) -> String {
    match open(&folder.0, &with_state(sets)) {
        Err(StateError::Refused(why)) => why,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn a_drive_that_came_to_rest_goes_on_without_a_mount() {
    let (folder, config) = (Temporary::new(), with_state(&[("host.write_buffer_pages", "8")]));
    let (mut state, mut engine, _, mounted) = open(&folder.0, &config).expect("a new drive");
    assert!(mounted.is_none());
    let numbers = engine.write(1, 100, b"some data", false).expect("room");
    finish(&mut engine, numbers);
    let before = everything(&engine);
    engine.finish().expect("it completes all requests");
    let (snapshot, _) = engine.rest().expect("it comes to rest");
    state.close(&config, &snapshot, &engine).expect("it is saved");
    drop((state, engine));
    let names =
        fs::read_dir(&folder.0).expect("the folder").map(|e| e.expect("a file").file_name());
    let mut names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    names.sort();
    let all = ["2.json", "2.log", "2.slots", "2.snap", "2.toml", "current", "lock", "pages"];
    assert_eq!(names, all);
    // Another policy may continue from there.
    let other = with_state(&[("host.write_buffer_pages", "8"), ("gc.victim", "fifo")]);
    let (_state, engine, _, mounted) = open(&folder.0, &other).expect("the same drive");
    assert!(mounted.is_none());
    assert!(everything(&engine) == before, "other data");
    assert_eq!(&before[100..109], b"some data");
}

#[test]
fn a_killed_drive_is_recovered_by_the_same_drive_alone() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let (state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
    let numbers = engine.write(1, 0, &[7; 4096], false).expect("room");
    finish(&mut engine, numbers);
    drop((state, engine));
    let why = refused(&folder, &[("gc.victim", "fifo")]);
    assert!(why.contains("was killed") && why.contains("1.toml"), "{why}");
    let header = folder.0.join("1.json");
    let text = fs::read_to_string(&header).expect("the header");
    let results = ssd_core::metrics::report::RESULTS_VERSION;
    let other = format!("\"results\": {}", results + 1);
    let changed = text.replace(&format!("\"results\": {results}"), &other);
    assert_ne!(changed, text);
    fs::write(&header, changed).expect("another header");
    let why = refused(&folder, &[]);
    assert!(why.contains(&format!("this program has {results}")), "{why}");
    fs::write(&header, text.replace("\"form\": 1", "\"form\": 2")).expect("another header");
    assert!(refused(&folder, &[]).contains("version 2, this program has 1"));
    fs::write(&header, text).expect("the header again");
    // What a kill leaves of the next generation does not matter.
    fs::write(folder.0.join("2.slots"), b"half").expect("a file");
    let (_state, engine, _, mounted) = open(&folder.0, &config).expect("it mounts");
    let mounted = mounted.expect("it was killed");
    assert_eq!((mounted.requests, mounted.pages_lost), (1, 0));
    assert!(mounted.recovery.time > 0, "a mount takes time");
    assert_eq!(everything(&engine)[..4096], [7; 4096]);
}

#[test]
fn a_kill_at_any_point_of_a_fold_leaves_the_drive() {
    let (folder, config) = (Temporary::new(), with_state(&[("host.write_buffer_pages", "8")]));
    let (mut state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
    for i in 0..40u64 {
        engine.write(1, i % 30 * 4096, &[i as u8 + 1; 4096], false).expect("room");
    }
    let numbers = engine.flush(1).expect("it takes a flush");
    finish(&mut engine, numbers);
    let data = everything(&engine);
    let copy = |from: &Temporary, to: &Temporary| {
        for entry in fs::read_dir(&from.0).expect("the folder") {
            let entry = entry.expect("a file");
            fs::copy(entry.path(), to.0.join(entry.file_name())).expect("a copy");
        }
    };
    let (before, after) = (Temporary::new(), Temporary::new());
    copy(&folder, &before);
    fold(&mut state, &config, &mut engine);
    copy(&folder, &after);
    engine.write(1, 0, &[99; 4096], true).map(|n| finish(&mut engine, n)).expect("room");
    drop((state, engine));
    let files = ["2.snap", "2.slots", "2.toml", "2.json", "2.log", "current", "pages"];
    for written in 0..=files.len() {
        let there = Temporary::new();
        copy(&before, &there);
        for name in &files[..written] {
            fs::copy(after.0.join(name), there.0.join(name)).expect("a copy");
        }
        if let Some(half) = files[..5].get(written) {
            fs::write(there.0.join(half), b"ha").expect("half a file");
        }
        let (_state, engine, _, mounted) = open(&there.0, &config).expect("the drive");
        assert_eq!(mounted.is_some(), written < 6, "after {written} files");
        assert!(everything(&engine) == data, "other data after {written} files");
    }
    // What was written since is there, too.
    let (_state, engine, _, mounted) = open(&folder.0, &config).expect("the drive");
    assert_eq!(mounted.map(|mounted| mounted.requests), Some(1));
    assert_eq!(everything(&engine)[..4096], [99; 4096]);
}

#[test]
fn another_drive_and_another_server_are_refused() {
    let folder = Temporary::new();
    let opened = open(&folder.0, &with_state(&[])).expect("a new drive");
    let why = refused(&folder, &[]);
    assert!(why.contains("another server uses it"), "{why}");
    drop(opened);
    let why = refused(&folder, &[("device.channels", "4")]);
    assert!(why.contains("pages of 4096 bytes") && why.contains("1.toml"), "{why}");
    let why =
        refused(&folder, &[("device.pages_per_block", "32"), ("device.blocks_per_plane", "32")]);
    assert!(why.contains("another device"), "{why}");
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let folder = Temporary::new();
    fs::write(folder.0.join("letter.txt"), b"dear").expect("a file");
    let why = refused(&folder, &[]);
    assert!(why.contains("other files"), "{why}");
    let names: Vec<_> = fs::read_dir(&folder.0).expect("the folder").collect();
    assert_eq!(names.len(), 1, "something was written");
    // What is left of a server that was killed at its very beginning does no harm.
    fs::remove_file(folder.0.join("letter.txt")).expect("the file");
    fs::write(folder.0.join("1.snap"), b"half").expect("a file");
    // Nor do files that are hidden, as file systems and editors make them.
    fs::write(folder.0.join(".directory"), b"view").expect("a file");
    drop(open(&folder.0, &with_state(&[])).expect("a new drive"));
    fs::write(folder.0.join("current"), b"soon").expect("a file");
    assert!(
        matches!(Folder::open(&folder.0), Err(StateError::Refused(why)) if why.contains("soon"))
    );
}

#[test]
fn what_has_no_power_model_is_served_without_a_state_only() {
    let config = crate::rig::config(&[("wear.endurance", "100")]);
    assert!(served(&config, false).is_ok());
    assert!(
        matches!(served(&config, true), Err(StateError::Refused(why)) if why.contains("--state"))
    );
    let config = crate::rig::config(&[("power.cut", "{ every = \"1 s\" }")]);
    assert!(
        matches!(served(&config, false), Err(StateError::Refused(why)) if why.contains("power.cut"))
    );
}
