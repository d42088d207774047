"""The least over-provisioning of a drive that meets bounds: `ssdlab.plan_drive`.

Every over-provisioning that is tried is predicted as `try` predicts a drive. Few are tried: where a
policy meets all bounds, less is tried next, otherwise more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ssdlab.config.endurance import raw_bytes
from ssdlab.config.files import title_of_file
from ssdlab.config.given import typed
from ssdlab.config.quantity import quantity
from ssdlab.config.resolve import DEFAULT_DRIVE, Config, ConfigLike, load_config, options
from ssdlab.display.argument import argument
from ssdlab.display.numbers import size
from ssdlab.errors import ConfigError, Interrupted
from ssdlab.results.folder import draft, keep_with_page
from ssdlab.results.lifetime import Interval
from ssdlab.results.names import DRIVE_FILE, PLAN_JSON, SUMMARY
from ssdlab.results.spare_plan import Bound, Outcome, SparePlan, Step
from ssdlab.results.tail import Tail
from ssdlab.results.trial import Trial
from ssdlab.running import trial as trials
from ssdlab.running import trial_plan
from ssdlab.running.compare_runs import check_seeds
from ssdlab.running.execution import Execution
from ssdlab.running.runner import Runner
from ssdlab.store.store import Store

STEPS: Final = tuple(
    percent / 100
    for percent in (4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 28, 34, 40, 48, 56, 68, 80, 100)
)
"""What is tried: each about a fifth more than the one before."""
TIMED_SEEDS = 3
"""Seeds of the timed runs: Student's intervals of two are too wide to meet a bound."""
BUDGET_S = 10.0
"""Seconds for one over-provisioning, after which no further seed begins."""
SIZED = (
    "device.chips_per_channel",
    "device.blocks_per_plane",
    "device.over_provisioning",
    "device.user_capacity",
)
"""Keys that follow from capacity and over-provisioning."""
NEAR = 1e-3
"""A capacity that is as near as this to that of the drive is that of the drive."""


@dataclass(frozen=True)
class PlanRequest:
    """What a plan is to find, before anything runs."""

    trial: trial_plan.Plan
    """Of the drive with the capacity that was asked for, at its own over-provisioning."""
    bounds: tuple[Bound, ...]
    provision: float
    """That of the drive."""
    steps: tuple[float, ...]
    """Those that the drive can have, ascending."""

    def trial_at(self, provision: float) -> trial_plan.Plan:
        """The trial at an over-provisioning."""
        pages = self.trial.drive["device.user_pages"]
        return _with_drive(self.trial, sized(self.trial.drive, pages, provision))


def sized(drive: Config, pages: int, provision: float) -> Config:
    """A drive with so many user pages and such an over-provisioning.

    Its dies are in proportion to the capacity, as whole chips of every channel; the blocks of a
    plane make up for the rest.
    """
    device = drive.values["device"]
    chips = max(1, round(device["chips_per_channel"] * pages / device["user_pages"]))
    planes = device["channels"] * chips * device["planes_per_chip"]
    blocks = math.ceil(pages * (1 + provision) / planes / device["pages_per_block"] - 0.5)
    keys = {
        "device.chips_per_channel": chips,
        "device.blocks_per_plane": blocks,
        "device.user_capacity": f"{pages * device['page_bytes']} B",
    }
    return load_config(drive, set=keys)


def _with_drive(plan: trial_plan.Plan, drive: Config) -> trial_plan.Plan:
    keys = {key: value for key, value in plan.given.items() if key not in SIZED}
    return replace(plan, drive=drive, given=keys)


