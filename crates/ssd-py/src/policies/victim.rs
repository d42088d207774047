//! Victim policies: what they see, and what may be a victim.

use super::hooks::{Object, asked};
use super::{PyPolicy, Refusal, integer, shown};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use ssd_core::ftl::blocks::{BlockState, BlockTable};
use ssd_core::rng::Stream;
use ssd_core::units::{BlockId, PoolId};
use std::cmp::Ordering;

/// Fully valid victims in a row, for each block of the pool, after which a policy frees nothing.
const PATIENCE: u64 = 64;

/// The candidates of one pool, as they were when the policy was called. Arrays are built when the policy accesses them,
/// because most policies access one or two.
#[pyclass(frozen, module = "ssdlab._core")]
pub(crate) struct VictimView {
    /// First block of the pool; the candidates count from it.
    first: u32,
    candidates: Vec<u32>,
    valid_pages: Vec<u16>,
    erase_counts: Vec<u32>,
    sealed: Vec<u64>,
    sealed_at: Vec<u64>,
    invalidated_at: Vec<u64>,
    first_invalid: Vec<u64>,
    newest_invalid: Vec<u64>,
    columns: [PyOnceLock<Py<Column>>; 9],
    /// Pages of a block.
    #[pyo3(get)]
    pages_per_block: u32,
    /// The pool.
    #[pyo3(get)]
    pool: u32,
    /// Host pages bound so far.
    #[pyo3(get)]
    clock: u64,
    /// Time, ns; in functional mode 1 for each host page bound.
    #[pyo3(get)]
    now_ns: u64,
    /// Erased blocks of the pool.
    #[pyo3(get)]
    free_blocks: u32,
    /// The policy's own random numbers.
    #[pyo3(get)]
    rng: Py<PyAny>,
}

type Column = PyArray1<i64>;

/// The time of what has not happened: -1 in Python.
const NEVER: u64 = u64::MAX;

impl VictimView {
    /// Array `index`, built at the first access: `value` of each candidate, counted within the pool.
    fn column(&self, py: Python<'_>, index: usize, value: impl Fn(usize) -> u64) -> Py<Column> {
        let make = || {
            let values = self.candidates.iter().map(|&b| value(b as usize).cast_signed()).collect();
            PyArray1::from_vec(py, values).unbind()
        };
        self.columns[index].get_or_init(py, make).clone_ref(py)
    }
}

#[pymethods]
impl VictimView {
    /// Ids of the sealed blocks of the pool, ascending.
    #[getter]
    fn blocks(&self, py: Python<'_>) -> Py<Column> {
        self.column(py, 0, |b| u64::from(self.first) + b as u64)
    }

    /// Valid pages of each.
    #[getter]
    fn valid(&self, py: Python<'_>) -> Py<Column> {
        self.column(py, 1, |b| u64::from(self.valid_pages[b]))
    }

    /// Invalid pages of each.
    #[getter]
    fn invalid(&self, py: Python<'_>) -> Py<Column> {
        self.column(py, 2, |b| u64::from(self.pages_per_block) - u64::from(self.valid_pages[b]))
    }

    /// Erases of each so far.
    #[getter]
    fn erases(&self, py: Python<'_>) -> Py<Column> {
        self.column(py, 3, |b| u64::from(self.erase_counts[b]))
    }

    /// Age of each: host pages bound since its seal.
    #[getter]
    fn since_seal(&self, py: Python<'_>) -> Py<Column> {
        self.column(py, 4, |b| self.clock - self.sealed_at[b])
    }

    /// Host pages bound since the last invalidation in each; since its seal if there was none.
    #[getter]
    fn since_invalidation(&self, py: Python<'_>) -> Py<Column> {
        self.column(py, 5, |b| self.clock - self.invalidated_at[b])
    }

    /// Position of each in the order of sealing.
    #[getter]
    fn seal_order(&self, py: Python<'_>) -> Py<Column> {
        self.column(py, 6, |b| self.sealed[b])
    }

    /// When the first page of each became invalid since its last erase, ns; -1 if none has.
    #[getter]
    fn first_invalid_ns(&self, py: Python<'_>) -> Py<Column> {
        self.column(py, 7, |b| self.first_invalid[b])
    }

    /// When the newest did.
    #[getter]
    fn newest_invalid_ns(&self, py: Python<'_>) -> Py<Column> {
        self.column(py, 8, |b| self.newest_invalid[b])
    }
}

/// A victim policy in Python, with the ages that its view contains.
pub(super) struct Victim {
    policy: PyPolicy,
    rng: Py<PyAny>,
    /// Whether it scores the candidates instead of naming one.
    scores: bool,
    sealed_at: Vec<u64>,
    invalidated_at: Vec<u64>,
    /// Times of the first and newest invalid page since the last erase; `NEVER` if there is none.
    first_invalid: Vec<u64>,
    newest_invalid: Vec<u64>,
    /// Fully valid victims in a row, and the clock of the first.
    fruitless: (u64, u64),
}

