//! A run of the host that stores its pages in zones.

use super::{PullDriver, all_warmup, driven, elapsed};
use crate::report::{Circumstances, Ending, FinishedRun};
use ssd_core::host::drive::DriveError;
use ssd_core::host::source::Source;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::zones::ZoneStore;

impl PullDriver<'_> {
    /// Run `source` on the host whose drive is `device`.
    pub(super) fn run_zoned(
        &mut self,
        device: Functional,
        ending: Option<Ending>,
        source: &mut dyn Source,
        mut annotated: Circumstances,
    ) -> FinishedRun {
        let warmup = self.config.warmup(source.expected());
        let mut store = ZoneStore::new(self.config, device, &annotated.plugs, warmup);
        store.ssd.audit_every(annotated.audit_every);
        let before = self.caller.clock();
        let mut ending = ending.unwrap_or_else(|| self.drive_store(&mut store, source));
        let clock = elapsed(before, self.caller.clock());
        if warmup > 0 && store.submitted() <= warmup {
            let requests = (store.submitted(), warmup);
            ending = all_warmup(self.config, ending, requests, &mut annotated);
        }
        self.report_timed(&mut store.ssd, &annotated, ending, clock)
    }

    fn drive_store(&mut self, store: &mut ZoneStore, source: &mut dyn Source) -> Ending {
        match self.drive_logged(store, |store| &mut store.ssd, source) {
            Ok(outcome) if !outcome.interrupted => {
                let finished = store.finish_collection().map_err(DriveError::from);
                driven(finished.map(|()| outcome))
            }
            Ok(outcome) => driven(Ok(outcome)),
            Err(ending) => ending,
        }
    }
}