@typed
def plan_drive(
    trace: str | Path,
    *,
    drive: ConfigLike = DEFAULT_DRIVE,
    capacity: str | int | None = None,
    p99_9: str | int | None = None,
    years: float | None = None,
    waf: float | None = None,
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
) -> SparePlan:
    """Find the least over-provisioning of a drive, and the policy, that meet bounds under a trace.

    The bounds, at least one: `p99_9` of reads and of writes, with updates as recorded ("5 ms", or
    nanoseconds), the `years` that the flash must last, and write amplification `waf`. `capacity` is
    what the host may use ("1.92 TB", or bytes; default: that of the drive). The host writes as much
    a day as in the trace, or `set={"wear.daily_writes": "500 GB"}`. Every over-provisioning is
    predicted as in `ssdlab.try_trace`, which describes the other arguments; `budget_s` is for each
    of them.
    """
    if seeds is not None:
        check_seeds(seeds)
    bounds = bounds_of(p99_9, years, waf)
    request = ask(
        trace,
        bounds,
        drive=drive,
        capacity=capacity,
        policies=policies,
        set=set,
        progress=progress,
    )
    execution = Execution(on, jobs, store, out, force, progress, html)
    with execution.runner(len(request.trial.policies)) as runner:
        result = run_plan(request, runner, execution, seeds, budget_s)
    if result.interrupted:
        raise Interrupted(None, result.folder, plan=result)
    return result


def bounds_of(p99_9: str | int | None, years: float | None, waf: float | None) -> tuple[Bound, ...]:
    """The bounds that were given; raises `ConfigError` if there are none, or wrong ones."""
    errors, bounds = [], []
    if waf is not None:
        if not (waf >= 1 and math.isfinite(waf)):
            errors.append(
                f"{argument(waf=_plain(waf))}: expected a write amplification of at least 1"
            )
        bounds.append(Bound("waf", waf))
    if years is not None:
        if not (years > 0 and math.isfinite(years)):
            errors.append(f"{argument(years=_plain(years))}: expected a number of years above 0")
        bounds.append(Bound("years", years))
    if p99_9 is not None:
        amount = quantity(p99_9)
        if amount is None or amount[0] <= 0 or (isinstance(p99_9, str) and amount[1] != "ns"):
            errors.append(f"{_p99_9(p99_9)}: expected a time with its unit, such as 5ms")
        else:
            bounds.append(Bound("p99_9", float(amount[0])))
    if not errors and not bounds:
        examples = ", ".join((_p99_9("5ms"), argument(years=5), argument(waf=2)))
        errors.append(f"nothing bounds the over-provisioning: give at least one of {examples}")
    if errors:
        raise ConfigError(errors)
    return tuple(bounds)


def _plain(value: float) -> float:
    """A number as it was given: without `.0` if it is whole."""
    return int(value) if math.isfinite(value) and value == int(value) else value


def _p99_9(value: object) -> str:
    return argument(p99_9=value)


def ask(
    trace: str | Path,
    bounds: tuple[Bound, ...],
    *,
    drive: ConfigLike = DEFAULT_DRIVE,
    capacity: str | int | None = None,
    policies: Mapping[str, Mapping[str, object]] | None = None,
    set: Mapping[str, object] | None = None,
    progress: bool = True,
) -> PlanRequest:
    """What `plan_drive` searches: the trace is read, nothing is simulated.

    Raises `ConfigError` for what the drive cannot have, and for bounds that lack a figure.
    """
    plan = trial_plan.plan_trial(trace, drive=drive, policies=policies, set=set, progress=progress)
    device = plan.drive.values["device"]
    drive_pages, page = device["user_pages"], device["page_bytes"]
    pages = drive_pages if capacity is None else capacity_bytes(capacity) // page
    if abs(pages / drive_pages - 1) < NEAR:
        pages = drive_pages
    if capacity is None:
        trials.check_room(plan)
    if pages < plan.pages:
        raise ConfigError(
            [
                f"{argument(capacity=capacity)}: the trace touches {size(plan.pages * page)}:"
                " expected as much or more"
            ]
        )
    if any(bound.name == "years" for bound in bounds):
        _check_lifetime(plan)
    provision = raw_bytes(plan.drive) / drive_pages / page - 1
    try:
        return _request_for(plan, bounds, pages, provision)
    except ConfigError:
        if capacity is None:
            raise
        raise ConfigError([_impossible(plan, bounds, pages, provision, capacity)]) from None


def _request_for(
    plan: trial_plan.Plan, bounds: tuple[Bound, ...], pages: int, provision: float
) -> PlanRequest:
    """What is searched on a drive with so many user pages. Raises `ConfigError`."""
    trial = _with_drive(plan, sized(plan.drive, pages, provision))
    request = PlanRequest(trial, bounds, provision, ())
    # What is too little for the reserve, or for the blocks that a policy holds open.
    refusals = [*itertools.takewhile(bool, (_refusal(request, step) for step in STEPS))]
    if len(refusals) == len(STEPS):
        raise ConfigError(refusals[-1])
    return replace(request, steps=STEPS[len(refusals) :])