impl Victim {
    pub(super) fn new(policy: PyPolicy, rng: Py<PyAny>, table: &BlockTable) -> Victim {
        Victim {
            scores: policy.has("score"),
            policy,
            rng,
            sealed_at: vec![0; table.len()],
            invalidated_at: vec![0; table.len()],
            first_invalid: vec![NEVER; table.len()],
            newest_invalid: vec![NEVER; table.len()],
            fruitless: (0, 0),
        }
    }

    fn view(
        &self,
        py: Python<'_>,
        pool: PoolId,
        table: &BlockTable,
        clock: u64,
        candidates: &[BlockId],
    ) -> VictimView {
        let n = table.blocks_per_pool() as usize;
        let first = pool.0 * table.blocks_per_pool();
        let blocks = first as usize..first as usize + n;
        let free = |state: &&BlockState| **state == BlockState::Free;
        VictimView {
            first,
            candidates: candidates.iter().map(|b| b.0 - first).collect(),
            valid_pages: table.valid[blocks.clone()].to_vec(),
            erase_counts: table.erases[blocks.clone()].to_vec(),
            sealed: table.seal_order[blocks.clone()].to_vec(),
            sealed_at: self.sealed_at[blocks.clone()].to_vec(),
            invalidated_at: self.invalidated_at[blocks.clone()].to_vec(),
            first_invalid: self.first_invalid[blocks.clone()].to_vec(),
            newest_invalid: self.newest_invalid[blocks.clone()].to_vec(),
            columns: std::array::from_fn(|_| PyOnceLock::new()),
            pages_per_block: u32::from(table.pages_per_block),
            pool: pool.0,
            clock,
            now_ns: table.now.0,
            free_blocks: table.state[blocks].iter().filter(free).count() as u32,
            rng: self.rng.clone_ref(py),
        }
    }

    fn scores_of(&self, py: Python<'_>, view: VictimView, n: usize) -> Result<Vec<f64>, Refusal> {
        let answer = self.policy.call(py, "score", (view,))?;
        scores(py, &answer, n)
    }

    /// A policy that keeps naming fully valid blocks would be called without end.
    fn frees_nothing(&mut self, table: &BlockTable, block: BlockId, clock: u64) -> bool {
        if table.invalid(block) > 0 || self.fruitless.0 != clock {
            self.fruitless = (clock, 0);
        }
        self.fruitless.1 += u64::from(table.invalid(block) == 0);
        self.fruitless.1 > PATIENCE * u64::from(table.blocks_per_pool())
    }
}

/// The scores in `answer`, one for each of `n` candidates. Integers beyond 2^53 are rounded.
fn scores(py: Python<'_>, answer: &Bound<'_, PyAny>, n: usize) -> Result<Vec<f64>, Refusal> {
    let wrong = |subject: &str| {
        Refusal::Wrong(format!(
            "score() returned {subject}: expected one number for each candidate"
        ))
    };
    let unlike = || wrong(&shown(answer));
    // Valid pages, and sums of them, which most return.
    if let Ok(array) = answer.cast::<PyArray1<i64>>()
        && let Ok(read) = array.try_readonly()
        && array.len() == n
    {
        return Ok(read.as_array().iter().map(|&score| score as f64).collect());
    }
    let array = if let Ok(array) = answer.cast::<PyArray1<f64>>() {
        array.clone()
    } else {
        let converted = py
            .import("numpy")
            .and_then(|numpy| numpy.call_method1("asarray", (answer,)))
            .map_err(|_| unlike())?;
        let kind = converted.getattr("dtype").and_then(|dtype| dtype.getattr("kind"));
        let kind = kind.map_err(|_| unlike())?;
        if !kind.cast::<PyString>().is_ok_and(|kind| "biuf".contains(&kind.to_string())) {
            return Err(unlike());
        }
        let floats = converted.call_method1("astype", ("float64",)).map_err(|_| unlike())?;
        floats.cast_into::<PyArray1<f64>>().map_err(|_| unlike())?
    };
    if array.len() != n {
        return Err(wrong(&format!("{} scores for {n} candidates", array.len())));
    }
    let read: PyReadonlyArray1<'_, f64> = array.try_readonly().map_err(|_| unlike())?;
    let values: Vec<f64> = read.as_array().iter().copied().collect();
    match values.iter().position(|score| score.is_nan()) {
        Some(at) => Err(wrong(&format!("NaN as score {at} (of {n})"))),
        None => Ok(values),
    }
}

