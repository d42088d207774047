//! A compaction: merges tables of a level and of the next level, in steps.

mod drop_rule;
mod reusing;
mod unchanged;
mod watch;

use crate::db::Stats;
use crate::error::{Error, Result};
use crate::format::edit::{Edit, LEVELS, NewFile};
use crate::format::footer::FOOTER;
use crate::format::{key, names};
use crate::merge::{Merge, Source};
use crate::options::{Options, ReadOptions};
use crate::policy::{BlockEvent, Policy};
use crate::table::{TableIter, TableOptions, TableWriter, Tables};
use crate::version::LevelIter;
use crate::version::pick::CompactionInputs;
use crate::version::set::VersionSet;
use crate::vfs::Files;
use drop_rule::{DropRule, OutputLimit};
use reusing::ReuseState;
use std::sync::Arc;
pub(crate) use unchanged::Loss;
use watch::Watch;

/// Bytes of input after which a step ends.
const STEP: u64 = 64 << 10;

/// The parts of the store that a compaction uses.
pub(crate) struct CompactionContext<'a> {
    pub(crate) files: &'a Files,
    pub(crate) tables: &'a Arc<Tables>,
    pub(crate) set: &'a mut VersionSet,
    pub(crate) policy: &'a mut dyn Policy,
    pub(crate) options: &'a Options,
    pub(crate) stats: &'a mut Stats,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The compaction is not finished.
    More,
    /// The outputs are the new version; the inputs may be removed.
    Done,
}

/// A compaction in progress.
pub(crate) struct Compaction {
    pub(crate) picked: CompactionInputs,
    merge: Merge,
    rule: DropRule,
    limit: OutputLimit,
    /// If the policy watches and no blocks are reused.
    watch: Option<Watch>,
    reusing: Option<ReuseState>,
    open: Option<Output>,
    done: Vec<NewFile>,
    /// Bytes that were built for the finished outputs.
    built: u64,
}

struct Output {
    number: u64,
    smallest: Vec<u8>,
    writer: TableWriter,
}

impl Output {
    /// The open output; if there is none, a new one that begins with `key`.
    #[inline(always)]
    fn opened<'a>(
        open: &'a mut Option<Output>,
        key: &[u8],
        context: &mut CompactionContext<'_>,
    ) -> Result<&'a mut Output> {
        if open.is_none() {
            let number = context.set.new_number();
            debug_assert!(!context.set.live().contains(&number), "table {number} is in use");
            let file = context.files.create(&names::table(number))?;
            let writer = TableWriter::new(file, TableOptions::of(context.options));
            *open = Some(Output { number, smallest: key.to_vec(), writer });
        }
        let output = open.as_mut().expect("opened above");
        // Not that the first key is the smallest: tables whose checksums are not checked may be damaged.
        debug_assert!(output.number > 0, "a table without a number");
        Ok(output)
    }
}

impl Compaction {
    /// Begin a compaction; it may drop hidden entries whose sequence numbers are not above `oldest_view`.
    pub(crate) fn begin(
        picked: CompactionInputs,
        oldest_view: u64,
        context: &CompactionContext<'_>,
    ) -> Result<Compaction> {
        assert!(picked.level + 1 < LEVELS, "the last level is not compacted");
        assert!(oldest_view <= context.set.last_sequence, "a view sees what was written");
        // Always checked: damage would get a new, right checksum.
        let read = ReadOptions { verify_checksums: true, fill_cache: false };
        let (mut sources, mut levels) = (Vec::new(), Vec::new());
        for (offset, files) in picked.inputs.iter().enumerate() {
            let level = picked.level + offset;
            if level == 0 {
                for file in files {
                    let table = context.tables.table(file.number, file.size)?;
                    sources.push(Source::Table(Box::new(TableIter::new(table, read))));
                    levels.push(level);
                }
            } else if !files.is_empty() {
                let iter = LevelIter::new(files.clone(), context.tables.clone(), read);
                sources.push(Source::Level(Box::new(iter)));
                levels.push(level);
            }
        }
        assert_eq!(levels.len(), sources.len(), "watchers get a level for each source");
        assert!(!sources.is_empty(), "a compaction has inputs");
        let mut merge = Merge::new(sources);
        merge.first()?;
        let page = context.policy.reuses();
        assert!(page.is_none_or(usize::is_power_of_two), "a page is a power of two");
        Ok(Compaction {
            rule: DropRule::new(&picked, oldest_view),
            limit: OutputLimit::new(&picked, context.options.max_file_size),
            watch: (context.policy.watches() && page.is_none()).then(|| Watch::new(levels.clone())),
            reusing: page.map(|page| ReuseState::new(page, levels)),
            picked,
            merge,
            open: None,
            done: Vec::new(),
            built: 0,
        })
    }