def _impossible(
    plan: trial_plan.Plan,
    bounds: tuple[Bound, ...],
    pages: int,
    provision: float,
    capacity: str | int,
) -> str:
    """A message about a capacity that the drive cannot have: it names the nearest that it can."""
    device = plan.drive.values["device"]
    drive_pages, page = int(device["user_pages"]), int(device["page_bytes"])

    def is_possible(page_count: float) -> bool:
        try:
            _request_for(plan, bounds, round(page_count), provision)
        except ConfigError:
            return False
        return True

    bad, good = float(pages), float(drive_pages)
    while not 0.9 < bad / good < 1.1:
        middle = math.sqrt(bad * good)
        bad, good = (bad, middle) if is_possible(middle) else (middle, good)
    # Blocks are whole, so a size between two that the drive can have may be impossible, too.
    unit = 10.0 ** (math.floor(math.log10(good * page)) - 1)
    direction, rounding = ("larger", math.ceil) if pages < drive_pages else ("smaller", math.floor)
    nearest = rounding(good * page / unit)
    while not is_possible(nearest * unit / page):
        nearest += 1 if pages < drive_pages else -1
    name, factor = ("TB", 1e12) if nearest * unit >= 1e12 else ("GB", 1e9)
    return (
        f"{argument(capacity=capacity)}: the drive cannot have this size with its dies and blocks:"
        f" expected a {direction} one, such as {nearest * unit / factor:.4g}{name}"
    )


def capacity_bytes(capacity: str | int) -> int:
    """Bytes of a capacity that was asked for. Raises `ConfigError`."""
    amount = quantity(capacity)
    if amount is None or amount[0] <= 0 or (isinstance(capacity, str) and amount[1] != "bytes"):
        message = f"{argument(capacity=capacity)}: expected a size with its unit, such as 1.92TB"
        suggestions = [f"{str(capacity).strip().upper()}{suffix}" for suffix in ("B", "iB")]
        sizes = [quantity(text) for text in suggestions]
        if all(size is not None and size[0] > 0 and size[1] == "bytes" for size in sizes):
            message = f"{message}; did you mean {' or '.join(suggestions)}?"
        raise ConfigError([message])
    return int(amount[0])


def _check_lifetime(plan: trial_plan.Plan) -> None:
    """Raise `ConfigError` if there are no years: figures contradict each other, or are missing."""
    lifetime = plan.lifetime
    if lifetime.contradiction:
        raise ConfigError([f"{argument('years')}: {lifetime.contradiction}"])
    if lifetime.endurance.cycles is None:
        raise ConfigError([f"{argument('years')}: {lifetime.endurance.text}"])
    if lifetime.daily_bytes is None:
        message = (
            f"{argument('years')}: the requests of {plan.trace} span no time, so what the host"
            f" writes in a day is unknown: {argument(set='wear.daily_writes=500GB')}"
        )
        raise ConfigError([message])


def _refusal(request: PlanRequest, provision: float) -> Sequence[str]:
    """Why the drive cannot have an over-provisioning; empty if it can."""
    try:
        plan = request.trial_at(provision)
        plan.functional_runs(1, 1)
    except ConfigError as error:
        return error.messages
    return ()


def run_plan(
    request: PlanRequest, runner: Runner, execution: Execution, seeds: int | None, budget_s: float
) -> SparePlan:
    """Search, up to Ctrl-C."""
    search = _Search(request, runner, execution.progress, seeds, budget_s)
    if execution.folder is None:
        return search.plan(None)
    with draft(execution.folder, execution.force) as staging:
        result = search.plan(staging.path)
        if answer := result.answer:
            result = replace(result, drive_file=str(execution.folder / DRIVE_FILE))
            staging.write(DRIVE_FILE, _drive_file(request, answer[0], answer[1].policy))
        staging.settle(result.completed)
        staging.write(PLAN_JSON, result.to_json())
        staging.write(SUMMARY, result.summary())
        keep_with_page(staging, (lambda: _page(result)) if execution.html else None)
    return replace(result, folder=staging.target)


