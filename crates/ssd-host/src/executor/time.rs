//! Where the time of actors goes. At any moment an actor does one thing or waits for one thing.

use super::{BACKGROUND, WRITE_BACK};

/// What an actor does or waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Activity {
    /// It has nothing to do.
    Idle,
    /// It has a processor core.
    Processor,
    /// It waits for a core.
    Core,
    /// It waits for reads of the drive, its own or those of others.
    Read,
    /// It waits for writes, flushes or TRIMs of the drive, its own or those of others.
    Write,
    /// A write waits for the group before its own, or for the writer that leads its own.
    Group,
    /// A write sleeps, as level 0 has many tables.
    Slowed,
    /// A write waits for background work.
    Stopped,
}

/// Number of activities.
pub const ACTIVITIES: usize = 8;

impl Activity {
    /// All, in the order of their numbers.
    pub const ALL: [Activity; ACTIVITIES] = [
        Activity::Idle,
        Activity::Processor,
        Activity::Core,
        Activity::Read,
        Activity::Write,
        Activity::Group,
        Activity::Slowed,
        Activity::Stopped,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Activity::Idle => "idle_ns",
            Activity::Processor => "processor_ns",
            Activity::Core => "core_ns",
            Activity::Read => "read_ns",
            Activity::Write => "write_ns",
            Activity::Group => "group_ns",
            Activity::Slowed => "slowed_ns",
            Activity::Stopped => "stopped_ns",
        }
    }
}

/// Nanoseconds by activity.
pub type ActivityTimes = [u64; ACTIVITIES];

/// Time of the background work, of the write back, and of all clients together, by activity.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TimeSums {
    /// Flushes and compactions.
    pub background: ActivityTimes,
    /// Write back of old pages.
    pub write_back: ActivityTimes,
    /// The clients together: without [`Activity::Idle`], the sum of their latencies.
    pub clients: ActivityTimes,
}

impl TimeSums {
    fn of(&mut self, actor: usize) -> &mut ActivityTimes {
        match actor {
            BACKGROUND => &mut self.background,
            WRITE_BACK => &mut self.write_back,
            _ => &mut self.clients,
        }
    }
}

/// The activity of each actor, since when, and the sums of what has ended.
#[derive(Debug)]
pub(super) struct TimeSheet {
    current: Vec<(Activity, u64)>,
    ended: TimeSums,
}

impl TimeSheet {
    /// All actors are idle at time 0.
    pub(super) fn new(actors: usize) -> TimeSheet {
        TimeSheet { current: vec![(Activity::Idle, 0); actors], ended: TimeSums::default() }
    }

    /// From `now` on the actor does something else.
    pub(super) fn enter(&mut self, actor: usize, activity: Activity, now: u64) {
        let (before, since) = std::mem::replace(&mut self.current[actor], (activity, now));
        self.ended.of(actor)[before as usize] += now - since;
    }

    /// The sums up to `now`, with what is under way.
    pub(super) fn sums(&self, now: u64) -> TimeSums {
        let mut sums = self.ended;
        for (actor, &(activity, since)) in self.current.iter().enumerate() {
            sums.of(actor)[activity as usize] += now - since;
        }
        sums
    }
}
