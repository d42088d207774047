//! Small drives, folders for their state, and their operation.

use ssd_core::config::{Input, load};
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::request::Completion;
use ssd_run::Unattended;
use ssd_serve::engine::{Engine, MountResult, Numbers};
use ssd_serve::nbd::handshake::Export;
use ssd_serve::state::{Folder, StateError, served};
use ssd_trace::config::RunConfig;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new drive of 128 erase blocks of 16 pages of 4 KiB.
pub(crate) fn config(sets: &[(&str, &str)]) -> RunConfig {
    let small = [
        ("device.channels", "2"),
        ("device.chips_per_channel", "1"),
        ("device.blocks_per_plane", "64"),
        ("device.pages_per_block", "16"),
    ];
    let new = [("precondition.fill", "0")];
    let is_said = sets.iter().any(|set| set.0 == "precondition.fill");
    let new = new.iter().filter(|_| !is_said);
    let sets = small.iter().chain(new).chain(sets);
    let sets = sets.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let config = load(&Input { sets, ..Input::default() });
    config.unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// The export of a small drive with this many bytes.
pub(crate) fn export(bytes: u64) -> Export {
    Export { name: "tiny".into(), description: "a drive".into(), bytes, page_bytes: 4096 }
}

/// The configuration under which a drive with a state is served.
pub(crate) fn with_state(sets: &[(&str, &str)]) -> RunConfig {
    served(&config(sets), true).expect("it can be served")
}

/// A folder that is removed with the test.
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Temporary {
    pub(crate) fn new() -> Temporary {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("ssd-serve-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Temporary(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) type OpenedDrive = (Folder, Engine, DeviceSnapshot, Option<MountResult>);

/// The drive in `folder`.
pub(crate) fn open(folder: &Path, config: &RunConfig) -> Result<OpenedDrive, StateError> {
    let mut state = Folder::open(folder)?;
    let (engine, snapshot, mounted) = state.drive(config, &mut Unattended)?;
    state.keep();
    Ok((state, engine, snapshot, mounted))
}

/// Fold the log.
pub(crate) fn fold(state: &mut Folder, config: &RunConfig, engine: &mut Engine) {
    engine.finish().expect("it completes all requests");
    let (snapshot, _) = engine.rest().expect("it comes to rest");
    state.fold(config, &snapshot, engine).expect("there is room");
}

/// The completions, when the disk has everything.
pub(crate) fn completions(engine: &mut Engine) -> Vec<Completion> {
    let mut done = engine.completions().expect("the disk works");
    engine.settle().expect("the disk works");
    done.extend(engine.completions().expect("the disk works"));
    done
}

/// Run until the last of `numbers` has completed.
pub(crate) fn finish(engine: &mut Engine, numbers: Numbers) {
    let mut left = numbers.count;
    while left > 0 {
        let at = engine.next_event().expect("something is left to do");
        engine.run(at);
        let done = completions(engine);
        let own = |id: u64| (numbers.first..numbers.first + numbers.count).contains(&id);
        left -= done.iter().filter(|c| own(c.id.0)).count() as u64;
    }
}

/// All data of the drive.
pub(crate) fn everything(engine: &Engine) -> Vec<u8> {
    let mut bytes = vec![0; engine.bytes() as usize];
    engine.data(0, &mut bytes).expect("the disk works");
    bytes
}
