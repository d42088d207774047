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
        found = import_module("optuna")
    except ImportError as error:
        message = f"a search needs Optuna: {install('optuna')}"
        raise OutputError(message) from error
    if int(found.__version__.partition(".")[0]) < LEAST_OPTUNA:
        message = f"a search needs Optuna {LEAST_OPTUNA}; {found.__version__} is installed"
        raise OutputError(message)
    found.logging.set_verbosity(found.logging.WARNING)
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress Optuna's warnings about experimental interfaces: its version is part of a search."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def checked_name(option: str, name: str, known: Mapping[str, str]) -> str:
    """A sampler or pruner. Raises `ConfigError` with the nearest name."""
    if name in known:
        return name
    near = get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ConfigError([f"{argument(**{option: name})}: expected one of: {', '.join(known)}{hint}"])


@dataclass(frozen=True)
class Chosen:
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
        found, name = library(), name or self.sampler
        seed = int.from_bytes(hashlib.sha256(f"{self.seed} {round_}".encode()).digest()[:4], "big")
        how: dict[str, Any] = {"seed": seed}
        if name == "grid":
            # Its trials name positions in the grid, whose order depends on the seed.
            how = {"seed": self.seed, "search_space": self._grid()}
        elif name == "tpe":
            # With groups, conditional keys are sampled together with those that they depend on.
            how |= {"multivariate": True, "group": True}
        elif name == "cmaes":
            how |= {"warn_independent_sampling": False}
        missing = [one for one in NEEDS.get(name, ()) if find_spec(one) is None]
        if missing:
            more = f"{' '.join(missing)}: {install(*missing)}"
            raise ConfigError([f"{argument(sampler=name)}: needs {more}"])
        with quiet():
            made = getattr(found.samplers, SAMPLERS[name])(**how)
        if name == "grid":
            # At its last point it would stop Optuna's loop, but Optuna runs no loop here.
            made.after_trial = lambda *_: None
        return made

    def _grid(self) -> dict[str, list[object]]:
        if not self.space.finite:
            keys = [d.key for d in self.space.dimensions if isinstance(d.values, Range)]
            form = "lists, or ranges with a step"
            raise ConfigError([f"{argument(sampler='grid')}: {', '.join(keys)}: expected {form}"])
        return {
            one.key: [*range(len(one.labels))] if one.ordered else [*one.labels]
            for one in self.space.dimensions
        }

    def pruner_of(self) -> Any:  # noqa: ANN401
        """The pruner; its resource is 1 on the first rung, `factor` times as much on the next."""
        found = library()
        kind = getattr(found.pruners, PRUNERS[self.pruner])
        if self.pruner == "successive-halving":
            return kind(min_resource=1, reduction_factor=self.factor)
        if self.pruner == "hyperband":
            most = self.factor ** (self.rungs - 1)
            return kind(min_resource=1, max_resource=most, reduction_factor=self.factor)
        return kind()


@dataclass(frozen=True)
class _OfTrial:
    """Values that a trial of Optuna suggests."""

    trial: Trial

    def whole(self, name: str, low: int, high: int, log: bool) -> int:
        return self.trial.suggest_int(name, low, high, log=log)

    def number(self, name: str, low: float, high: float, log: bool) -> float:
        return self.trial.suggest_float(name, low, high, log=log)

    def word(self, name: str, words: Sequence[str]) -> str:
        return str(self.trial.suggest_categorical(name, [*words]))


@dataclass
class Asked:
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
        with file.open("r+b", buffering=0) as held:
            complete_lines(held)
    file.with_name(f"{file.name}.lock").unlink(missing_ok=True)
    return library().storages.JournalStorage(journal.JournalFileBackend(str(file)))


@dataclass
class Sampling:
    """The trials of a search, in memory and in the storage."""

    chosen: Chosen
    folder: Path | None
    study: optuna.Study = field(init=False)
    stored: optuna.Study | None = field(init=False, default=None)
    round: int = 0
    """The next one."""
    before: list[FrozenTrial] = field(default_factory=list)
    """Trials of complete rounds that were in the storage."""

    def __post_init__(self) -> None:
        found = library()
        directions = ["maximize" if one else "minimize" for one in self.chosen.maximize]
        how = {"study_name": STUDY, "directions": directions}
        with quiet():
            self.study = found.create_study(
                sampler=self.chosen.sampler_of(0), pruner=self.chosen.pruner_of(), **how
            )
            if self.folder is None:
                return
            self.stored = found.create_study(
                storage=_storage(self.folder / STORAGE), load_if_exists=True, **how
            )
            self._resume(self.stored.get_trials(deepcopy=False))

    def _resume(self, trials: Sequence[FrozenTrial]) -> None:
        """Load the trials of complete rounds into memory."""
        rounds: dict[int, list[FrozenTrial]] = {}
        for one in trials:
            rounds.setdefault(one.user_attrs["round"], []).append(one)
        for number, several in rounds.items():
            first = several[0].user_attrs
            if number != self.round or not first["whole"] or len(several) < first["asked"]:
                break
            for one in several:
                self.study.add_trial(one)
            self.before += several
            self.round += 1

    def ask(self, new: int, name_of: Callable[[Point], str], known: set[str]) -> list[Asked]:
        """The trials of the next round: at most `new` points that are not known yet.

        Fewer, or none, if the space has no more.
        """
        asked: list[Asked] = []
        names = {*known}
        ended = len(self.study.get_trials(deepcopy=False))
        drawn = self.chosen.sampler in UNBIASED or ended < STARTUP
        sampler = self.chosen.sampler if not drawn or self.chosen.sampler in UNBIASED else "random"
        with quiet():
            self.study.sampler = self.chosen.sampler_of(self.round, sampler)
            most, by_chance = MOST_REPEATS * new, False
            while len(names) < len(known) + new:
                if len(asked) >= most:
                    if by_chance:
                        break
                    by_chance, most = True, most + 10 * MOST_REPEATS * new
                    self.study.sampler = self.chosen.sampler_of(self.round, "random")
                trial = self.study.ask()
                point = self.chosen.space.of(_OfTrial(trial))
                one = Asked(trial, point, name_of(point), drawn and not by_chance)
                names.add(one.name)
                asked.append(one)
        return asked

    def report(self, several: Mapping[int, float], asked: Sequence[Asked], rung: int) -> set[int]:
        """Report the values on a rung by index in `asked`. Returns those that are given up."""
        with quiet():
            for at, value in several.items():
                asked[at].trial.report(value, self.chosen.factor**rung)
            return {at for at in several if asked[at].trial.should_prune()}

    def end(self, asked: Sequence[Asked], results: Sequence[Tried], *, whole: bool) -> None:
        """Record the results of a round's trials; it is `whole` if no other will be added."""
        state = library().trial.TrialState
        about = {"round": self.round, "asked": len(asked), "whole": whole}
        with quiet():
            for one, result in zip(asked, results, strict=True):
                for text, excess in result.excess.items():
                    one.trial.set_constraint(text, excess)
                possible = result.state not in ("not possible", "invalid")
                one.trial.set_constraint(NOT_POSSIBLE, 0.0 if possible else FAR)
                for key, value in {**about, "point": one.name, "tried": asdict(result)}.items():
                    one.trial.set_user_attr(key, value)
                if result.state == "completed" and result.values is not None:
                    self.study.tell(one.trial, [*result.values])
                else:
                    self.study.tell(one.trial, state=state.PRUNED)
            if self.stored is not None:
                there = len(self.stored.get_trials(deepcopy=False))
                for made in self.study.get_trials(deepcopy=False)[there:]:
                    self.stored.add_trial(made)
        self.round += whole
