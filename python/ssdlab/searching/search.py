"""All rounds of a search, resumed where it stopped: `ssdlab.search`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ssdlab import policy
from ssdlab.config.given import typed
from ssdlab.config.resolve import ConfigLike, Source
from ssdlab.display.progress import display, say_before
from ssdlab.errors import ConfigError, Interrupted
from ssdlab.results import outputs
from ssdlab.results.folder import PAGE
from ssdlab.results.report import SUMMARY
from ssdlab.results.search import BEST, CSV, JSON, Goal, Search, Tried, tried_of
from ssdlab.running.kept import maker_of
from ssdlab.running.runner import Runner
from ssdlab.running.simulate import Plugs
from ssdlab.running.sweep_runs import Budget
from ssdlab.searching.constraint import constraint_of
from ssdlab.searching.design import (
    Case,
    Objective,
    Rung,
    SearchDesign,
    cases_of,
    check,
    check_apart,
    without_impossible,
)
from ssdlab.searching.judging import Judge
from ssdlab.searching.metric import metric_of
from ssdlab.searching.sampling import (
    PRUNERS,
    SAMPLERS,
    Asked,
    Chosen,
    Sampling,
    checked_name,
    library,
)
from ssdlab.searching.space import IF, Point, spaced
from ssdlab.searching.tested import test_notes, test_text, tested
from ssdlab.searching.trying import Runs, Who, name_of
from ssdlab.store.store import Store
from ssdlab.versions import described

TRIALS, PARALLEL, TEST_SEEDS = 100, 8, 5
SAMPLER, PRUNER = "tpe", "none"
FACTOR = 3
"""A rung has so many times the requests of the one before it."""
MOST_TESTED = 8
"""Points of a front that are tested."""
Across = Literal["mean", "worst"]


@dataclass(frozen=True)
class Sought:
    """How a search proceeds."""

    sampler: str = SAMPLER
    pruner: str = PRUNER
    trials: int = TRIALS
    parallel: int = PARALLEL
    seed: int = 0
    """Of the sampler."""
    budget: Budget | None = None

    def chosen(self, design: SearchDesign) -> Chosen:
        """What chooses the points."""
        maximize = tuple(one.maximize for one in design.objectives)
        return Chosen(
            self.sampler,
            self.pruner,
            maximize,
            self.seed,
            design.space,
            len(design.rungs),
            FACTOR,
        )


@typed
def search(
    config: ConfigLike,
    *,
    space: Mapping[str, object] | str,
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
    subject_to: str | Sequence[str] = (),
    traces: Sequence[str | Path] = (),
    test_traces: Sequence[str | Path] = (),
    across: Across = "mean",
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    seeds: int = 1,
    test_seeds: int = TEST_SEEDS,
    rungs: int = 1,
    sampler: str = SAMPLER,
    pruner: str | None = None,
    trials: int = TRIALS,
    parallel: int = PARALLEL,
    sampler_seed: int = 0,
    budget: str | int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    store: str | Path | Store | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool = True,
    html: bool = True,
    victim: policy.VictimLike | None = None,
    trigger: policy.Wants | None = None,
    concurrency: policy.Limits | None = None,
    placement: policy.Places | None = None,
    separation: policy.Separates | None = None,
) -> Search:
    """Search the space for the point at which a number is lowest, and test it.

    `space` maps keys to lists of values (policies in Python among them) or ranges ("0.05:0.3",
    "log:1:64", and those of `ssdlab.sweep`); a key may have a condition: {"gc.window if
    gc.path=copyback": "1:16"}. A parameter of a policy exists only with that policy. None as the
    values of a key are all of its words; "all" is everything.

    `minimize` and `maximize` name columns of comparisons or numbers of the report; of several
    objectives the Pareto front is sought. `subject_to` are bounds: "waf < 1.02 * greedy",
    "latency.read.p99_9 < 2 ms". References run the same requests with the same seeds.

    Points run `traces` (default: the requests of the configuration) with `seeds` seeds from `seed`
    on. Over several traces an objective is the geometric mean, or the `across="worst"` one, of the
    ratios to the configuration as it is. The best point, or front, is then tested on `test_traces`
    and with `test_seeds` other seeds.

    With `rungs` above 1 a point runs a part of the requests first, then all of them, then all
    seeds, and `pruner` gives up those that rank low on a rung. Optuna's `sampler` chooses the
    points, `parallel` of them at a time, until `trials` different points have been tried or the
    `budget` is spent. The same call with the same `out` resumes.

    Results depend on `seed`, `sampler_seed`, `sampler`, `pruner` and `parallel`, not on `jobs`. If
    no point meets the constraints, `best` is None and `nearest` the one that misses them by least.
    Ctrl-C raises `Interrupted`; its `search` is what is done. Raises `ConfigError`,
    `WorkloadError` and `OutputError`. The other arguments are those of `ssdlab.sweep`.
    """
    plugs = Plugs(victim, trigger, concurrency, placement, separation)
    given = {space: None} if isinstance(space, str) else space
    design = designed(
        config,
        given,
        minimize=_several(minimize),
        maximize=_several(maximize),
        subject_to=_several(subject_to),
        traces=traces,
        test_traces=test_traces,
        across=across,
        sets=set or {},
        seed=seed,
        seeds=seeds,
        test_seeds=test_seeds,
        rungs=rungs,
        plugs=plugs,
    )
    how = sought(design, sampler, pruner, trials, parallel, sampler_seed, budget)
    with maker_of(on, jobs, store, progress) as runner:
        done = run_search(
            design,
            how,
            runner,
            out=None if out is None else Path(out),
            force=force,
            progress=progress,
            html=html,
        )
    if done.interrupted:
        stopped = Interrupted(None, done.folder)
        stopped.search = done
        raise stopped
    return done


def _several(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else [*given]


def designed(
    config: ConfigLike,
    space: Mapping[str, object],
    *,
    minimize: Sequence[str] = (),
    maximize: Sequence[str] = (),
    subject_to: Sequence[str] = (),
    traces: Sequence[str | Path] = (),
    test_traces: Sequence[str | Path] = (),
    across: str = "mean",
    sets: Mapping[str, object],
    seed: int | None = None,
    seeds: int = 1,
    test_seeds: int = TEST_SEEDS,
    rungs: int = 1,
    plugs: Plugs,
) -> SearchDesign:
    """What a search runs. Raises `ConfigError`, or `WorkloadError` if a trace is missing."""
    objectives = [Objective(metric_of("--minimize", one)) for one in minimize]
    objectives += [Objective(metric_of("--maximize", one), True) for one in maximize]
    names = [one.metric.column.name for one in objectives]
    if not names:
        form = "such as --minimize latency.write.p99_9"
        raise ConfigError([f"nothing to search for: give an objective, {form}"])
    if len({*names}) < len(names):
        raise ConfigError(["--minimize, --maximize: a number is named twice"])
    for option, value, least in (
        ("seeds", seeds, 1),
        ("test-seeds", test_seeds, 2),
        ("rungs", rungs, 1),
    ):
        if value < least:
            raise ConfigError([f"--{option} {value}: expected at least {least}"])
    if across not in ("mean", "worst"):
        raise ConfigError([f"--across {across}: expected mean or worst"])
    if test_traces and not traces:
        raise ConfigError(["--test-trace: needs --trace, the traces to search on"])
    train = cases_of(traces) or (Case(""),)
    test = cases_of(test_traces) or train
    check_apart(train, cases_of(test_traces))
    source = Source(config)
    design = SearchDesign(
        source,
        spaced(space),
        tuple(objectives),
        tuple({c.text: c for c in map(constraint_of, subject_to)}.values()),
        train,
        test,
        (0,),
        (0,),
        rungs_of(rungs, seeds),
        sets,
        plugs,
        across == "worst",
    )
    begin = int(source.load({}, seed=seed)["run.seed"]) if seed is None else seed
    if seed is None and "run.seed" in sets:
        begin = int(str(sets["run.seed"]))
    if "run.seed" in {one.key for one in design.space.dimensions}:
        raise ConfigError(
            ["--space run.seed: seeds are no part of a space; --seeds repeats points"]
        )
    own = {key for key, values in space.items() if values is not None}
    heads = {key.split(IF)[0].strip() for key in own}
    wide = [one.key for one in design.space.dimensions if one.key not in heads]
    design = replace(
        design,
        seeds=tuple(range(begin, begin + seeds)),
        test_seeds=tuple(range(begin + seeds, begin + seeds + test_seeds)),
    )
    design.first  # noqa: B018 - a configuration that is wrong by itself is told first
    return without_impossible(design, wide) if any(v is None for v in space.values()) else design


def rungs_of(count: int, seeds: int) -> tuple[Rung, ...]:
    """So many rungs: shares of the requests with the first seed, all of them, then all seeds."""
    several = [Rung(1, seeds)]
    if seeds > 1 and count > 1:
        several.insert(0, Rung(1, 1))
    while len(several) < count:
        several.insert(0, Rung(several[0].divisor * FACTOR, 1))
    return tuple(several)


def sought(
    design: SearchDesign,
    sampler: str = SAMPLER,
    pruner: str | None = None,
    trials: int = TRIALS,
    parallel: int = PARALLEL,
    sampler_seed: int = 0,
    budget: str | int | None = None,
) -> Sought:
    """How a search proceeds. Raises `ConfigError`."""
    several = len(design.rungs) > 1
    name = checked_name(
        "--pruner", pruner or ("successive-halving" if several else PRUNER), PRUNERS
    )
    how = Sought(
        checked_name("--sampler", sampler, SAMPLERS),
        name,
        trials,
        parallel,
        sampler_seed,
        Budget.of(budget),
    )
    for option, value in (("trials", trials), ("parallel", parallel)):
        if value < 1:
            raise ConfigError([f"--{option} {value}: expected at least 1"])
    if name != "none" and not several:
        raise ConfigError([f"--pruner {name}: needs rungs to give points up on (--rungs 3)"])
    if several and len(design.objectives) > 1:
        message = (
            "--rungs: points of several objectives have no order, so none can be given up early"
        )
        raise ConfigError([message])
    how.chosen(design).sampler_of(0)
    return how


def run_search(
    design: SearchDesign,
    how: Sought,
    runner: Runner,
    *,
    out: Path | None = None,
    force: bool = False,
    progress: bool = True,
    html: bool = True,
) -> Search:
    """Search, or go on with the search that `out` holds, and write what is found there."""
    check(design, runner.here)
    if progress:
        say_before([*design.space.notes, *design.first.notes])
    identity = {
        "ssdlab": described(),
        "optuna": library().__version__,
        **design.identity(),
        "sampler": how.sampler,
        "pruner": how.pruner,
        "parallel": how.parallel,
        "sampler_seed": how.seed,
    }
    with ExitStack() as stack:
        runs = stack.enter_context(Runs(out, identity, design, runner, force=force))
        if progress:
            runs.progress = stack.enter_context(display()).run(f"{design.first.name}, searched")
        going = _Going(design, how, runs, Sampling(how.chosen(design), out), identity)
        going.all()
        done = going.done()
        if out is not None:
            _write(done, design, out, html)
    return done


@dataclass
class _Going:
    """A search that goes on."""

    design: SearchDesign
    how: Sought
    runs: Runs
    sampling: Sampling
    identity: dict[str, Any]
    results: dict[str, Tried] = field(default_factory=dict)
    """What is known of points, by name."""
    ending: str = ""

    def all(self) -> None:
        """Rounds, until something ends them."""
        begun = time.monotonic()
        judge = Judge(self.design, self.runs)
        for one in self.sampling.before:
            self.results.setdefault(one.user_attrs["point"], tried_of(one.user_attrs["tried"]))
        judge.refer(self.design.rungs[-1])
        while not self.runs.interrupted:
            left = self.how.trials - len(self.results)
            self.ending = self._spent(begun, left)
            if self.ending:
                return
            new = min(left, self.how.parallel)
            asked = self.sampling.ask(new, self._name, {*self.results})
            if all(one.name in self.results for one in asked):
                self.ending = "every point that the sampler finds has been tried"
                return
            self._round(judge, asked, whole=new == self.how.parallel)

    def _spent(self, begun: float, left: int) -> str:
        """Why no round begins; empty: one does."""
        budget, size = self.how.budget, self.design.space.size
        if left <= 0:
            return f"{self.how.trials:,} points have been tried (--trials)"
        if size is not None and len(self.results) >= size:
            return "every point of the space has been tried"
        if budget and budget.runs is not None and self.runs.count >= budget.runs:
            return "the budget is spent"
        if budget and budget.seconds is not None and time.monotonic() - begun >= budget.seconds:
            return "the budget is spent"
        return ""

    def _name(self, point: Point) -> str:
        return name_of(self.design.space.shown(point))

    def _round(self, judge: Judge, asked: Sequence[Asked], *, whole: bool) -> None:
        """Run the points of a round, rung after rung, and tell the sampler what came of them."""
        places: dict[str, int] = {}
        for at, one in enumerate(asked):
            if one.name not in self.results:
                places.setdefault(one.name, at)
        found: dict[str, Tried] = {}
        going = [*places]
        unsettled = dict.fromkeys(going, 0)
        for rung in range(len(self.design.rungs)):
            whos = {name: self._who(asked[places[name]]) for name in going}
            judged = judge.judge(whos, rung)
            if judged is None:
                return  # interrupted: the round is asked for again
            for name, tried in judged.items():
                found[name] = replace(tried, number=asked[places[name]].trial.number)
            going = [name for name in going if found[name].state == "completed"]
            if rung + 1 < len(self.design.rungs):
                going = self._promoted(judge, going, places, asked, rung, found, unsettled)
        self.results |= {name: replace(found[name], unsettled=unsettled[name]) for name in places}
        self.sampling.end(asked, [self.results[one.name] for one in asked], whole=whole)

    def _who(self, one: Asked) -> Who:
        return Who.of(self.design.space.shown(one.point), one.point)

    def _promoted(
        self,
        judge: Judge,
        going: Sequence[str],
        places: Mapping[str, int],
        asked: Sequence[Asked],
        rung: int,
        found: dict[str, Tried],
        unsettled: dict[str, int],
    ) -> list[str]:
        """Those that go on to the next rung. Runs that have not settled rank nothing."""
        ranked = {}
        for name in going:
            values = found[name].values
            assert values is not None, "a completed point has values"
            if judge.settled(self._who(asked[places[name]]), rung):
                ranked[places[name]] = values[0]
            else:
                unsettled[name] += 1
        given_up = self.sampling.report(ranked, asked, rung)
        for name in going:
            if places[name] in given_up:
                found[name] = replace(found[name], state="given up")
        return [name for name in going if places[name] not in given_up]

    def done(self) -> Search:
        """What has been found, tested."""
        design = self.design
        judge = Judge(design, self.runs)
        goals = tuple(Goal(o.metric.name, o.metric.column, o.maximize) for o in design.objectives)
        found = Search(
            design.first.name,
            goals,
            tuple(one.text for one in design.constraints),
            tuple(self.results.values()),
            judge.baseline(),
            importance=self.sampling.importance(),
            runs=self.runs.count,
            size=design.space.size,
            ending=self.ending,
            notes=design.space.notes,
            identity=self.identity,
        )
        several = [(one, self._of(one)) for one in found.front[:MOST_TESTED]]
        results = tested(design, self.runs, several) if not self.runs.interrupted else ()
        return replace(
            found,
            tested=results,
            test=test_text(design),
            runs=self.runs.count,
            notes=(*found.notes, *test_notes(design)),
            interrupted=self.runs.interrupted,
            folder=self.runs.folder,
        )

    def _of(self, one: Tried) -> Who:
        return Who.of(one.point, self.design.space.point_of(one.point))


def _write(done: Search, design: SearchDesign, folder: Path, html: bool) -> None:
    """Write the tables, the best points, the summary and the page. Raises `OutputError`."""
    files = {CSV: outputs.text(done.to_csv()), SUMMARY: outputs.text(done.summary())}
    for one in done.front:
        name = BEST if len(done.goals) == 1 else f"front/{one.number}.toml"
        files[name] = outputs.text(_toml(done, design, one))
    if html:
        from ssdlab.html.search_page import search_page  # needs numpy, which is slow to import

        files[PAGE] = outputs.text(search_page(done))
    files[JSON] = outputs.text(done.to_json())
    outputs.write_all({folder / name: one for name, one in files.items()}, force=True)


def _toml(done: Search, design: SearchDesign, one: Tried) -> str:
    """A point as a configuration that `ssdlab run` takes."""
    point = design.space.point_of(one.point)
    config, policies = design.loaded(point, design.train[0], design.seeds[0])
    lines = [
        f"# {one.label}",
        f"# trial {one.number} of a search for {', '.join(g.name for g in done.goals)}",
    ]
    lines += [
        f"# {key}: {policy.label_of(made)}, a policy in Python: pass it with {key.split('.')[1]}="
        for key, made in policies.given.items()
    ]
    return "\n".join(lines) + "\n\n" + config.toml()
