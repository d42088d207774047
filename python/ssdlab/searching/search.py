"""All rounds of a search, resumed where it stopped: `ssdlab.search`."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ssdlab import policy
from ssdlab.config.given import typed
from ssdlab.config.resolve import ConfigLike
from ssdlab.display.argument import argument
from ssdlab.display.progress import display, warn_before_run
from ssdlab.errors import ConfigError, Interrupted
from ssdlab.results import outputs
from ssdlab.results.names import BEST, FRONT, PAGE, SEARCH_JSON, SUMMARY, TRIALS_CSV
from ssdlab.results.search import Goal, Search, Tried, tried_of
from ssdlab.running.making import Making
from ssdlab.running.runner import Runner
from ssdlab.running.sweep_runs import Budget
from ssdlab.searching.constraint import BASELINE
from ssdlab.searching.design import SearchDesign, check
from ssdlab.searching.judging import Judge, reference
from ssdlab.searching.plan import FACTOR, TEST_SEEDS, Goals, Requests, designed
from ssdlab.searching.sampling import (
    MOST_REPEATS,
    PRUNERS,
    SAMPLERS,
    UNBIASED,
    Asked,
    Chosen,
    Sampling,
    checked_name,
    library,
)
from ssdlab.searching.space import Point
from ssdlab.searching.tested import invalid_on_test, test_notes, test_text, tested
from ssdlab.searching.trying import Runs, Who, name_of
from ssdlab.store.store import Store
from ssdlab.versions import described

TRIALS, PARALLEL = 100, 8
SAMPLER, PRUNER = "tpe", "none"
MOST_TESTED = 8
"""Points of a front that are tested."""
DRAWN, OF_TRIALS = 24, 4
"""Points drawn at random to determine which keys decide. Those missing from the first rounds are
drawn after the last one: at most one in this many trials."""


@dataclass(frozen=True)
class Sought:
    """How a search proceeds."""

    sampler: str = SAMPLER
    pruner: str = PRUNER
    trials: int = TRIALS
    parallel: int = PARALLEL
    seed: int = 0
    """The seed of the sampler."""
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
    across: str = "mean",
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    seeds: int = 1,
    test_seeds: int = TEST_SEEDS,
    rungs: int = 1,
    sampler: str = SAMPLER,
    sampler_seed: int = 0,
    pruner: str | None = None,
    trials: int = TRIALS,
    parallel: int = PARALLEL,
    budget: str | int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    store: str | Path | Store | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool = True,
    html: bool = True,
) -> Search:
    """Search the space for the point at which a number is lowest, and test it.

    `space` maps keys, which may have conditions ("gc.window if gc.path=copyback"), to lists of
    values, policies in Python among them, or to ranges ("0.05:0.3", "log:1:64", and those of
    `ssdlab.sweep`). None stands for all words of a key, "all" for everything. `minimize` and
    `maximize` name columns of comparisons or numbers of the report; of several the Pareto front is
    sought. `subject_to` are bounds such as "waf < 1.02 * greedy".

    Points run `traces`, or the requests of the configuration, with `seeds` seeds from `seed` on.
    Over several traces an objective is the mean, or the `across="worst"` one, of the ratios to the
    configuration as it is. The best is then tested on `test_traces` with `test_seeds` other seeds.

    Optuna's `sampler` chooses the points, `parallel` at a time, until `trials` different ones have
    been tried or the `budget` is spent. With `rungs` above 1 they make a part of their runs first,
    and `pruner` gives some up. The result does not depend on `jobs`; the same call with the same
    `out` resumes (docs/search.md).

    If no point meets the bounds, `best` is None and `nearest` the one that misses them by least.
    Ctrl-C raises `Interrupted`; its `search` is what is done. Raises `ConfigError`,
    `WorkloadError` and `OutputError`. The other arguments are those of `ssdlab.sweep`.
    """
    given = {space: None} if isinstance(space, str) else space
    goals = Goals(_several(minimize), _several(maximize), _several(subject_to))
    asked = Requests(traces, test_traces, across, seed, seeds, test_seeds, rungs)
    design = designed(config, given, goals, asked, set or {})
    how = sought(design, sampler, pruner, trials, parallel, sampler_seed, budget)
    making = Making(on, jobs, store, out, force, progress, html)
    with making.runner() as runner:
        done = run_search(design, how, runner, making)
    if done.interrupted:
        raise Interrupted(None, done.folder, search=done)
    return done


def _several(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else [*given]


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
    name = checked_name("pruner", pruner or ("successive-halving" if several else PRUNER), PRUNERS)
    how = Sought(
        checked_name("sampler", sampler, SAMPLERS),
        name,
        trials,
        parallel,
        sampler_seed,
        Budget.of(budget),
    )
    for option, value in (("trials", trials), ("parallel", parallel)):
        if value < 1:
            raise ConfigError([f"{argument(**{option: value})}: expected at least 1"])
    if name != "none" and not several:
        raise ConfigError(
            [f"{argument(pruner=name)}: needs rungs to give points up on ({argument(rungs=3)})"]
        )
    if several and len(design.objectives) > 1:
        message = (
            f"{argument('rungs')}: points of several objectives have no order, so none can be given"
            " up early"
        )
        raise ConfigError([message])
    how.chosen(design).sampler_of(0)
    return how


def run_search(design: SearchDesign, how: Sought, runner: Runner, making: Making) -> Search:
    """Search, or continue the search in its folder, and write the results there."""
    check(design, runner.here)
    if making.progress:
        warn_before_run([*design.space.notes, *design.first.notes])
    identity = {
        "ssdlab": described(),
        "optuna": library().__version__,
        **design.identity(),
        "sampler": how.sampler,
        "pruner": how.pruner,
        "parallel": how.parallel,
        "sampler_seed": how.seed,
    }
    out = making.folder
    with ExitStack() as stack:
        runs = stack.enter_context(Runs(out, identity, design, runner, force=making.force))
        if making.progress:
            shown, label = stack.enter_context(display()), f"{design.first.name}, searched"
            runs.progress, runs.note = shown.run(label), partial(shown.note, label)
        going = _Going(design, how, runs, Sampling(how.chosen(design), out), identity)
        going.all()
        done = going.done()
        if out is not None:
            _write(done, design, out, making.html)
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
            left = self.how.trials - self._lacking - len(self.results)
            self.ending = self._spent(begun, left)
            if self.ending:
                break
            new = min(left, self.how.parallel)
            asked = self.sampling.ask(new, self._name, {*self.results})
            if all(one.name in self.results for one in asked):
                self.ending = "every point that the sampler finds has been tried"
                break
            self._round(judge, asked, whole=new == self.how.parallel)
        if not self.runs.interrupted and not self._is_budget_spent(begun):
            self._draw(judge, self._lacking)

    @property
    def _lacking(self) -> int:
        """How many trials are left for random points after the last round."""
        size = self.design.space.size
        if self.how.sampler in UNBIASED or (size is not None and size <= self.how.trials):
            return 0
        ran = sum(one.drawn and one.state == "completed" for one in self.results.values())
        return min(max(DRAWN - ran, 0), self.how.trials // OF_TRIALS)

    def _draw(self, judge: Judge, more: int) -> None:
        """Draw more random points, which the sampler does not see, to determine which keys decide.

        Points that have been tried are drawn like any others, and cost nothing.
        """
        drawn = {name for name, one in self.results.items() if one.drawn}
        stream, points = random.Random(f"{self.how.seed} what decides"), dict[str, Point]()
        for _ in range(MOST_REPEATS * more):
            point = self.design.space.drawn(stream)
            if (name := self._name(point)) not in drawn and len(points) < more:
                points[name] = point
        new = {name: self._who(points[name]) for name in points if name not in self.results}
        judged = judge.judge(new, len(self.design.rungs) - 1)
        if judged is None:
            return  # interrupted: they are drawn again
        first = 1 + max((one.number for one in self.results.values()), default=-1)
        self.results |= {
            name: replace(judged[name], number=first + i) for i, name in enumerate(new)
        }
        self.results |= {name: replace(self.results[name], drawn=True) for name in points}

    def _spent(self, begun: float, left: int) -> str:
        """Why no round begins; empty if one does."""
        size = self.design.space.size
        if left <= 0:
            return f"all {self.how.trials:,} trials are spent ({argument('trials')})"
        if size is not None and len(self.results) >= size:
            return "every point of the space has been tried"
        return "the budget is spent" if self._is_budget_spent(begun) else ""

    def _is_budget_spent(self, begun: float) -> bool:
        budget = self.how.budget
        if budget is None:
            return False
        runs, seconds = budget.runs, budget.seconds
        late = seconds is not None and time.monotonic() - begun >= seconds
        return late or (runs is not None and self.runs.count >= runs)

    def _name(self, point: Point) -> str:
        return name_of(self.design.space.shown(point))

    def _round(self, judge: Judge, asked: Sequence[Asked], *, whole: bool) -> None:
        """Run the points of a round, rung after rung, and report the results to the sampler."""
        places: dict[str, int] = {}
        for at, one in enumerate(asked):
            if one.name not in self.results:
                places.setdefault(one.name, at)
        found: dict[str, Tried] = {}
        going = [*places]
        unsettled = dict.fromkeys(going, 0)
        for rung in range(len(self.design.rungs)):
            whos = {name: self._who(asked[places[name]].point) for name in going}
            judged = judge.judge(whos, rung)
            if judged is None:
                return  # interrupted: the round is asked for again
            for name, tried in judged.items():
                place = asked[places[name]]
                found[name] = replace(tried, number=place.trial.number, drawn=place.drawn)
            going = [name for name in going if found[name].state == "completed"]
            if rung + 1 < len(self.design.rungs):
                going = self._promoted(judge, going, places, asked, rung, found, unsettled)
        self.results |= {name: replace(found[name], unsettled=unsettled[name]) for name in places}
        self.sampling.end(asked, [self.results[one.name] for one in asked], whole=whole)

    def _who(self, point: Point) -> Who:
        return Who.of(self.design.space.shown(point), point)

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
        """Those that continue on the next rung. Runs that have not settled rank nothing."""
        ranked = {}
        for name in going:
            values = found[name].values
            assert values is not None, "a completed point has values"
            if judge.settled(self._who(asked[places[name]].point), rung):
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
            runs=self.runs.count,
            size=design.space.size,
            ending=self.ending,
            notes=design.space.notes,
            identity=self.identity,
        )
        found = self._tested(found)
        invalid = {BASELINE: judge.invalid(reference(BASELINE))} if self.results else {}
        if found.tested:
            invalid |= {
                f"{name} on the test": invalid_on_test(design, self.runs, reference(name))
                for name in design.references
            }
        return replace(
            found,
            invalid={name: why for name, why in invalid.items() if why},
            test=test_text(design),
            runs=self.runs.count,
            notes=(*found.notes, *test_notes(design)),
            interrupted=self.runs.interrupted,
            folder=self.runs.folder,
        )

    def _tested(self, found: Search) -> Search:
        """`found` with its best points tested; invalid ones are replaced by the next."""
        while True:
            several = [(one, self._of(one)) for one in found.front[:MOST_TESTED]]
            results = tested(self.design, self.runs, several)
            if not results:
                return found
            why = {o.number: invalid_on_test(self.design, self.runs, who) for o, who in several}
            if not any(why.values()):
                return replace(found, tested=results)
            trials = (
                replace(one, state="invalid", why=f"on the test {text}")
                if (text := why.get(one.number))
                else one
                for one in found.trials
            )
            found = replace(found, trials=tuple(trials))

    def _of(self, one: Tried) -> Who:
        return Who.of(one.point, self.design.space.point_of(one.point))


def _write(done: Search, design: SearchDesign, folder: Path, html: bool) -> None:
    """Write the tables, the best points, the summary and the page. Raises `OutputError`."""
    files = {TRIALS_CSV: outputs.text(done.to_csv()), SUMMARY: outputs.text(done.summary())}
    for one in done.front:
        name = BEST if len(done.goals) == 1 else f"{FRONT}/{one.number}.toml"
        files[name] = outputs.text(_toml(done, design, one))
    if html:
        from ssdlab.html.search_page import search_page  # needs numpy, which is slow to import

        files[PAGE] = outputs.text(search_page(done))
    files[SEARCH_JSON] = outputs.text(done.to_json())
    outputs.write_all({folder / name: one for name, one in files.items()}, force=True)


def _toml(done: Search, design: SearchDesign, one: Tried) -> str:
    """A point as a configuration for `ssdlab run`."""
    point = design.space.point_of(one.point)
    config, policies = design.loaded(point, design.train[0], design.seeds[0])
    lines = [
        f"# {one.label}",
        f"# trial {one.number} of a search for {', '.join(g.name for g in done.goals)}",
    ]
    lines += [
        f"# {key}: {policy.label_of(made)}, a policy in Python: pass it with {key.split('.')[1]}="
        for key, made in policies.by_key.items()
    ]
    return "\n".join(lines) + "\n\n" + config.file_text()
