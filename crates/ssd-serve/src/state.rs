//! The folder of `--state`, which keeps a drive between servers.
//!
//! A generation is a snapshot, a table of slots, and the log of the requests since then. The file `current` has the
//! number of the generation, and `pages` has the slots. The server that uses the folder locks `lock`.

use crate::engine::{Engine, MountResult};
use crate::life::Life;
use crate::log::{self, Log};
use crate::slots::Slots;
use crate::table::SlotTable;
use ssd_core::config::{PowerCut, digest, to_toml};
use ssd_core::ftl::separation::{UNFORESEEN, foresees};
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::metrics::report::RESULTS_VERSION;
use ssd_run::{Caller, PushDriver, PushError, load_snapshot};
use ssd_trace::config::RunConfig;
use ssd_trace::snapshots::{self, LoadError, SaveError};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, BufWriter};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

mod header;

pub(crate) use header::Header;

/// Why a drive cannot be served.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StateError {
    /// The configuration or the folder does not allow it.
    #[error("{0}")]
    Refused(String),
    /// A file cannot be read or written.
    #[error("{0}")]
    File(String),
    /// The drive cannot be recovered.
    #[error("{0}")]
    Failed(String),
    /// The caller has interrupted it.
    #[error("interrupted")]
    Interrupted,
}

/// A folder that this process has locked.
pub struct Folder {
    path: PathBuf,
    generation: u64,
    /// The folders that were created for a new drive. They are removed if the drive is never served.
    new: Option<Vec<PathBuf>>,
    _lock: File,
}

pub(crate) fn file_error(path: &Path) -> impl Fn(io::Error) -> StateError + '_ {
    move |error| StateError::File(format!("{}: {error}", path.display()))
}

/// The configuration of the served drive: that of `config`, with power cuts if the drive has a state.
///
/// # Errors
/// A drive of this configuration cannot be served.
pub fn served(config: &RunConfig, with_state: bool) -> Result<RunConfig, StateError> {
    let refused = |message: String| Err(StateError::Refused(message));
    if foresees(&config.alloc.separation) {
        return refused(UNFORESEEN.into());
    }
    if config.is_zoned() {
        return refused(
            "host.interface: a client of NBD writes in place: expected \"block\"".into(),
        );
    }
    let mut config = config.clone();
    if !matches!(config.power.cut, PowerCut::Never | PowerCut::OnRequest) {
        return refused(
            "power.cut: the power of a served drive is cut only when its server is killed; leave the key out"
                .into(),
        );
    }
    if !with_state {
        return Ok(config);
    }
    config.power.cut = PowerCut::OnRequest;
    if config.wear.endurance != 0 {
        return refused(
            "--state: a kill is a power cut, which the model does not have for worn-out blocks (wear.endurance): serve \
             without --state, or without this key"
                .into(),
        );
    }
    Ok(config)
}

/// The new or preconditioned drive of `config`, at rest.
///
/// # Errors
/// A [`StateError`].
pub fn new_drive(
    config: &RunConfig,
    caller: &mut dyn Caller,
) -> Result<DeviceSnapshot, StateError> {
    let mut driver = PushDriver::new(config.clone(), Default::default());
    let state_error = |error| match error {
        PushError::Interrupted => StateError::Interrupted,
        PushError::Refused(message) | PushError::Snapshot(message) => StateError::Refused(message),
        other => StateError::Failed(other.to_string()),
    };
    driver.precondition(caller).map_err(state_error)?;
    driver.snapshot().map_err(state_error)
}

/// A drive without a state. Its data are in an unlinked file in the folder `temporary`.
///
/// # Errors
/// A [`StateError`].
pub fn without_state(
    config: &RunConfig,
    snapshot: &DeviceSnapshot,
    temporary: &Path,
) -> Result<Engine, StateError> {
    let path = temporary.join(format!("ssdlab-serve-{}", std::process::id()));
    let page_bytes = config.device.page_bytes as usize;
    let slots = Slots::open(&path, page_bytes).map_err(file_error(&path))?;
    fs::remove_file(&path).map_err(file_error(&path))?;
    let table = SlotTable::new(config.device.user_pages);
    Engine::new(config, snapshot, slots, table).map_err(StateError::Refused)
}