/// The block that `select` has named, if it may be a victim of `pool`.
fn parse_block(
    answer: &Bound<'_, PyAny>,
    pool: PoolId,
    table: &BlockTable,
) -> Result<BlockId, Refusal> {
    let expected = "a block id, an element of view.blocks, or None";
    let id = integer("select", answer, expected)?;
    let wrong = |reason: String| Refusal::Wrong(format!("select() returned block {id}, {reason}"));
    let block = u32::try_from(id).ok().map(BlockId).filter(|b| b.at() < table.len());
    let Some(block) = block else {
        return Err(wrong(format!("which does not exist: expected {expected}")));
    };
    if table.pool_of(block) != pool {
        let home = table.pool_of(block).0;
        return Err(wrong(format!("which is of pool {home}: expected {expected}")));
    }
    let state = match table.state[block.at()] {
        BlockState::Sealed => return Ok(block),
        BlockState::Free => "erased",
        BlockState::Open => "open: it is still being programmed",
        BlockState::Collecting | BlockState::Erasing => "being collected already",
        BlockState::Bad => "bad: it is never used again",
    };
    Err(wrong(format!("which is {state}; expected {expected}")))
}

/// Hooks with checks of their own.
impl Victim {
    fn init(&mut self, table: &BlockTable, clock: u64) {
        self.first_invalid.fill(NEVER);
        self.newest_invalid.fill(NEVER);
        self.sealed_at.fill(clock);
        self.invalidated_at.fill(clock);
        for block in (0..table.len() as u32).map(BlockId).filter(|&b| table.is_candidate(b)) {
            self.on_seal(block, table, clock);
        }
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        self.sealed_at[block.at()] = clock;
        self.invalidated_at[block.at()] = clock;
        // Pages that are already invalid count from now.
        if self.first_invalid[block.at()] == NEVER && table.invalid(block) > 0 {
            self.on_invalidate_open(block, table, clock);
        }
    }

    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        self.invalidated_at[block.at()] = clock;
        self.on_invalidate_open(block, table, clock);
    }

    fn on_invalidate_open(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        let first = &mut self.first_invalid[block.at()];
        *first = table.now.0.min(*first);
        self.newest_invalid[block.at()] = table.now.0;
    }

    fn on_leave(&mut self, block: BlockId, _table: &BlockTable) {
        self.first_invalid[block.at()] = NEVER;
        self.newest_invalid[block.at()] = NEVER;
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        let candidates: Vec<BlockId> =
            table.of_pool(pool).filter(|&b| table.is_candidate(b)).collect();
        if candidates.is_empty() {
            return None;
        }
        let chosen = self.policy.ask(Some(pool), |py| {
            let view = self.view(py, pool, table, clock, &candidates);
            if !self.scores {
                let answer = self.policy.call(py, "select", (view,))?;
                return if answer.is_none() {
                    Ok(None)
                } else {
                    parse_block(&answer, pool, table).map(Some)
                };
            }
            let scores = self.scores_of(py, view, candidates.len())?;
            // Of equal scores the first has the lowest id.
            let least = (0..scores.len()).reduce(|a, b| if scores[b] < scores[a] { b } else { a });
            Ok(least.map(|i| candidates[i]))
        })??;
        if self.frees_nothing(table, chosen, clock) {
            let message = format!(
                "chose a block without an invalid page {} times in a row, with no host page written \
                 in between: it never frees space",
                self.fruitless.1
            );
            self.policy.ask(Some(pool), |_| Err::<(), _>(Refusal::Wrong(message)));
            return None;
        }
        Some(chosen)
    }

    fn candidates(&self, pool: PoolId, table: &BlockTable, clock: u64) -> Vec<BlockId> {
        let candidates: Vec<BlockId> = table
            .of_pool(pool)
            .filter(|&b| table.is_candidate(b) && table.invalid(b) > 0)
            .collect();
        if candidates.is_empty() {
            return candidates;
        }
        let scores = self.policy.ask(Some(pool), |py| {
            self.scores_of(py, self.view(py, pool, table, clock, &candidates), candidates.len())
        });
        let Some(scores) = scores else { return Vec::new() };
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        // NaN is not a score, and 0.0 equals -0.0.
        order.sort_by(|&a, &b| scores[a].partial_cmp(&scores[b]).unwrap_or(Ordering::Equal));
        order.into_iter().map(|i| candidates[i]).collect()
    }

    /// The pool or the block that would go first has no check yet.
    #[allow(clippy::unused_self, reason = "a hook")]
    fn orders_pools(&self) -> bool {
        false
    }

    #[allow(clippy::unused_self, reason = "a hook")]
    fn collects_at_once(&self) -> bool {
        false
    }
}

impl Object for Victim {
    fn object(&self) -> (&PyPolicy, &Py<PyAny>) {
        (&self.policy, &self.rng)
    }
}

ssd_core::victim_hooks!(asked, { ssd_core::ftl::gc::victim::VictimPolicy, Victim });
