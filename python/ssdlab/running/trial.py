"""From a trace to an answer without any configuration: `ssdlab.try_trace`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ssdlab.config.drives import is_changed, own_title, title_of
from ssdlab.config.files import title_of_file
from ssdlab.config.given import typed
from ssdlab.config.resolve import (
    DEFAULT_DRIVE,
    ConfigLike,
    options,
)
from ssdlab.config.resolve import DRIVE as PREFIX
from ssdlab.display.argument import argument
from ssdlab.display.numbers import duration, percent, ratio, size
from ssdlab.errors import ConfigError, Interrupted
from ssdlab.results.comparison import Comparison
from ssdlab.results.folder import draft, keep_with_page
from ssdlab.results.intervals import estimate
from ssdlab.results.names import SUMMARY, TRIAL_JSON
from ssdlab.results.prediction import LARGEST_SHARE, ORDERS, Predicted, Ranking
from ssdlab.results.report import Report
from ssdlab.results.text import counted
from ssdlab.results.trial import INTERRUPTED, PACED, Form, Spare, Trial, drive_option
from ssdlab.running import scale, scarce, timed_doubts
from ssdlab.running.compare_runs import StopRule, check_seeds, repeat, run_into
from ssdlab.running.execution import Execution
from ssdlab.running.runner import PlannedRun, Runner
from ssdlab.running.trial_plan import LONGER, Plan, label_of, plan_trial
from ssdlab.store.store import Store

SEEDS = range(3, 11)
"""Fewest and most seeds."""
NARROW = 0.01
"""Half width of the interval of a write amplification that is narrow enough, as a share."""
SAME = 0.01
"""Relative difference below which two write amplifications count as equal."""
TIMED_SEEDS = 2
MATCHES = 5
"""Most runs of the search for the over-provisioning of a timed trial."""
DEEP, LONG = 1000, 100
"""Pending requests, and 99th percentile of writes in program times, that are reached only under
overload."""
BUDGET_S = 30.0


@typed
def try_trace(
    trace: str | Path,
    *,
    drive: ConfigLike = DEFAULT_DRIVE,
    policies: Mapping[str, Mapping[str, object]] | None = None,
    set: Mapping[str, object] | None = None,
    seeds: int | None = None,
    budget_s: float = BUDGET_S,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool = True,
    html: bool = True,
    store: str | Path | Store | None = None,
) -> Trial:
    """Predict what a trace does to a drive under the usual policies.

    `drive` is a preset, such as a named drive, or a configuration. Write amplification is predicted
    on trials that keep its erase units and shrink their pages until the trace fills them, in two
    orders of updates; latency on a trial with all its dies. `policies` maps labels to keys, instead
    of the usual ones; `set` maps further keys to values, for all runs. Every policy is repeated
    with further seeds until the intervals are narrow or `budget_s` seconds have passed (at least
    two seeds), or with `seeds` of them. The rest, and what it raises, is as in `ssdlab.compare`.
    """
    if seeds is not None:
        check_seeds(seeds)
    plan = plan_trial(trace, drive=drive, policies=policies, set=set, progress=progress)
    execution = Execution(on, jobs, store, out, force, progress, html)
    with execution.runner(len(plan.policies)) as runner:
        trial = run_trial(plan, runner, execution, seeds, budget_s)
    if trial.interrupted:
        raise Interrupted(None, trial.folder, trial=trial)
    return trial


def run_trial(
    plan: Plan, runner: Runner, execution: Execution, seeds: int | None, budget_s: float
) -> Trial:
    """Run a plan, up to Ctrl-C.

    Raises `ConfigError` if the trace touches more than the drive has.
    """
    check_room(plan)
    runs = Runs(plan, runner, execution.progress, seeds, budget_s)
    if execution.folder is None:
        return runs.trial(None)
    with draft(execution.folder, execution.force) as staging:
        trial = runs.trial(staging.path)
        if trial.interrupted:
            again = f" --out {shlex.quote(str(execution.folder))} --force"
            trial = replace(trial, options=f"{trial.options}{again}")
        staging.settle(trial.completed)
        staging.write(TRIAL_JSON, trial.to_json())
        staging.write(SUMMARY, trial.summary())
        keep_with_page(staging, (lambda: _page(trial)) if execution.html else None)
    return replace(trial, folder=staging.target)


def _page(trial: Trial) -> str:
    from ssdlab.html.trial_page import trial_page  # needs numpy, which is slow to import

    return trial_page(trial)


class TimedRuns(NamedTuple):
    """Timed runs of policies, and what they tell of the drive."""

    runs: Comparison | None
    doubts: Mapping[str, str]
    """Policies whose latency on the drive they do not tell, and why."""
    bounded: Collection[str] = ()
    """Policies whose p99.9 on the drive they only bound: see `timed_doubts.is_bounded`."""


@dataclass
class Runs:
    """The runs of a trial, one batch after the other."""

    plan: Plan
    runner: Runner
    progress: bool
    seeds: int | None
    budget_s: float
    fewest: int = 2
    """Seeds that are run even if the time is over."""
    usual_s: float = BUDGET_S
    """The time that the command takes where none is given."""
    begun: float = field(default_factory=time.monotonic)
    failures: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    unsettled: dict[str, str] = field(default_factory=dict)
    """Runs that have no prediction, by label, and why."""

    def trial(self, folder: Path | None) -> Trial:
        """All of them, with their files in `folder`."""
        trial = self.predicted(folder)
        if trial.interrupted or trial.verdict is None:
            doubt = INTERRUPTED if trial.interrupted else NO_VERDICT
            trial = replace(trial, latency_doubts=dict.fromkeys(trial.named, doubt))
        else:
            timed = self.timed(trial, trial.named, folder)
            trial = replace(
                trial,
                latency=timed.runs,
                latency_doubts=timed.doubts,
                latency_bounded=timed.bounded,
            )
        return replace(trial, failures=self.failures, interrupted=self.interrupted)

    def predicted(self, folder: Path | None) -> Trial:
        """The runs of write amplification: the trial without latency."""
        first, lengths = ({}, {}) if self._scarcity else self._first_seed(folder)
        is_hopeless = bool([*self._obstacles(lengths)])
        halved, further = (
            self._further_runs(folder, first, lengths)
            if lengths and not is_hopeless
            else (Comparison({}), Comparison({}))
        )
        rankings = {}
        for phases in ORDERS:
            predicted = {}
            for policy in self.plan.policies:
                label = label_of(policy, phases)
                reports = [first.get(label), *further.repetitions.get(label, {}).values()]
                values = [report.waf.total for report in reports if report and report.waf.total]
                half = halved.reports[label].waf.total if label in halved.reports else None
                if (half or is_hopeless) and label in lengths and len(values) == len(reports):
                    config = self.plan.drive_with(policy)
                    policies = config["gc.victim.policy"], config["alloc.separation.policy"]
                    predicted[policy] = Predicted(
                        tuple(values),
                        half,
                        scale.beyond(*policies),
                        scale.residual(self.plan.device(policy).pages, scale.Pool.of(config).pages),
                    )
            rankings[phases] = Ranking(predicted)
        missing = (*self._missing(rankings), *self._too_few_seeds(rankings))
        # A policy wins under both orders, or under neither.
        shared = set.intersection(*({*ranking.predicted} for ranking in rankings.values()))
        rankings = {
            phases: Ranking({p: ranking.predicted[p] for p in ranking.predicted if p in shared})
            for phases, ranking in rankings.items()
        }
        undecided = {phases: ranking.undecided for phases, ranking in rankings.items()}
        return Trial(
            name=title_of_file(self.plan.trace),
            trace=self.plan.trace,
            drive_name=self.plan.drive_name,
            drive=_drive(self.plan),
            read=_read(self.plan),
            form=_form(self.plan),
            rankings=rankings,
            doubts=(
                *self._obstacles(lengths),
                *missing,
                *extrapolation_doubts(undecided, self.plan.touched),
            ),
            remedy=self._remedy(undecided),
            about=scarce.info_command(self.plan.trace, self.plan.given),
            unpredicted=self.unsettled,
            lifetime=self.plan.lifetime,
            refused=self.plan.refused,
            failures=self.failures,
            interrupted=self.interrupted,
            note=self.plan.drive["run.drive"],
            warnings=self.plan.totals.warnings,
            options=self._options,
            passes=0
            if self._scarcity
            else max((sum(self.plan.loops(longer)) for longer in lengths.values()), default=1),
            overwrites=self.plan.totals.page_writes / self.plan.pages,
        )

    @property
    def _options(self) -> str:
        """What the caller has set, as options of the command."""
        return f"{options(self.plan.given)}{self._effort}"

    @property
    def _effort(self) -> str:
        """The options that say how many seeds are run."""
        seeds = f" --seeds {self.seeds}" if self.seeds is not None else ""
        budget = f" --budget {self.budget_s:g}s" if self.budget_s != self.usual_s else ""
        return f"{seeds}{budget}"

    @property
    def _scarcity(self) -> str:
        """Why the trace decides nothing, so that nothing is run; empty if it may."""
        return scarce.doubt(self.plan.invalidated)

    @property
    def _fewest_pages(self) -> float:
        """The pages that the trace has to touch for erase units of `scale.FEWEST_PAGES`."""
        pool = scale.Pool.of(self.plan.drive)
        return scale.FEWEST_PAGES * pool.blocks / (1 + pool.over_provisioning)

    def _remedy(self, undecided: Mapping[str, Mapping[str, float]]) -> str:
        """The command to run where the trace says too little; empty where it says enough.

        `undecided`: the shares of the extrapolations that are too large, by order and policy.
        """
        plan = self.plan
        shares = [share for by_policy in undecided.values() for share in by_policy.values()]
        factor: float | None
        if self._scarcity:
            factor = None
        elif plan.device(self._baseline).pages < scale.FEWEST_PAGES:
            factor = scarce.MARGIN * self._fewest_pages / plan.pages
        elif shares and not self.interrupted:
            factor = max(shares) / LARGEST_SHARE
        else:
            return ""
        drive = drive_option(plan.drive_name)
        return scarce.remedy(plan.trace, plan.given, factor, drive, self._effort)

    def _further_runs(
        self, folder: Path | None, first: Mapping[str, Report], lengths: Mapping[str, int]
    ) -> tuple[Comparison, Comparison]:
        """The runs on halved erase units, and further seeds of the first ones."""
        halved = self._batch(self._of_lengths(2, lengths), folder, "halved")
        seed_limit = (SEEDS.stop - 1) if self.seeds is None else self.seeds
        runs = repeat(self._of_lengths(1, lengths), seed_limit)
        enough = self._narrow_or_late(first) if self.seeds is None else None
        further = self._batch([run for run in runs if not run.first], folder, "amount", enough)
        return halved, further

    def _of_lengths(self, pools: int, lengths: Mapping[str, int]) -> list[PlannedRun]:
        """Each run on so many pools, as long as `lengths` says by its label."""
        planned = {
            length: {run.label: run for run in self.plan.functional_runs(pools, length)}
            for length in dict.fromkeys(lengths.values())
        }
        return [planned[length][label] for label, length in lengths.items()]

    def timed(
        self,
        trial: Trial,
        policies: Sequence[str],
        folder: Path | None,
        seeds: int = TIMED_SEEDS,
    ) -> TimedRuns:
        """Timed runs of policies, and what they tell of the drive.

        The first run shows whether the recorded arrivals overload the drive.
        """

        def no_runs(doubt: str) -> TimedRuns:
            return TimedRuns(None, dict.fromkeys(policies, doubt) if doubt else {})

        recorded = trial.rankings["recorded"].predicted
        candidates = [
            label
            for label in policies
            if label in recorded and recorded[label].interval is not None
        ]
        if not candidates:
            return no_runs(NO_PREDICTION)
        if not self.plan.passes:
            return no_runs(TOO_LONG)
        devices = {label: self._match_device(label, recorded[label].mean) for label in candidates}
        planned = [
            self.plan.plan_run(label, device, label, 1, {})
            for label, device in devices.items()
            if device is not None
        ]
        if len(planned) < len(candidates):
            return no_runs(TOO_SMALL)
        runs = repeat(planned, seeds)
        first = self._batch(runs[:1], folder, "time")
        if doubt := _overload(first):
            return no_runs(doubt)
        further = self._batch(runs[1:], folder, "time")
        if self.interrupted:
            return no_runs(INTERRUPTED)
        failures = {**first.failures, **further.failures}
        if failures:
            return no_runs(f"a run could not finish: {next(iter(failures.values()))}")
        timed = _join(first, further)
        if self.plan.is_periodic(1) and self.plan.fits(1):
            timed = timed_doubts.in_whole_loops(timed)
        drive, pages = self.plan.drive, self.plan.pages
        doubts = {
            label: timed_doubts.invalid(by_seed)
            or timed_doubts.mismatch(label, by_seed, recorded[label].mean)
            or timed_doubts.short_erases(drive, pages, by_seed)
            for label, by_seed in timed.repetitions.items()
        }
        bounded = [
            label
            for label, by_seed in timed.repetitions.items()
            if timed_doubts.is_bounded(drive, by_seed)
        ]
        return TimedRuns(timed, {label: doubt for label, doubt in doubts.items() if doubt}, bounded)

    def _match_device(self, policy: str, target: float) -> scale.ScaledDevice | None:
        """The timed device on which a policy writes what it writes on the drive, or nearly so.

        It has fewer erase units than the drive, so equal effective spare is not enough: the
        over-provisioning is searched for, in functional runs of the same device. `target` is the
        write amplification of the drive. None where the trace fills too few blocks.
        """
        drive = self.plan.drive_with(policy)
        small = nearest = scale.timed_device(drive, self.plan.pages)
        measured: list[tuple[float, float]] = []
        tried: set[str] = set()
        while small is not None and len(measured) < MATCHES:
            run = self.plan.plan_run(policy, small.functional(), policy, 1, {})
            if run.config.text in tried:
                break  # Erase units are whole: with so few of them, none comes closer.
            tried.add(run.config.text)
            reports = self._batch([run], None, "match").reports
            waf = reports[policy].waf.total if policy in reports else None
            if waf is None:
                break
            measured.append((small.over_provisioning, waf))
            errors = [abs(value / target - 1) for _, value in measured]
            if errors[-1] == min(errors):
                nearest = small
            if errors[-1] < SAME:
                break
            provision = scale.next_provision(measured, target)
            small = scale.timed_device(drive, self.plan.pages, provision)
        return nearest

    def _obstacles(self, lengths: Mapping[str, int]) -> Iterator[str]:
        """Why no further run can lead to a verdict, the main reason first.

        `lengths` has the runs that settled.
        """
        pages = self.plan.device(self._baseline).pages
        if pages < scale.FEWEST_PAGES:
            needed_bytes = self._fewest_pages * self.plan.drive["device.page_bytes"]
            yield (
                f"the trace touches so little that an erase unit of the trial has"
                f" {counted(pages, 'page')}, and at least {scale.FEWEST_PAGES} are needed: use a"
                f" trace that touches {size(needed_bytes)} or more"
            )
        if self._scarcity:
            yield self._scarcity
            return
        for phases in ORDERS:
            label = label_of(self._baseline, phases)
            if label not in lengths and not self.interrupted:
                reason = self.unsettled.get(label, "its run did not finish")
                baseline = f"{self._baseline}, as {ORDERS[phases]}"
                yield f"{baseline}: the baseline has no prediction: {reason}"

    def _missing(self, rankings: Mapping[str, Ranking]) -> Iterator[str]:
        """How many predictions an interrupt has prevented."""
        labels = [(phases, policy) for phases in rankings for policy in self.plan.policies]
        missing = [
            policy
            for phases, policy in labels
            if policy not in rankings[phases].predicted
            and label_of(policy, phases) not in self.unsettled
        ]
        if self._scarcity:
            return
        if self.interrupted and missing:
            yield (
                f"{len(missing)} of {len(labels)} predictions are missing, because the trial was"
                " interrupted"
            )
        elif any(policy == self._baseline for policy in missing):
            yield f"{self._baseline}: a run could not finish, and the others are compared with it"

    def _too_few_seeds(self, rankings: Mapping[str, Ranking]) -> Iterator[str]:
        """How many predictions have too few seeds because of an interrupt."""
        predictions = [
            policy for ranking in rankings.values() for policy in ranking.predicted.values()
        ]
        few = sum(len(policy.values) < self.fewest for policy in predictions)
        if self.interrupted and few:
            yield (
                f"{few} of {len(predictions)} predictions have fewer than {self.fewest} seeds,"
                " because the trial was interrupted"
            )

    @property
    def _baseline(self) -> str:
        return next(iter(self.plan.policies))

    def _first_seed(self, folder: Path | None) -> tuple[dict[str, Report], dict[str, int]]:
        """The first seed of each run, and the factor of `LONGER` at which each settled."""
        reports: dict[str, Report] = {}
        lengths = dict.fromkeys((run.label for run in self.plan.functional_runs(1, 1)), LONGER[0])
        settled: set[str] = set()
        for longer in self.plan.lengths():
            runs = [run for run in self.plan.functional_runs(1, longer) if run.label not in settled]
            if not runs or self.interrupted:
                break
            finished = self._batch(runs, folder, f"first-{longer}").reports
            is_periodic = self.plan.is_periodic(longer)
            settled |= {
                label
                for label, report in finished.items()
                if _is_valid(report) and (is_periodic or _has_settled(report, reports.get(label)))
            }
            reports |= finished
            lengths |= {run.label: longer for run in runs}
        # After an interrupt, runs that are missing might have settled.
        self.unsettled = (
            {}
            if self.interrupted
            else {
                label: _unsettled_reason(report)
                for label, report in reports.items()
                if label not in settled
            }
        )
        return reports, {label: lengths[label] for label in lengths if label in settled}

    def _batch(
        self,
        planned: Sequence[PlannedRun],
        folder: Path | None,
        name: str,
        enough: StopRule | None = None,
    ) -> Comparison:
        if self.interrupted or not planned:
            return Comparison({})
        subfolder = None if folder is None else folder / name
        comparison = run_into(planned, subfolder, self.runner, self.progress, enough).comparison()
        self.failures |= comparison.failures
        self.interrupted = comparison.interrupted
        return _keep_completed(comparison) if self.interrupted else comparison

    def _narrow_or_late(self, first: Mapping[str, Report]) -> StopRule:
        """Whether write amplification is known well enough, or the time is over.

        It looks at the widths of intervals, never at what they say.
        """

        def enough(comparison: Comparison) -> bool:
            counts = [1 + len(by_seed) for by_seed in comparison.repetitions.values()]
            if not counts or min(counts) < self.fewest:
                return False
            is_late = time.monotonic() - self.begun >= self.budget_s
            return is_late or (min(counts) >= SEEDS.start and _is_narrow(comparison, first))

        return enough


def _is_narrow(comparison: Comparison, first: Mapping[str, Report]) -> bool:
    for label, by_seed in comparison.repetitions.items():
        values = [first[label].waf.total, *(report.waf.total for report in by_seed.values())]
        statistic = estimate([value for value in values if value is not None])
        if statistic.ci95 is not None and statistic.ci95 > NARROW * statistic.mean:
            return False
    return True


def _is_valid(report: Report) -> bool:
    """Whether the write amplification of a run is that of its policy."""
    return bool(report.completed and report.gc.calls and report.verdict.decided_by != "reserve")


def _has_settled(report: Report, shorter: Report | None) -> bool:
    """Whether write amplification has settled: in the run itself, or since the `shorter` one."""
    if report.steady_state.reached:
        return True
    previous, current = shorter and shorter.waf.total, report.waf.total
    return bool(previous and current and abs(current / previous - 1) < SAME)


def _unsettled_reason(report: Report) -> str:
    """Why a run has no prediction."""
    if not report.completed:
        return "the run did not finish"
    if not report.gc.calls:
        return "nothing was collected"
    if report.verdict.decided_by == "reserve":
        return "the reserve chose the victims, not the policy"
    first, second = report.steady_state.wa_first, report.steady_state.wa_second
    return f"write amplification has not settled ({ratio(first)}, then {ratio(second)})"


def extrapolation_doubts(
    shares: Mapping[str, Mapping[str, float]], touched: float
) -> Iterator[str]:
    """Where the size of erase units decides too much: shares by order of updates and policy.

    The error falls as the pages of an erase unit, and so with the bytes that the trace `touched`.
    """
    for phases, by_policy in shares.items():
        for label, share in by_policy.items():
            yield (
                f"{label}, as {ORDERS[phases]}: the size of erase units changes its write"
                f" amplification by {percent(share)}: use a trace that touches about"
                f" {size(touched * share / LARGEST_SHARE)} or more"
            )


def _keep_completed(comparison: Comparison) -> Comparison:
    """The completed runs of a comparison: without those that an interrupt has cut off."""
    reports = {label: report for label, report in comparison.reports.items() if report.completed}
    repetitions = {
        label: {seed: report for seed, report in by_seed.items() if report.completed}
        for label, by_seed in comparison.repetitions.items()
    }
    return replace(
        comparison,
        reports=reports,
        repetitions={label: by_seed for label, by_seed in repetitions.items() if by_seed},
    )


def _join(first: Comparison, rest: Comparison) -> Comparison:
    """The comparison of all runs, of which `first` has some of the first seed."""
    labels = dict.fromkeys([*first.repetitions, *rest.repetitions])
    repetitions = {
        label: {**first.repetitions.get(label, {}), **rest.repetitions.get(label, {})}
        for label in labels
    }
    return replace(rest, reports={**first.reports, **rest.reports}, repetitions=repetitions)


TOO_SMALL = "the trace touches too little to fill blocks on every die of the drive"
TOO_LONG = (
    "the trace is longer than the simulated time of the drive: replay it faster, for example with"
    " --set workload.time_scale=0.1"
)
NO_VERDICT = "latency is not measured without a verdict on write amplification"
NO_PREDICTION = "latency is not measured without a prediction of write amplification"


def _overload(latency: Comparison) -> str:
    """Why the recorded arrivals are too fast for the drive, in words; empty if they are not."""
    for report in latency.reports.values():
        program, slow = report.config["timing.program_ns"], report.latency.write.p99
        if report.little.peak_in_system < DEEP or (slow is not None and slow < LONG * program):
            continue
        utilisation = report.device.utilisation
        busiest = max([*utilisation.chip, *utilisation.channel], default=0.0)
        return (
            f"the recorded arrivals overload the drive ({report.little.peak_in_system:,} requests"
            f" pending, busiest {percent(busiest)}): {PACED}, or --set workload.time_scale=4"
        )
    return ""


def check_room(plan: Plan) -> None:
    """Raise `ConfigError` if the trace touches more than the drive has."""
    page, drive_pages = plan.drive["device.page_bytes"], plan.drive["device.user_pages"]
    if plan.pages > drive_pages:
        message = (
            f"{argument('drive')}: it has {size(drive_pages * page)}, and the trace touches"
            f" {size(plan.pages * page)}: expected a drive with as much or more"
        )
        raise ConfigError([message])


def display_name(plan: Plan) -> str:
    """The drive by its name: of a file its title, or the file and the drive that it changes."""
    file, note = plan.drive.file, plan.drive["run.drive"]
    name = (plan.drive_name or DEFAULT_DRIVE).removeprefix(PREFIX)
    if file is None or not note:
        return name
    if own_title(name, file.read_text(encoding="utf-8")) or not is_changed(note):
        return title_of(note)
    return f"{file.name}, changed from {title_of(note)}"


def _drive(plan: Plan) -> str:
    """The drive in words."""
    device: Mapping[str, int] = plan.drive.values["device"]
    pool = scale.Pool.of(plan.drive)
    bytes_ = device["user_pages"] * device["page_bytes"]
    units = "superblocks" if pool.members > 1 else "blocks a pool"
    dies = device["channels"] * device["chips_per_channel"]
    return (
        f"{display_name(plan)} ({bytes_ / 1e9:,.0f} GB, {dies} dies,"
        f" {pool.blocks:,} {units}, OP {percent(pool.over_provisioning)})"
    )


def _read(plan: Plan) -> str:
    """How the trace was read, what it does, and whether it fits as it is."""
    sums, device = plan.totals, plan.drive.values["device"]
    page = device["page_bytes"]
    text = (
        f"{sums.file}: {sums.format}, {sums.requests:,} requests, which touch"
        f" {size(sums.pages * page)} and write {size(sums.bytes_written)}"
        f" in {duration(sums.duration_ns)}"
    )
    if sums.span_pages <= device["user_pages"]:
        return text
    if plan.drive["workload.volume"] == "all":
        return f"{text}. The trial puts the pages that its volumes touch side by side"
    return (
        f"{text}. Its addresses reach up to {size(sums.span_pages * page)}, beyond the"
        f" {size(device['user_pages'] * page)} of the drive, so the trial moves the pages that it"
        " touches together"
    )


def _form(plan: Plan) -> Form:
    pool = scale.Pool.of(plan.drive)
    devices = {policy: plan.device(policy) for policy in plan.policies}
    small = next(iter(devices.values()))
    spares = {
        policy: Spare(device.spare, scale.Pool.of(plan.drive_with(policy)).own_spare)
        for policy, device in devices.items()
    }
    return Form(
        pools=small.pools,
        blocks=small.blocks,
        pages=small.pages,
        drive_blocks=pool.blocks,
        drive_pages=pool.pages,
        spares=spares,
    )