    /// What must hold between steps.
    fn check(&self, next_file: u64) {
        let level = self.picked.level + 1;
        assert!(self.done.is_sorted_by(|a, b| a.number < b.number), "numbers of outputs ascend");
        assert!(self.done.iter().all(|f| f.level == level), "outputs go to one level");
        assert!(self.done.iter().all(|f| f.size > FOOTER as u64), "an output that is not a table");
        assert!(self.outputs().all(|n| n < next_file), "an output with a number not yet given");
        let Some(open) = &self.open else { return };
        assert!(open.writer.entries() > 0, "an output is opened for an entry");
        assert!(open.smallest.len() >= 8, "internal keys end in a tag");
        let last = open.writer.last_key();
        assert!(key::compare(&open.smallest, last).is_le(), "the first key is the smallest");
        assert!(self.done.last().is_none_or(|f| f.number < open.number), "the last output is open");
    }

    /// Numbers of the tables that it writes.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = u64> {
        let open = self.open.iter().map(|o| o.number);
        self.done.iter().map(|f| f.number).chain(open)
    }

    /// Do a step: merge more pairs, finish a table, or make the outputs the new version.
    pub(crate) fn step(&mut self, context: &mut CompactionContext<'_>) -> Result<Progress> {
        self.check(context.set.next_file);
        let before = self.built();
        let progress = if self.reusing.is_some() {
            self.step_reusing(context)
        } else {
            self.step_writing(context)
        };
        context.stats.built_bytes += self.built() - before;
        progress
    }

    /// Bytes that were built for all outputs so far.
    fn built(&self) -> u64 {
        self.built + self.open.as_ref().map_or(0, |open| open.writer.built())
    }

    /// As `step`, without reuse.
    fn step_writing(&mut self, context: &mut CompactionContext<'_>) -> Result<Progress> {
        let start = context.stats.merged_bytes;
        while self.merge.valid() {
            if context.stats.merged_bytes - start >= STEP {
                return Ok(Progress::More);
            }
            let key = self.merge.key();
            context.stats.merged_bytes += (key.len() + self.merge.value().len()) as u64;
            if self.limit.stops_before(key) && self.open.is_some() {
                self.finish_output(context)?;
            }
            let dropped = self.rule.drops(self.merge.key());
            if let Some(watch) = &mut self.watch
                && let Some(passing) = watch.pair(&self.merge, dropped)
            {
                passing.tell(context.policy);
            }
            if !dropped {
                self.add(context)?;
            }
            let source = self.merge.current();
            self.merge.next()?;
            if let Some(watch) = &mut self.watch
                && let Some(ended) = watch.after(&self.merge, source)
            {
                context.policy.event(ended, BlockEvent::End);
            }
            if self.open.as_ref().is_some_and(|o| o.writer.size() >= context.options.max_file_size)
            {
                self.finish_output(context)?;
                return Ok(Progress::More);
            }
        }
        self.end(context)
    }

    /// All pairs have been passed: finish the last table, or make the outputs the new version.
    fn end(&mut self, context: &mut CompactionContext<'_>) -> Result<Progress> {
        if self.open.is_some() {
            // Only this in the step: finishing waits for the medium.
            self.finish_output(context)?;
            return Ok(Progress::More);
        }
        self.install(context)?;
        Ok(Progress::Done)
    }

    /// Append the current pair to the output.
    fn add(&mut self, context: &mut CompactionContext<'_>) -> Result<()> {
        let (key, value) = (self.merge.key(), self.merge.value());
        let output = Output::opened(&mut self.open, key, context)?;
        debug_assert!(self.done.iter().all(|f| f.number != output.number), "a number given twice");
        output.writer.add(key, value, context.policy)
    }

    fn finish_output(&mut self, context: &mut CompactionContext<'_>) -> Result<()> {
        let Some(mut output) = self.open.take() else { return Ok(()) };
        let level = self.picked.level + 1;
        assert!(output.writer.entries() > 0, "an output is opened for an entry");
        let number = output.number;
        let file = finish(&mut output.writer, output.smallest, (level, number), context.policy);
        // Remembered even if it failed, so that `outputs` lists it until the error is reported.
        let (size, largest) =
            file.as_ref().map_or((0, Vec::new()), |f| (f.size, f.largest.clone()));
        let smallest = file.as_ref().map_or(Vec::new(), |f| f.smallest.clone());
        assert!(self.done.last().is_none_or(|f| f.number < number), "numbers of outputs ascend");
        self.done.push(NewFile { level, number, size, smallest, largest });
        if self.reusing.is_some() && file.is_ok() {
            context.stats.reuse[level].wrote(&output.writer);
        }
        self.built += output.writer.built();
        drop(output.writer);
        file?;
        context.stats.wrote(level, size);
        // A table that cannot be opened must not replace its inputs.
        context.tables.table(number, size).map(drop)
    }

    fn install(&mut self, context: &mut CompactionContext<'_>) -> Result<()> {
        assert!(!self.merge.valid() && self.open.is_none(), "all pairs are in finished tables");
        let level = self.picked.level;
        let mut edit = Edit::default();
        edit.compact_pointers.push((level, self.picked.pointer.clone()));
        for (offset, files) in self.picked.inputs.iter().enumerate() {
            edit.deleted.extend(files.iter().map(|f| (level + offset, f.number)));
            context.stats.read(level + 1, files.iter().map(|f| f.size).sum());
        }
        edit.added.clone_from(&self.done);
        assert!(!edit.deleted.is_empty(), "a compaction without inputs");
        let inputs = self.picked.inputs.iter().map(Vec::len).sum::<usize>();
        assert_eq!(edit.deleted.len(), inputs, "each input is deleted once");
        assert!(edit.added.iter().all(|f| f.size > 0), "a table that failed ends the compaction");
        assert!(
            edit.added.iter().all(|f| !edit.deleted.contains(&(level, f.number))),
            "an input that is also an output"
        );
        context.stats.compacted(level + 1);
        context.set.apply(edit)
    }
}

/// Complete a table and make it durable; returns its description for the manifest.
pub(crate) fn finish(
    writer: &mut TableWriter,
    smallest: Vec<u8>,
    (level, number): (usize, u64),
    policy: &mut dyn Policy,
) -> Result<NewFile> {
    assert!(level < LEVELS, "a table of level {level}");
    assert!(number > 0, "0 is no number of a table");
    if writer.entries() == 0 {
        return Err(Error::invalid("a table without an entry"));
    }
    let largest = writer.last_key().to_vec();
    let size = writer.finish(policy)?;
    writer.sync()?;
    assert!(key::compare(&smallest, &largest).is_le(), "the first key is the smallest");
    assert!(size > FOOTER as u64, "a table of {size} bytes");
    Ok(NewFile { level, number, size, smallest, largest })
}