def _page(result: SparePlan) -> str:
    from ssdlab.html.spare_page import spare_page  # needs numpy, which is slow to import

    return spare_page(result)


def _drive_file(request: PlanRequest, step: Step, policy: str) -> str:
    """The drive of the answer, for other commands."""
    plan = request.trial_at(step.provision)
    cycles = None if plan.contradiction else plan.endurance.cycles
    wear = {} if cycles is None else {"wear.endurance": round(cycles)}
    return load_config(plan.drive_with(policy), set=wear).file_text()


@dataclass
class _Search:
    """The search for the least over-provisioning."""

    request: PlanRequest
    runner: Runner
    progress: bool
    seeds: int | None
    budget_s: float
    interrupted: bool = False

    def plan(self, folder: Path | None) -> SparePlan:
        """All that is tried, with the files in `folder`."""
        request, failures, steps, doubt = self.request, dict[str, str](), dict[int, Step](), ""
        remedy = ""
        while (index := self._next(steps)) is not None:
            step, trial, step_failures = self._try_step(request.steps[index], folder)
            failures |= step_failures
            if self.interrupted:
                break
            steps[index] = step
            if not step.outcomes and len(steps) == 1:
                doubt = (*trial.doubts, *step.doubts, "no run could finish")[0]
                remedy = trial.remedy
                break
            if any(outcome.doubt == trials.TOO_SMALL for outcome in step.outcomes):
                doubt = "" if self._plan_of(steps.values()).answer else trials.TOO_SMALL
                break
        plan = self._plan_of(steps.values())
        if not doubt and plan.answer is None and plan.steps:
            # A latency that the trials cannot tell is no bound that is missed.
            doubts = [outcome.doubt for outcome in plan.steps[-1].outcomes]
            doubt = doubts[0] if doubts and all(doubts) else ""
        plan = replace(plan, doubt=doubt, remedy=remedy, failures=failures)
        return replace(plan, interrupted=self.interrupted)

    def _next(self, results: Mapping[int, Step]) -> int | None:
        """The step to try next, among those of `request`; None when nothing is left to try.

        The first is near the spare of the drive; then halves the steps between the answer so far
        and the largest one below it. At last the one above the answer is tried, which confirms it.
        """
        steps, provision = self.request.steps, self.request.provision
        if not results:
            return min(range(len(steps)), key=lambda index: abs(math.log(steps[index] / provision)))
        answer = self._plan_of(results.values()).answer
        high = len(steps) if answer is None else steps.index(answer[0].provision)
        low = 1 + max((index for index in results if index < high), default=-1)
        if low < high:
            return (low + high) // 2
        return high + 1 if high + 1 < len(steps) and high + 1 not in results else None

    def _plan_of(self, steps: Iterable[Step]) -> SparePlan:
        plan = self.request.trial
        return SparePlan(
            name=title_of_file(plan.trace),
            trace=plan.trace,
            drive_name=plan.drive_name or DEFAULT_DRIVE,
            provision=self.request.provision,
            lifetime=plan.lifetime,
            bounds=self.request.bounds,
            steps=tuple(sorted(steps, key=lambda step: step.provision)),
            refused=plan.refused,
            drive_title=trials.display_name(plan),
            warnings=plan.totals.warnings,
            options=options(plan.given),
        )

    def _try_step(
        self, provision: float, folder: Path | None
    ) -> tuple[Step, Trial, dict[str, str]]:
        """An over-provisioning: what each policy reaches; its trial; and what failed."""
        plan = self.request.trial_at(provision)
        subfolder = None if folder is None else folder / f"spare-{100 * provision:.0f}"
        arguments = self.seeds, self.budget_s, trials.SEEDS.start, BUDGET_S
        runs = trials.Runs(plan, self.runner, self.progress, *arguments)
        predicted = runs.predicted(subfolder)
        self.interrupted = predicted.interrupted
        outcomes = self._outcomes(plan, predicted)
        doubts = _doubts(predicted, outcomes, plan.touched)
        step = Step(provision, raw_bytes(plan.drive), outcomes, doubts)
        if not self.interrupted:
            step = replace(
                step, outcomes=tuple(self._with_latency(step, predicted, runs, subfolder))
            )
            self.interrupted = runs.interrupted
        prefix = f"{100 * provision:.0f} %"
        return (
            step,
            predicted,
            {f"{prefix}: {title}": reason for title, reason in runs.failures.items()},
        )

    def _outcomes(self, plan: trial_plan.Plan, predicted: Trial) -> tuple[Outcome, ...]:
        """Of the policies that can be judged, the one that writes least first.

        Write amplification is from the lowest end to the highest under both orders of updates, and
        the order of the policies that of the middles. A policy that is extrapolated too far under
        either order has its widest intervals, and can be judged only where even these miss a bound.
        """
        rankings = predicted.rankings.values()
        unclear = {policy for ranking in rankings for policy in ranking.unclear}
        outcomes = []
        for policy in predicted.policies:
            predictions = [ranking.predicted[policy] for ranking in rankings]
            intervals = [
                prediction.widest if policy in unclear else prediction.interval
                for prediction in predictions
            ]
            if None in intervals:
                continue
            ends = [end for interval in intervals for end in interval or ()]
            waf = Interval(min(ends), max(ends))
            years = plan.lifetime.years(waf)
            values = {"waf": waf} | ({} if years is None else {"years": years})
            verdicts = {bound.verdict(values.get(bound.name)) for bound in self.request.bounds}
            if policy not in unclear or "missed" in verdicts:
                outcomes.append(Outcome(policy, values))
        return tuple(sorted(outcomes, key=lambda outcome: sum(outcome.values["waf"])))

    def _with_latency(
        self, step: Step, predicted: Trial, runs: trials.Runs, folder: Path | None
    ) -> list[Outcome]:
        """The outcomes; those that meet the other bounds get their latency, until one meets all."""
        outcomes = list(step.outcomes)
        other_bounds = [bound for bound in self.request.bounds if bound.name != "p99_9"]
        limit = next((bound for bound in self.request.bounds if bound.name == "p99_9"), None)
        for i, outcome in enumerate(outcomes if limit else []):
            if any(
                bound.verdict(outcome.values.get(bound.name)) != "met" for bound in other_bounds
            ):
                continue
            subfolder = None if folder is None else folder / f"latency-{i}"
            timed = runs.timed(predicted, [outcome.policy], subfolder, TIMED_SEEDS)
            doubt = timed.doubts.get(outcome.policy, "")
            tail = None if doubt else _tail_of(timed, outcome.policy)
            if tail is None:
                doubt = doubt or "too few requests for a p99.9"
                outcomes[i] = replace(outcome, doubt=doubt)
            else:
                values = {**outcome.values, "p99_9": tail.interval}
                outcomes[i] = replace(outcome, values=values, tail=tail)
            if runs.interrupted or (
                limit and limit.verdict(outcomes[i].values.get("p99_9")) == "met"
            ):
                break
        return outcomes


def _doubts(predicted: Trial, outcomes: Sequence[Outcome], touched: float) -> tuple[str, ...]:
    """Why policies of a step could not be judged. The trace touches `touched` bytes."""
    unsettled = predicted.unsettled()
    judged = {outcome.policy for outcome in outcomes}
    unjudged = {label for label in predicted.policies if label not in judged}
    if not unjudged and not predicted.unpredicted:
        return ()
    unclear = {
        phases: {policy: share for policy, share in ranking.unclear.items() if policy in unjudged}
        for phases, ranking in predicted.rankings.items()
    }
    extrapolations = trials.extrapolation_doubts(unclear, touched)
    return tuple(dict.fromkeys((*predicted.doubts, *unsettled, *extrapolations)))


def _tail_of(timed: trials.TimedRuns, policy: str) -> Tail | None:
    """The 99.9th percentile of reads or of writes, the slower of them; None if it is not known."""
    by_seed = {} if timed.runs is None else timed.runs.repetitions.get(policy, {})
    both = ((run.latency.read, run.latency.write) for run in by_seed.values())
    return Tail.of(both, is_bounded=policy in timed.bounded)