impl Folder {
    /// Open and lock the folder `path`, created if it does not exist.
    ///
    /// # Errors
    /// Another server uses the folder, or it is not one of a served drive.
    pub fn open(path: &Path) -> Result<Folder, StateError> {
        let shown = path.display();
        let missing = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty());
        let new_folders: Vec<_> =
            missing.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        fs::create_dir_all(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                StateError::Refused(format!("--state {shown}: this is a file: give a folder"))
            }
            _ => file_error(path)(error),
        })?;
        let current = path.join("current");
        if !current.exists() && !is_ours(path).map_err(file_error(path))? {
            let message =
                format!("--state {shown}: the folder has other files: give a new or empty folder");
            return Err(StateError::Refused(message));
        }
        let name = path.join("lock");
        let lock = File::create(&name).map_err(file_error(&name))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "--state {shown}: another server uses it: stop that server, or give another folder"
                );
                return Err(StateError::Refused(message));
            }
            Err(TryLockError::Error(error)) => return Err(file_error(&name)(error)),
        }
        // Before the lock was taken, another server may have removed this file.
        let locked = lock.metadata().map_err(file_error(&name))?.ino();
        if fs::metadata(&name).map(|entry| entry.ino()).ok() != Some(locked) {
            let message =
                format!("--state {shown}: another server has just removed the folder: try again");
            return Err(StateError::Refused(message));
        }
        let generation = match fs::read_to_string(&current) {
            Ok(text) => text.trim().parse().map_err(|_| {
                let name = current.display();
                StateError::Refused(format!(
                    "{name}: expected the number of a generation; found {text:?}"
                ))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(file_error(&current)(error)),
        };
        let new = (generation == 0).then_some(new_folders);
        Ok(Folder { path: path.to_owned(), generation, new, _lock: lock })
    }

    /// Keep the folder when this is dropped, even if it is new: the drive is served.
    pub fn keep(&mut self) {
        self.new = None;
    }

    fn file(&self, generation: u64, kind: &str) -> PathBuf {
        self.path.join(format!("{generation}.{kind}"))
    }

    /// The drive in the folder, with a new log there: a new drive, one that was saved at rest, or one that was killed
    /// and is mounted now. Also returns its snapshot, and the result of the mount.
    ///
    /// # Errors
    /// A [`StateError`]. The state of the drive in the folder is unchanged.
    pub fn drive(
        &mut self,
        config: &RunConfig,
        caller: &mut dyn Caller,
    ) -> Result<(Engine, DeviceSnapshot, Option<MountResult>), StateError> {
        let pages = self.path.join("pages");
        if self.generation == 0 {
            let snapshot = new_drive(config, caller)?;
            let table = SlotTable::new(config.device.user_pages);
            self.write_generation(config, &snapshot, &table, Life::default())?;
        }
        let header = Header::read(&self.file(self.generation, "json"))?;
        let log = self.file(self.generation, "log");
        let killed = fs::metadata(&log).map_err(file_error(&log))?.len() > 0;
        self.check(&header, config, killed)?;
        let (mut snapshot, table) = self.state(config, caller)?;
        let slots = Slots::open(&pages, config.device.page_bytes as usize);
        let slots = slots.map_err(file_error(&pages))?;
        let mut engine =
            Engine::new(config, &snapshot, slots, table).map_err(StateError::Refused)?;
        engine.continue_life(header.life);
        let mut mounted = None;
        if killed {
            mounted = Some(self.run_again(&mut engine, caller)?);
            let at_rest = engine.rest().map_err(StateError::Failed)?;
            snapshot = at_rest.0;
            let life = engine.life().ended(true);
            self.write_generation(config, &snapshot, engine.table(), life)?;
            let (slots, table) = engine.into_data();
            engine = Engine::new(config, &snapshot, slots, table).map_err(StateError::Refused)?;
            engine.continue_life(life);
        }
        engine.use_slots().map_err(file_error(&pages))?;
        self.remove_others().map_err(file_error(&self.path))?;
        let path = self.file(self.generation, "log");
        engine.log_to(self.new_log().map_err(file_error(&path))?);
        if !engine.has_log_space() {
            let full = io::Error::from(io::ErrorKind::StorageFull);
            return Err(StateError::File(format!(
                "--state {}: {full}: the log of the drive needs {} MiB",
                self.path.display(),
                log::AHEAD >> 20
            )));
        }
        Ok((engine, snapshot, mounted))
    }

    /// A new, empty log for this generation.
    fn new_log(&self) -> io::Result<Log> {
        let mut bytes = 0;
        for kind in ["snap", "slots", "toml", "json"] {
            bytes += fs::metadata(self.file(self.generation, kind))?.len();
        }
        Log::create(&self.file(self.generation, "log"), bytes)
    }

    /// Check that a drive of `config` can continue from this generation.
    fn check(&self, header: &Header, config: &RunConfig, killed: bool) -> Result<(), StateError> {
        let state = self.path.display();
        let (pages, bytes) = (config.device.user_pages, config.device.page_bytes);
        if (header.pages, header.page_bytes) != (pages, bytes) {
            return Err(StateError::Refused(format!(
                "--state {state}: the drive there has {} pages of {} bytes, this one {pages} pages of {bytes} bytes: \
                 give another folder, or serve {}",
                header.pages,
                header.page_bytes,
                self.file(self.generation, "toml").display()
            )));
        }
        if !killed {
            return Ok(());
        }
        let reason = "was killed, and its log can be replayed only with the same configuration and results version";
        if header.results != RESULTS_VERSION {
            return Err(StateError::Refused(format!(
                "--state {state}: its server {reason}: the log has results version {}, this program has \
                 {RESULTS_VERSION}: serve the drive once with the program that wrote the log, and stop it with Ctrl-C",
                header.results
            )));
        }
        if header.config != digest(config) {
            let toml = self.file(self.generation, "toml");
            return Err(StateError::Refused(format!(
                "--state {state}: its server {reason}: serve {} once, and stop it with Ctrl-C",
                toml.display()
            )));
        }
        Ok(())
    }

    /// The snapshot and the table of this generation.
    fn state(
        &self,
        config: &RunConfig,
        caller: &mut dyn Caller,
    ) -> Result<(DeviceSnapshot, SlotTable), StateError> {
        let loaded = load_snapshot(&self.file(self.generation, "snap"), Some(config), caller);
        let (snapshot, _) = loaded.map_err(|error| match error {
            LoadError::Refused(message) => StateError::Refused(message),
            LoadError::Interrupted => StateError::Interrupted,
        })?;
        let path = self.file(self.generation, "slots");
        let file = File::open(&path).map_err(file_error(&path))?;
        let length = file.metadata().map_err(file_error(&path))?.len();
        let expected = SlotTable::file_bytes(config.device.user_pages);
        if length != expected {
            return Err(StateError::Refused(format!(
                "{}: {length} bytes; expected {expected}",
                path.display()
            )));
        }
        let table = SlotTable::read(config.device.user_pages, &mut BufReader::new(file));
        Ok((snapshot, table.map_err(file_error(&path))?))
    }

    /// Replay the log, cut the power and mount the drive.
    fn run_again(
        &self,
        engine: &mut Engine,
        caller: &mut dyn Caller,
    ) -> Result<MountResult, StateError> {
        let path = self.file(self.generation, "log");
        let (mut requests, mut stopped) = (0u64, false);
        let sectors = engine.page_bytes() / ssd_core::units::SECTOR_BYTES;
        let read = log::read(&path, sectors, &mut |record| {
            engine.repeat(&record)?;
            requests += 1;
            if requests.is_multiple_of(65_536) {
                stopped = caller.progress(ssd_run::Stage::Workload, requests, None).is_break();
            }
            if stopped { Err(String::new()) } else { Ok(()) }
        });
        match read {
            Err(_) if stopped => return Err(StateError::Interrupted),
            Err(message) => return Err(StateError::Refused(message)),
            Ok(()) => {}
        }
        engine.cut_and_mount().map_err(|error| StateError::Failed(error.to_string()))
    }

    /// Save the drive at rest as a new generation.
    ///
    /// # Errors
    /// A [`StateError`]. The previous generation stays, with its log.
    pub fn close(
        &mut self,
        config: &RunConfig,
        snapshot: &DeviceSnapshot,
        engine: &Engine,
    ) -> Result<(), StateError> {
        self.write_generation(config, snapshot, engine.table(), engine.life().ended(false))?;
        self.remove_others().map_err(file_error(&self.path))
    }

    /// Save the drive at rest as a new generation, and continue with an empty log.
    ///
    /// # Errors
    /// [`StateError::File`] if there is no space for the generation: the drive continues with its old log. After any
    /// other error it cannot continue.
    pub fn fold(
        &mut self,
        config: &RunConfig,
        snapshot: &DeviceSnapshot,
        engine: &mut Engine,
    ) -> Result<(), StateError> {
        let written = self.write_generation(config, snapshot, engine.table(), engine.life());
        if let Err(error) = written {
            // Free the space of the incomplete generation.
            let _ = self.remove_others();
            engine.reserve_log_space();
            return Err(error);
        }
        // The old log is obsolete from here on, so the drive cannot continue without the new one.
        let path = self.file(self.generation, "log");
        let failed = |error| StateError::Failed(format!("{}: {error}", path.display()));
        self.remove_others().map_err(failed)?;
        engine.begin_again(snapshot).map_err(StateError::Failed)?;
        engine.log_to(self.new_log().map_err(failed)?);
        Ok(())
    }

    /// Write the next generation, with an empty log, and make it the current one. Frees the space that the previous log
    /// has reserved.
    fn write_generation(
        &mut self,
        config: &RunConfig,
        snapshot: &DeviceSnapshot,
        table: &SlotTable,
        life: Life,
    ) -> Result<(), StateError> {
        if self.generation > 0 {
            let log = self.file(self.generation, "log");
            log::release(&log).map_err(file_error(&log))?;
        }
        let next = self.generation + 1;
        let header = Header::of(config, next, life);
        let saved = snapshots::save(snapshot, &self.file(next, "snap"), true, &mut |_| {
            ControlFlow::Continue(())
        });
        saved.map_err(|error| match error {
            SaveError::Write(error) => StateError::File(error.to_string()),
            SaveError::Interrupted => StateError::Interrupted,
        })?;
        let json = serde_json::to_string_pretty(&header).expect("a header is JSON");
        let slots = self.file(next, "slots");
        write_table(&slots, table).map_err(file_error(&slots))?;
        for (kind, bytes) in
            [("toml", to_toml(config).as_bytes()), ("json", json.as_bytes()), ("log", b"")]
        {
            let path = self.file(next, kind);
            write_through(&path, bytes).map_err(file_error(&path))?;
        }
        let (current, new) = (self.path.join("current"), self.path.join("current.new"));
        write_through(&new, format!("{next}\n").as_bytes()).map_err(file_error(&new))?;
        fs::rename(&new, &current).map_err(file_error(&current))?;
        self.generation = next;
        Ok(())
    }

    /// Remove the files of other generations, which were replaced or left over by a kill.
    fn remove_others(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if stem.parse::<u64>().is_ok_and(|generation| generation != self.generation) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

impl Drop for Folder {
    /// Remove the files and folders of a new drive that was never served.
    fn drop(&mut self) {
        let Some(new_folders) = &self.new else { return };
        let files = fs::read_dir(&self.path).into_iter().flatten().flatten();
        // A file that cannot be removed does not prevent the next server from starting.
        let is_other = |name: &OsString| is_own(name) && name != "lock";
        for name in files.map(|file| file.file_name()).filter(is_other) {
            let _ = fs::remove_file(self.path.join(name));
        }
        // The lock goes last: once it is removed, another server may use the folder.
        let _ = fs::remove_file(self.path.join("lock"));
        for folder in new_folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn write_table(path: &Path, table: &SlotTable) -> io::Result<()> {
    let mut sink = BufWriter::new(File::create(path)?);
    table.write(&mut sink)?;
    sink.into_inner()?.sync_all()
}

fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes)?;
    File::open(path)?.sync_all()
}

/// Whether the folder has no files but hidden ones and those of a new drive whose server was killed before its first
/// generation.
fn is_ours(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if !is_hidden && (!is_own(&name) || name == "pages") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether this is the name of a file of a new drive.
fn is_own(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    let begun = name.strip_prefix("1.").is_some_and(|kind| {
        ["snap", "slots", "toml", "json", "log"].iter().any(|own| kind.starts_with(own))
    });
    begun || ["lock", "current", "current.new", "pages"].contains(&name)
}
