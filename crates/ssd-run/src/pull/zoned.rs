//! A run of the host that stores its pages in zones.

use super::{PullDriver, all_warmup, driven, elapsed};
use crate::caller::Stage;
use crate::report::{self, Circumstances, Ending, FinishedRun};
use ssd_core::host::drive::{self, DriveError, Progress};
use ssd_core::host::source::Source;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::logs::operations::state_rows;
use ssd_core::sim::zones::ZoneStore;
use std::ops::ControlFlow;

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
        let mut finished = report::timed(self.config, &store.ssd, &annotated, ending, clock);
        match self.finish_logs(&mut store.ssd) {
            Err(Ending::Failed(_)) if finished.ending != Ending::Completed => {}
            Err(ending) => finished.ending = ending,
            Ok(()) => {}
        }
        finished
    }

    fn drive_store(&mut self, store: &mut ZoneStore, source: &mut dyn Source) -> Ending {
        if self.config.metrics.op_log
            && let Some(log) = self.log.as_deref_mut()
            && let Err(message) = log.state(&mut state_rows(&store.ssd.core.ftl))
        {
            return Ending::Unwritable(message);
        }
        let total = source.expected();
        let (config, mut trouble) = (self.config, None);
        let mut observer = |store: &mut ZoneStore, p: &Progress| {
            if let Err(message) = self.hand_over(&mut store.ssd) {
                trouble = Some(message);
                return ControlFlow::Break(());
            }
            self.caller.progress(Stage::Workload, p.completed, total)
        };
        let outcome = drive::drive(store, &config.host, source, &mut observer);
        match (trouble, outcome) {
            (Some(message), _) => Ending::Unwritable(message),
            (None, Ok(outcome)) if !outcome.interrupted => {
                let finished = store.finish_collection().map_err(DriveError::from);
                driven(finished.map(|()| outcome))
            }
            (None, outcome) => driven(outcome),
        }
    }
}
