//! Starts a host on an empty drive, or on one that holds a store.

use super::{HostError, Machine, mounted};
use crate::fs::Fs;
use crate::settings::HostSettings;
use crate::workload::Workload;
use ssd_core::config::{BufferPower, Config, PowerCut};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::separation::{self, fdp};
use ssd_core::host::device::Device as _;
use ssd_core::nand::nvram::SHARE_BYTES;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_kv::Db;
use std::sync::Arc;

/// The settings, checked, with those that depend on the drive.
fn fitted(config: &Config, mut settings: HostSettings) -> Result<HostSettings, HostError> {
    settings.check().map_err(HostError::Refused)?;
    if config.is_zoned() {
        let message = "host.interface: the file system writes in place: expected \"block\"";
        return Err(HostError::Refused(message.into()));
    }
    let page = config.device.page_bytes;
    if page as usize != crate::fs::PAGE {
        let message = format!("device.page_size = {page} B: the file layer needs 4 KiB");
        return Err(HostError::Refused(message));
    }
    let (handles, streams) = (fdp::handles(&config.alloc.separation), settings.fs.streams.count());
    if let Some(handles) = handles.filter(|&handles| handles != streams) {
        return Err(HostError::Refused(format!(
            "alloc.separation: \"fdp\" has handles = {handles}, and the store writes {streams} streams: set handles = \
             {streams}, or fs.streams = {}",
            if streams > 1 { "\"none\"" } else { "\"levels\" (8 streams)" }
        )));
    }
    if !matches!(config.power.cut, PowerCut::Never | PowerCut::OnRequest) {
        let message = "power.cut: the store does not live through a cut that the drive makes by itself; use \
                   \"never\" or \"on-request\"";
        return Err(HostError::Refused(message.to_owned()));
    }
    let is_prepared = config.power.cut == PowerCut::OnRequest && config.run.data.keeps_bytes();
    if settings.cut_ns.is_some() && !is_prepared {
        let message = "cut_ns: the file system is read back from the drive, which needs power.cut = \"on-request\" \
                       and run.data = \"bytes\" or \"file\"";
        return Err(HostError::Refused(message.to_owned()));
    }
    if !config.power.is_off() && !config.remap.is_off() {
        let most = (config.power.nvram_bytes / SHARE_BYTES).max(1);
        settings.fs.copy_pages = most.min(settings.fs.copy_pages.into()) as u32;
    }
    settings.fs.keeps_data = config.run.data.keeps_bytes();
    settings.fs.copies = !config.remap.is_off();
    settings.fs.flushes = config.host.write_buffer_pages > 0
        && (config.power.is_off() || config.power.buffer == BufferPower::Volatile);
    Ok(settings)
}

impl Machine {
    /// A new file system and store on the drive of `config`, preconditioned accordingly.
    ///
    /// # Errors
    /// The page size of the drive differs from that of the file system, or the drive is too small or fails.
    pub fn new(
        config: &Config,
        settings: HostSettings,
        workload: Workload,
    ) -> Result<Machine, HostError> {
        let settings = fitted(config, settings)?;
        if separation::foresees(&config.alloc.separation) {
            return Err(HostError::Refused(separation::UNFORESEEN.into()));
        }
        let mut functional = Functional::new(config, Ftl::new(config));
        functional.precondition(config, &mut |_, _| true)?;
        let sequence = functional.sequence();
        let mut ssd = Ssd::new(config, functional.ftl, sequence);
        ssd.measure(0, false);
        let fs = Fs::format(config.device.user_pages, settings.fs).map_err(HostError::Refused)?;
        let mut machine = Machine::over(ssd, fs, settings, workload);
        machine.play_alone()?;
        machine.open()?;
        Ok(machine)
    }

    /// The file system that is on a drive of `config`, which has been mounted. Its store is not open.
    ///
    /// # Errors
    /// As [`Machine::new`], or the file system is damaged.
    pub fn remounted(
        mut ssd: Ssd,
        config: &Config,
        settings: HostSettings,
        workload: Workload,
    ) -> Result<Machine, HostError> {
        let settings = fitted(config, settings)?;
        let fs = mounted(&mut ssd, settings.fs).map_err(HostError::Refused)?;
        let mut machine = Machine::over(ssd, fs, settings, workload);
        machine.now = machine.ssd.now().0;
        machine.fs.set_now(machine.now);
        Ok(machine)
    }

    /// Open the store. `Machine::new` has done so.
    ///
    /// # Errors
    /// The store or the drive fails.
    pub fn open(&mut self) -> Result<(), HostError> {
        assert!(self.db.is_none(), "the store is open");
        let (options, policy) = (self.settings.store.options(), self.settings.store.policy());
        self.db = Some(Db::open_with(Arc::new(self.fs.clone()), options, policy)?);
        self.play_alone()
    }

    /// As [`Machine::open`], for this many steps of the drive: [`HostError::Stopped`] if they are used up.
    ///
    /// # Errors
    /// As [`Machine::open`].
    pub fn open_for(&mut self, steps: u64) -> Result<(), HostError> {
        self.steps = Some(steps);
        let ended = self.open();
        self.steps = None;
        ended
    }
}
