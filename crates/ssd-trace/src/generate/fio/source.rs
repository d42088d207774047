//! Requests of jobs.

use super::Trouble;
use super::free::Free;
use super::job::{Distribution, Job, Mix, Rate};
use crate::generate::synthetic::{Scatter, Zipf};
use ssd_core::host::request::{Op, Request, TimedRequest, flags};
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;
use ssd_core::units::{Nanos, SECTOR_BYTES};

/// One instance of a job.
pub(super) struct Instance {
    job: Job,
    random: Stream,
    /// First byte and bytes of the file that it works on.
    region: (u64, u64),
    /// Bytes and requests still to be generated.
    left_bytes: u64,
    left_ios: u64,
    /// Next byte of sequential reads, writes and trims, counted in the region.
    next: [u64; 3],
    places: Places,
    /// The write that follows its trim, and flushes, the next one last.
    follow: Vec<Request>,
    writes: u64,
    pub(super) at_ns: f64,
    /// No request arrives from here on (jobs with a rate).
    end_ns: f64,
    /// Bytes and requests of one pass, for jobs that end by the clock.
    pass: (u64, u64),
    /// Group that it belongs to: groups run one after the other.
    pub(super) group: usize,
}

const FLUSH: Request =
    Request { op: Op::Flush, sector: 0, sectors: 0, flags: 0, stream: 0, volume: 0 };

/// Addresses of random requests: indices of blocks.
enum Places {
    Sequential,
    /// Each block once, in units of the smallest size.
    Map(Free, u64),
    /// Independent draws.
    Drawn(Vec<Drawn>),
}

/// Draws over the places for requests of one size.
struct Drawn {
    op: usize,
    bytes: u64,
    /// Places are multiples of this: the smallest size of the operation.
    unit: u64,
    blocks: u64,
    scatter: Scatter,
    zipf: Option<Zipf>,
}

impl Instance {
    /// Instance `number` of `job` on its file at `base`, of `file_bytes`.
    pub(super) fn new(
        job: &Job,
        number: u64,
        base: u64,
        file_bytes: u64,
        group: usize,
        seed: u64,
    ) -> Result<Instance, Trouble> {
        let fail = |text: String| Err(Trouble::at(job.line, &format!("job {}: {text}", job.name)));
        let offset = job.offset.of(file_bytes) / SECTOR_BYTES * SECTOR_BYTES;
        let rest = file_bytes.saturating_sub(offset);
        let bytes = job.size.map_or(rest, |size| size.of(file_bytes)) / SECTOR_BYTES * SECTOR_BYTES;
        let used = used(job.mix);
        let sizes = used.iter().flat_map(|&op| &job.sizes[op]);
        let largest = sizes.clone().map(|size| size.0).max().expect("a job has a size");
        let smallest = sizes.map(|size| size.0).min().expect("a job has a size");
        if bytes < largest {
            return fail(format!(
                "its file has {bytes} bytes from its offset on, its largest request {largest}"
            ));
        }
        let all = job.io_size.map_or(Some(bytes), |size| Some(size.of(file_bytes)));
        let Some(all) = all.and_then(|all| all.checked_mul(job.loops)) else {
            return fail("its bytes times loops are beyond 2^64".to_owned());
        };
        let uniform = job.distribution == Distribution::Uniform;
        let places = if !job.random {
            Places::Sequential
        } else if uniform && job.map {
            if bytes / smallest > 1 << 34 {
                return fail("too many blocks to visit each once: use norandommap".to_owned());
            }
            Places::Map(Free::new(bytes / smallest), smallest)
        } else {
            let sizes =
                used.iter().flat_map(|&op| job.sizes[op].iter().map(move |size| (op, size.0)));
            let drawn = sizes.map(|(op, size)| Drawn::new(op, size, job, bytes));
            Places::Drawn(drawn.collect::<Result<_, SourceError>>().map_err(|error| {
                Trouble::at(job.line, &format!("job {}: {}", job.name, error.0))
            })?)
        };
        Ok(Instance {
            random: Stream::new(seed, &format!("fio.{}.{number}", job.name)),
            region: (base + offset, bytes),
            left_bytes: all,
            left_ios: job.number_ios.unwrap_or(u64::MAX),
            next: [0; 3],
            places,
            follow: Vec::new(),
            writes: 0,
            at_ns: job.start_ns as f64,
            end_ns: match job.runtime_ns {
                0 => f64::INFINITY,
                runtime => (job.start_ns + runtime) as f64,
            },
            pass: (all, job.number_ios.unwrap_or(u64::MAX)),
            group,
            job: job.clone(),
        })
    }

