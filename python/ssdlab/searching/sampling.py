"""Which points a search tries next, and which it gives up early: Optuna's samplers and pruners.

The study is kept in memory, where every round is requested with its own seed; each trial that has
ended is added to the storage as a whole. So a search that was killed is resumed as if it had not
been: the trials of complete rounds come from the storage, and the round in which it stopped is
requested again, with the same answers.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab.config.vary import Range
from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError, OutputError
from ssdlab.results.names import STORAGE
from ssdlab.results.search import Tried
from ssdlab.running.table import complete_lines
from ssdlab.searching.space import Point, SearchSpace
from ssdlab.versions import install

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial, Trial

SAMPLERS = {
    "tpe": "TPESampler",
    "random": "RandomSampler",
    "nsgaii": "NSGAIISampler",
    "nsgaiii": "NSGAIIISampler",
    "cmaes": "CmaEsSampler",
    "gp": "GPSampler",
    "qmc": "QMCSampler",
    "grid": "GridSampler",
}
NEEDS = {"cmaes": ("cmaes",), "gp": ("scipy", "torch"), "qmc": ("scipy",)}
"""What samplers import beside Optuna."""
PRUNERS = {
    "none": "NopPruner",
    "successive-halving": "SuccessiveHalvingPruner",
    "hyperband": "HyperbandPruner",
    "median": "MedianPruner",
}
STUDY = "search"
NOT_POSSIBLE = "possible"
"""The constraint violated by points that cannot run."""
FAR = 1e6
"""By how much: such a point ranks behind all that ran."""
LEAST_OPTUNA = 5
UNBIASED = ("random", "grid", "qmc")
"""Samplers that ignore results."""
STARTUP = 10
"""Rounds are drawn at random until this many trials have ended, whatever the sampler: TPE would not
look at fewer results either."""
MOST_REPEATS = 10
"""How often a sampler may suggest known points, for each new one, before chance takes over.
"""


def library() -> Any:  # noqa: ANN401 - a module that may not be there
    """Optuna. Raises `OutputError` without it."""
    try:
        module = import_module("optuna")
    except ImportError as error:
        message = f"a search needs Optuna: {install('optuna')}"
        raise OutputError(message) from error
    if int(module.__version__.partition(".")[0]) < LEAST_OPTUNA:
        message = f"a search needs Optuna {LEAST_OPTUNA}; {module.__version__} is installed"
        raise OutputError(message)
    module.logging.set_verbosity(module.logging.WARNING)
    return module


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress Optuna's warnings about experimental interfaces: its version is part of a search."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def checked_name(option: str, name: str, names: Mapping[str, str]) -> str:
    """A sampler or pruner. Raises `ConfigError` with the nearest name."""
    if name in names:
        return name
    matches = get_close_matches(name, names, 1)
    hint = f"; did you mean {matches[0]}?" if matches else ""
    raise ConfigError([f"{argument(**{option: name})}: expected one of: {', '.join(names)}{hint}"])


@dataclass(frozen=True)
class Strategy:
    """How a search samples and prunes."""

    sampler: str
    pruner: str
    maximize: tuple[bool, ...]
    """Of each objective."""
    seed: int
    space: SearchSpace
    rungs: int
    factor: int

    def sampler_of(self, round_: int, name: str | None = None) -> Any:  # noqa: ANN401
        """The sampler of a round. Raises `ConfigError` if it needs what is not installed."""
        module, name = library(), name or self.sampler
        seed = int.from_bytes(hashlib.sha256(f"{self.seed} {round_}".encode()).digest()[:4], "big")
        arguments: dict[str, Any] = {"seed": seed}
        if name == "grid":
            # Its trials name positions in the grid, whose order depends on the seed.
            arguments = {"seed": self.seed, "search_space": self._grid()}
        elif name == "tpe":
            # With groups, conditional keys are sampled together with those that they depend on.
            arguments |= {"multivariate": True, "group": True}
        elif name == "cmaes":
            arguments |= {"warn_independent_sampling": False}
        missing = [
            requirement for requirement in NEEDS.get(name, ()) if find_spec(requirement) is None
        ]
        if missing:
            hint = f"{' '.join(missing)}: {install(*missing)}"
            raise ConfigError([f"{argument(sampler=name)}: needs {hint}"])
        with quiet():
            sampler = getattr(module.samplers, SAMPLERS[name])(**arguments)
        if name == "grid":
            # At its last point it would stop Optuna's loop, but Optuna runs no loop here.
            sampler.after_trial = lambda *_: None
        return sampler

    def _grid(self) -> dict[str, list[object]]:
        if not self.space.finite:
            keys = [
                dimension.key
                for dimension in self.space.dimensions
                if isinstance(dimension.values, Range)
            ]
            form = "lists, or ranges with a step"
            raise ConfigError([f"{argument(sampler='grid')}: {', '.join(keys)}: expected {form}"])
        return {
            dimension.key: [*range(len(dimension.labels))]
            if dimension.ordered
            else [*dimension.labels]
            for dimension in self.space.dimensions
        }

    def pruner_of(self) -> Any:  # noqa: ANN401
        """The pruner; its resource is 1 on the first rung, `factor` times as much on the next."""
        module = library()
        kind = getattr(module.pruners, PRUNERS[self.pruner])
        if self.pruner == "successive-halving":
            return kind(min_resource=1, reduction_factor=self.factor)
        if self.pruner == "hyperband":
            max_resource = self.factor ** (self.rungs - 1)
            return kind(min_resource=1, max_resource=max_resource, reduction_factor=self.factor)
        return kind()


@dataclass(frozen=True)
class _TrialSuggestions:
    """Values that a trial of Optuna suggests."""

    trial: Trial

    def integer(self, name: str, low: int, high: int, log: bool) -> int:
        return self.trial.suggest_int(name, low, high, log=log)

    def number(self, name: str, low: float, high: float, log: bool) -> float:
        return self.trial.suggest_float(name, low, high, log=log)

    def word(self, name: str, words: Sequence[str]) -> str:
        return str(self.trial.suggest_categorical(name, [*words]))


@dataclass
class Suggestion:
    """A trial that has been requested."""

    trial: Trial
    point: Point
    name: str
    """The name; equal points have the same one."""
    drawn: bool
    """Whether the sampler ignored results."""


def _storage(file: Path) -> Any:  # noqa: ANN401
    """The storage in a file of a folder that no other process uses, whatever a killed one left."""
    journal = import_module("optuna.storages.journal")
    if file.exists():
        with file.open("r+b", buffering=0) as stream:
            complete_lines(stream)
    file.with_name(f"{file.name}.lock").unlink(missing_ok=True)
    return library().storages.JournalStorage(journal.JournalFileBackend(str(file)))


@dataclass
class Sampling:
    """The trials of a search, in memory and in the storage."""

    strategy: Strategy
    folder: Path | None
    study: optuna.Study = field(init=False)
    stored: optuna.Study | None = field(init=False, default=None)
    round: int = 0
    """The next one."""
    restored: list[FrozenTrial] = field(default_factory=list)
    """Trials of complete rounds that were in the storage."""

    def __post_init__(self) -> None:
        module = library()
        directions = [
            "maximize" if is_maximized else "minimize" for is_maximized in self.strategy.maximize
        ]
        arguments = {"study_name": STUDY, "directions": directions}
        with quiet():
            self.study = module.create_study(
                sampler=self.strategy.sampler_of(0), pruner=self.strategy.pruner_of(), **arguments
            )
            if self.folder is None:
                return
            self.stored = module.create_study(
                storage=_storage(self.folder / STORAGE), load_if_exists=True, **arguments
            )
            self._resume(self.stored.get_trials(deepcopy=False))

    def _resume(self, trials: Sequence[FrozenTrial]) -> None:
        """Load the trials of complete rounds into memory."""
        rounds: dict[int, list[FrozenTrial]] = {}
        for trial in trials:
            rounds.setdefault(trial.user_attrs["round"], []).append(trial)
        for number, members in rounds.items():
            first = members[0].user_attrs
            if number != self.round or not first["whole"] or len(members) < first["asked"]:
                break
            for trial in members:
                self.study.add_trial(trial)
            self.restored += members
            self.round += 1

    def ask(self, new: int, name_of: Callable[[Point], str], known: set[str]) -> list[Suggestion]:
        """The trials of the next round: at most `new` points that are not known yet.

        Fewer, or none, if the space has no more.
        """
        suggestions: list[Suggestion] = []
        names = {*known}
        trial_count = len(self.study.get_trials(deepcopy=False))
        is_unbiased = self.strategy.sampler in UNBIASED or trial_count < STARTUP
        sampler = (
            self.strategy.sampler
            if not is_unbiased or self.strategy.sampler in UNBIASED
            else "random"
        )
        with quiet():
            self.study.sampler = self.strategy.sampler_of(self.round, sampler)
            limit, is_random = MOST_REPEATS * new, False
            while len(names) < len(known) + new:
                if len(suggestions) >= limit:
                    if is_random:
                        break
                    is_random, limit = True, limit + 10 * MOST_REPEATS * new
                    self.study.sampler = self.strategy.sampler_of(self.round, "random")
                trial = self.study.ask()
                point = self.strategy.space.of(_TrialSuggestions(trial))
                suggestion = Suggestion(trial, point, name_of(point), is_unbiased and not is_random)
                names.add(suggestion.name)
                suggestions.append(suggestion)
        return suggestions

    def report(
        self, values: Mapping[int, float], suggestions: Sequence[Suggestion], rung: int
    ) -> set[int]:
        """Report the values on a rung by index in `suggestions`.

        Returns those that are given up.
        """
        with quiet():
            for index, value in values.items():
                suggestions[index].trial.report(value, self.strategy.factor**rung)
            return {index for index in values if suggestions[index].trial.should_prune()}

    def end(
        self, suggestions: Sequence[Suggestion], results: Sequence[Tried], *, is_complete: bool
    ) -> None:
        """Record the results of a round's trials; `is_complete`: no other will be added."""
        state = library().trial.TrialState
        attributes = {"round": self.round, "asked": len(suggestions), "whole": is_complete}
        with quiet():
            for suggestion, result in zip(suggestions, results, strict=True):
                for text, excess in result.excess.items():
                    suggestion.trial.set_constraint(text, excess)
                is_possible = result.state not in ("not possible", "invalid")
                suggestion.trial.set_constraint(NOT_POSSIBLE, 0.0 if is_possible else FAR)
                for key, value in {
                    **attributes,
                    "point": suggestion.name,
                    "tried": asdict(result),
                }.items():
                    suggestion.trial.set_user_attr(key, value)
                if result.state == "completed" and result.values is not None:
                    self.study.tell(suggestion.trial, [*result.values])
                else:
                    self.study.tell(suggestion.trial, state=state.PRUNED)
            if self.stored is not None:
                stored_count = len(self.stored.get_trials(deepcopy=False))
                for trial in self.study.get_trials(deepcopy=False)[stored_count:]:
                    self.stored.add_trial(trial)
        self.round += is_complete
