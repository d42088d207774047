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
from ssdlab.running.execution import Execution
from ssdlab.running.runner import Runner
from ssdlab.running.sweep_runs import Budget
from ssdlab.searching.constraint import BASELINE
from ssdlab.searching.design import SearchDesign, check
from ssdlab.searching.judging import Judge, reference
from ssdlab.searching.plan import FACTOR, TEST_SEEDS, Goals, Requests, design_search
from ssdlab.searching.sampling import (
    MOST_REPEATS,
    PRUNERS,
    SAMPLERS,
    UNBIASED,
    Sampling,
    Strategy,
    Suggestion,
    checked_name,
    library,
)
from ssdlab.searching.space import Point
from ssdlab.searching.tested import invalid_on_test, test_notes, test_points, test_text
from ssdlab.searching.trying import Runs, Subject, name_of
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
class SearchOptions:
    """How a search proceeds."""

    sampler: str = SAMPLER
    pruner: str = PRUNER
    trials: int = TRIALS
    parallel: int = PARALLEL
    seed: int = 0
    """The seed of the sampler."""
    budget: Budget | None = None

    def strategy(self, design: SearchDesign) -> Strategy:
        """What chooses the points."""
        maximize = tuple(objective.maximize for objective in design.objectives)
        return Strategy(
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
    dimensions = {space: None} if isinstance(space, str) else space
    goals = Goals(_as_list(minimize), _as_list(maximize), _as_list(subject_to))
    requests = Requests(traces, test_traces, across, seed, seeds, test_seeds, rungs)
    design = design_search(config, dimensions, goals, requests, set or {})
    options = search_options(design, sampler, pruner, trials, parallel, sampler_seed, budget)
    execution = Execution(on, jobs, store, out, force, progress, html)
    with execution.runner() as runner:
        result = run_search(design, options, runner, execution)
    if result.interrupted:
        raise Interrupted(None, result.folder, search=result)
    return result


def _as_list(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else [*value]


def search_options(
    design: SearchDesign,
    sampler: str = SAMPLER,
    pruner: str | None = None,
    trials: int = TRIALS,
    parallel: int = PARALLEL,
    sampler_seed: int = 0,
    budget: str | int | None = None,
) -> SearchOptions:
    """How a search proceeds. Raises `ConfigError`."""
    has_rungs = len(design.rungs) > 1
    name = checked_name(
        "pruner", pruner or ("successive-halving" if has_rungs else PRUNER), PRUNERS
    )
    options = SearchOptions(
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
    if name != "none" and not has_rungs:
        raise ConfigError(
            [f"{argument(pruner=name)}: needs rungs to give points up on ({argument(rungs=3)})"]
        )
    if has_rungs and len(design.objectives) > 1:
        message = (
            f"{argument('rungs')}: points of several objectives have no order, so none can be given"
            " up early"
        )
        raise ConfigError([message])
    options.strategy(design).sampler_of(0)
    return options


def run_search(
    design: SearchDesign, options: SearchOptions, runner: Runner, execution: Execution
) -> Search:
    """Search, or continue the search in its folder, and write the results there."""
    check(design, runner.local_jobs)
    if execution.progress:
        warn_before_run([*design.space.notes, *design.first.notes])
    identity = {
        "ssdlab": described(),
        "optuna": library().__version__,
        **design.identity(),
        "sampler": options.sampler,
        "pruner": options.pruner,
        "parallel": options.parallel,
        "sampler_seed": options.seed,
    }
    out = execution.folder
    with ExitStack() as stack:
        runs = stack.enter_context(Runs(out, identity, design, runner, force=execution.force))
        if execution.progress:
            screen, label = stack.enter_context(display()), f"{design.first.name}, searched"
            runs.progress, runs.note = screen.run(label), partial(screen.note, label)
        search_run = _SearchRun(
            design, options, runs, Sampling(options.strategy(design), out), identity
        )
        search_run.run_rounds()
        result = search_run.result()
        if out is not None:
            _write(result, design, out, execution.html)
    return result


@dataclass
class _SearchRun:
    """A search that goes on."""

    design: SearchDesign
    options: SearchOptions
    runs: Runs
    sampling: Sampling
    identity: dict[str, Any]
    results: dict[str, Tried] = field(default_factory=dict)
    """What is known of points, by name."""
    ending: str = ""

    def run_rounds(self) -> None:
        """Rounds, until something ends them."""
        start = time.monotonic()
        judge = Judge(self.design, self.runs)
        for trial in self.sampling.restored:
            self.results.setdefault(trial.user_attrs["point"], tried_of(trial.user_attrs["tried"]))
        judge.refer(self.design.rungs[-1])
        while not self.runs.interrupted:
            remaining = self.options.trials - self._random_count - len(self.results)
            self.ending = self._ending_reason(start, remaining)
            if self.ending:
                break
            new = min(remaining, self.options.parallel)
            suggestions = self.sampling.ask(new, self._name, {*self.results})
            if all(suggestion.name in self.results for suggestion in suggestions):
                self.ending = "every point that the sampler finds has been tried"
                break
            self._round(judge, suggestions, is_complete=new == self.options.parallel)
        if not self.runs.interrupted and not self._is_budget_spent(start):
            self._draw(judge, self._random_count)

    @property
    def _random_count(self) -> int:
        """How many trials are left for random points after the last round."""
        size = self.design.space.size
        if self.options.sampler in UNBIASED or (size is not None and size <= self.options.trials):
            return 0
        drawn_count = sum(
            trial.drawn and trial.state == "completed" for trial in self.results.values()
        )
        return min(max(DRAWN - drawn_count, 0), self.options.trials // OF_TRIALS)

    def _draw(self, judge: Judge, count: int) -> None:
        """Draw more random points, which the sampler does not see, to determine which keys decide.

        Points that have been tried are drawn like any others, and cost nothing.
        """
        drawn_names = {name for name, trial in self.results.items() if trial.drawn}
        stream, points = random.Random(f"{self.options.seed} what decides"), dict[str, Point]()
        for _ in range(MOST_REPEATS * count):
            point = self.design.space.draw(stream)
            if (name := self._name(point)) not in drawn_names and len(points) < count:
                points[name] = point
        new = {name: self._subject(points[name]) for name in points if name not in self.results}
        evaluations = judge.judge(new, len(self.design.rungs) - 1)
        if evaluations is None:
            return  # interrupted: they are drawn again
        first_number = 1 + max((trial.number for trial in self.results.values()), default=-1)
        self.results |= {
            name: replace(evaluations[name], number=first_number + i) for i, name in enumerate(new)
        }
        self.results |= {name: replace(self.results[name], drawn=True) for name in points}

    def _ending_reason(self, start: float, remaining: int) -> str:
        """Why no round begins; empty if one does."""
        size = self.design.space.size
        if remaining <= 0:
            return f"all {self.options.trials:,} trials are spent ({argument('trials')})"
        if size is not None and len(self.results) >= size:
            return "every point of the space has been tried"
        return "the budget is spent" if self._is_budget_spent(start) else ""

    def _is_budget_spent(self, start: float) -> bool:
        budget = self.options.budget
        if budget is None:
            return False
        runs, seconds = budget.runs, budget.seconds
        is_late = seconds is not None and time.monotonic() - start >= seconds
        return is_late or (runs is not None and self.runs.count >= runs)

    def _name(self, point: Point) -> str:
        return name_of(self.design.space.shown(point))

    def _round(self, judge: Judge, suggestions: Sequence[Suggestion], *, is_complete: bool) -> None:
        """Run the points of a round, rung after rung, and report the results to the sampler."""
        indices: dict[str, int] = {}
        for index, suggestion in enumerate(suggestions):
            if suggestion.name not in self.results:
                indices.setdefault(suggestion.name, index)
        results: dict[str, Tried] = {}
        remaining = [*indices]
        unsettled = dict.fromkeys(remaining, 0)
        for rung in range(len(self.design.rungs)):
            subjects = {name: self._subject(suggestions[indices[name]].point) for name in remaining}
            evaluations = judge.judge(subjects, rung)
            if evaluations is None:
                return  # interrupted: the round is asked for again
            for name, evaluation in evaluations.items():
                suggestion = suggestions[indices[name]]
                results[name] = replace(
                    evaluation, number=suggestion.trial.number, drawn=suggestion.drawn
                )
            remaining = [name for name in remaining if results[name].state == "completed"]
            if rung + 1 < len(self.design.rungs):
                remaining = self._promote(
                    judge, remaining, indices, suggestions, rung, results, unsettled
                )
        self.results |= {
            name: replace(results[name], unsettled=unsettled[name]) for name in indices
        }
        self.sampling.end(
            suggestions,
            [self.results[suggestion.name] for suggestion in suggestions],
            is_complete=is_complete,
        )

    def _subject(self, point: Point) -> Subject:
        return Subject.of(self.design.space.shown(point), point)

    def _promote(
        self,
        judge: Judge,
        remaining: Sequence[str],
        indices: Mapping[str, int],
        suggestions: Sequence[Suggestion],
        rung: int,
        results: dict[str, Tried],
        unsettled: dict[str, int],
    ) -> list[str]:
        """Those that continue on the next rung. Runs that have not settled rank nothing."""
        ranked = {}
        for name in remaining:
            values = results[name].values
            assert values is not None, "a completed point has values"
            if judge.settled(self._subject(suggestions[indices[name]].point), rung):
                ranked[indices[name]] = values[0]
            else:
                unsettled[name] += 1
        given_up = self.sampling.report(ranked, suggestions, rung)
        for name in remaining:
            if indices[name] in given_up:
                results[name] = replace(results[name], state="given up")
        return [name for name in remaining if indices[name] not in given_up]

    def result(self) -> Search:
        """What has been found, tested."""
        design = self.design
        judge = Judge(design, self.runs)
        goals = tuple(
            Goal(objective.metric.name, objective.metric.column, objective.maximize)
            for objective in design.objectives
        )
        result = Search(
            design.first.name,
            goals,
            tuple(constraint.text for constraint in design.constraints),
            tuple(self.results.values()),
            judge.baseline(),
            runs=self.runs.count,
            size=design.space.size,
            ending=self.ending,
            notes=design.space.notes,
            identity=self.identity,
        )
        result = self._test(result)
        invalid = {BASELINE: judge.invalid(reference(BASELINE))} if self.results else {}
        if result.tested:
            invalid |= {
                f"{name} on the test": invalid_on_test(design, self.runs, reference(name))
                for name in design.references
            }
        return replace(
            result,
            invalid={name: warning for name, warning in invalid.items() if warning},
            test=test_text(design),
            runs=self.runs.count,
            notes=(*result.notes, *test_notes(design)),
            interrupted=self.runs.interrupted,
            folder=self.runs.folder,
        )

    def _test(self, result: Search) -> Search:
        """`result` with its best points tested; invalid ones are replaced by the next."""
        while True:
            pairs = [(trial, self._subject_of(trial)) for trial in result.front[:MOST_TESTED]]
            results = test_points(self.design, self.runs, pairs)
            if not results:
                return result
            warnings = {
                trial.number: invalid_on_test(self.design, self.runs, subject)
                for trial, subject in pairs
            }
            if not any(warnings.values()):
                return replace(result, tested=results)
            trials = (
                replace(trial, state="invalid", why=f"on the test {text}")
                if (text := warnings.get(trial.number))
                else trial
                for trial in result.trials
            )
            result = replace(result, trials=tuple(trials))

    def _subject_of(self, trial: Tried) -> Subject:
        return Subject.of(trial.point, self.design.space.point_of(trial.point))


def _write(result: Search, design: SearchDesign, folder: Path, html: bool) -> None:
    """Write the tables, the best points, the summary and the page. Raises `OutputError`."""
    files = {TRIALS_CSV: outputs.text(result.to_csv()), SUMMARY: outputs.text(result.summary())}
    for trial in result.front:
        name = BEST if len(result.goals) == 1 else f"{FRONT}/{trial.number}.toml"
        files[name] = outputs.text(_toml(result, design, trial))
    if html:
        from ssdlab.html.search_page import search_page  # needs numpy, which is slow to import

        files[PAGE] = outputs.text(search_page(result))
    files[SEARCH_JSON] = outputs.text(result.to_json())
    outputs.write_all({folder / name: write for name, write in files.items()}, force=True)


def _toml(result: Search, design: SearchDesign, trial: Tried) -> str:
    """A point as a configuration for `ssdlab run`."""
    point = design.space.point_of(trial.point)
    config, policies = design.load(point, design.train[0], design.seeds[0])
    lines = [
        f"# {trial.label}",
        f"# trial {trial.number} of a search for {', '.join(goal.name for goal in result.goals)}",
    ]
    lines += [
        f"# {key}: {policy.label_of(custom)}, a policy in Python: pass it with {key.split('.')[1]}="
        for key, custom in policies.by_key.items()
    ]
    return "\n".join(lines) + "\n\n" + config.file_text()