    /// The next request; `None`: the job has ended.
    pub(super) fn next_request(&mut self) -> Option<TimedRequest> {
        let at = Nanos(self.at_ns as u64);
        if let Some(request) = self.follow.pop() {
            return Some(self.timed(at, request));
        }
        if self.job.rate.is_some() && self.at_ns >= self.end_ns {
            self.left_ios = 0;
        } else if self.job.time_based && (self.left_bytes == 0 || self.left_ios == 0) {
            (self.left_bytes, self.left_ios) = self.pass;
        }
        if self.left_bytes == 0 || self.left_ios == 0 {
            let last = std::mem::take(&mut self.job.end_flush) && self.writes > 0;
            return last.then(|| self.timed(at, FLUSH));
        }
        let op = match self.job.mix {
            Mix::Read => Op::Read,
            Mix::Write => Op::Write,
            Mix::Trim | Mix::TrimWrite => Op::Trim,
            Mix::ReadWrite if self.random.chance(self.job.read) => Op::Read,
            Mix::ReadWrite => Op::Write,
        };
        let wanted = self.size(op);
        let (start, bytes) = self.place(op, wanted);
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        self.left_ios -= 1;
        let sector = (self.region.0 + start) / SECTOR_BYTES;
        let request = Request::new(op, sector, (bytes / SECTOR_BYTES) as u32);
        if self.job.mix == Mix::TrimWrite {
            self.follow.push(Request { op: Op::Write, ..request });
        }
        Some(self.timed(at, request))
    }

    /// Everything comes this much later.
    pub(super) fn delay(&mut self, ns: f64) {
        self.at_ns += ns;
        self.end_ns += ns;
    }

    /// `request` at `at`; the next one comes at the job's rate, after flushes that are due.
    fn timed(&mut self, at: Nanos, mut request: Request) -> TimedRequest {
        if request.op == Op::Write {
            self.writes += 1;
            request.flags |= if self.job.sync { flags::FUA } else { 0 };
        }
        // As fio does: in a mix, reads that come before the next write are followed by flushes too.
        if request.op != Op::Flush && self.writes > 0 {
            let due = |&&every: &&u64| every > 0 && self.writes.is_multiple_of(every);
            let flushes = self.job.flush_every.iter().filter(due).count();
            self.follow.extend(std::iter::repeat_n(FLUSH, flushes));
        }
        let gap = match self.job.rate {
            None => 0.0,
            Some(Rate::RequestsPerS(rate)) => 1e9 / rate as f64,
            Some(Rate::BytesPerS(rate)) => {
                f64::from(request.sectors) * SECTOR_BYTES as f64 * 1e9 / rate as f64
            }
        };
        self.at_ns += if self.job.poisson { gap * self.random.exponential() } else { gap };
        TimedRequest { at, request }
    }

    /// Bytes of the next request of `op`.
    fn size(&mut self, op: Op) -> u64 {
        let sizes = &self.job.sizes[op as usize];
        if let [(bytes, _)] = sizes[..] {
            return bytes;
        }
        let mut draw = self.random.unit();
        for &(bytes, weight) in sizes {
            if draw < weight {
                return bytes;
            }
            draw -= weight;
        }
        sizes[sizes.len() - 1].0
    }

    /// First byte in the region and bytes of a request that wants `bytes`.
    fn place(&mut self, op: Op, bytes: u64) -> (u64, u64) {
        let share = self.job.randomness[op as usize];
        let sequential = matches!(self.places, Places::Sequential)
            || (share < 1.0 && !self.random.chance(share));
        let (start, bytes) = if sequential {
            let next = self.next[op as usize];
            (if next + bytes > self.region.1 { 0 } else { next }, bytes)
        } else {
            self.random_place(op, bytes)
        };
        self.next[op as usize] = start + bytes;
        (start, bytes)
    }

    fn random_place(&mut self, op: Op, bytes: u64) -> (u64, u64) {
        let random = &mut self.random;
        match &mut self.places {
            Places::Sequential => unreachable!("a sequential job has no random places"),
            Places::Map(free, unit) => {
                // A size that is not a multiple of the smallest takes the blocks that it touches.
                let (first, taken) = free.take(bytes.div_ceil(*unit), random);
                (first * *unit, bytes.min(taken * *unit))
            }
            Places::Drawn(all) => {
                let drawn = all.iter().find(|one| one.op == op as usize && one.bytes == bytes);
                let drawn = drawn.expect("a size of the job");
                (drawn.draw(&self.job.distribution, random) * drawn.unit, bytes)
            }
        }
    }
}

/// Which of reads, writes and trims a mix has sizes of.
fn used(mix: Mix) -> &'static [usize] {
    match mix {
        Mix::Read => &[0],
        Mix::Write => &[1],
        Mix::Trim | Mix::TrimWrite => &[2],
        Mix::ReadWrite => &[0, 1],
    }
}

impl Drawn {
    fn new(op: usize, bytes: u64, job: &Job, region: u64) -> Result<Drawn, SourceError> {
        let distribution = &job.distribution;
        let unit = job.sizes[op].iter().map(|size| size.0).min().expect("an operation has a size");
        let blocks = (region - bytes) / unit + 1;
        let zipf = match distribution {
            Distribution::Zipf(theta) => Some(Zipf::new(blocks, *theta)?),
            _ => None,
        };
        Ok(Drawn { op, bytes, unit, blocks, scatter: Scatter::new(blocks), zipf })
    }

    /// Index of a block. Ranks are scattered over the file, as fio's hash does; zones are not.
    fn draw(&self, distribution: &Distribution, random: &mut Stream) -> u64 {
        let n = self.blocks as f64;
        let rank = match distribution {
            Distribution::Uniform => return random.below(self.blocks),
            Distribution::Zipf(_) => self.zipf.as_ref().expect("built for it").rank(random) - 1,
            Distribution::Pareto(h) => {
                // P(rank <= x n) = x^(log(1 - h) / log(h)): h of the accesses go to 1 - h of the blocks.
                let power = libm::log(*h) / libm::log(1.0 - *h);
                ((n - 1.0) * libm::pow(random.unit(), power)) as u64
            }
            Distribution::Normal(deviation) => {
                // Polar form of Box and Muller (Ann. Math. Stat. 29, 1958); beyond the file: again.
                loop {
                    let radius = libm::sqrt(2.0 * random.exponential());
                    let angle = std::f64::consts::TAU * random.unit();
                    let at = n * (0.5 + deviation * radius * libm::cos(angle));
                    if at >= 0.0 && at < n {
                        break at as u64;
                    }
                }
            }
            Distribution::Zoned(zones) => {
                let mut draw = random.unit();
                let mut before = 0.0;
                for (i, &(access, space)) in zones.iter().enumerate() {
                    if draw < access || i + 1 == zones.len() {
                        let within = before + space * random.unit();
                        return ((within * n) as u64).min(self.blocks - 1);
                    }
                    (draw, before) = (draw - access, before + space);
                }
                unreachable!("the last zone takes what is left")
            }
        };
        self.scatter.place(rank.min(self.blocks - 1))
    }
}
