"""Custom policies in Python: which block, when, how many pools at once, where to, and with which.

Write a class with the methods of `Victim`, `Trigger`, `Concurrency`, `Placement` or `Separation`
(deriving from them is optional) and pass an instance to `ssdlab.run` or `ssdlab.compare`:

    class Greedy(ssdlab.policy.Victim):
        def score(self, view):
            return view.valid

    ssdlab.run("greedy-8ch", victim=Greedy())

A policy decides and never acts; an invalid decision ends the run with a message that names it.
Ages are counted in host pages written, never in time. See docs/python-policies.md.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from ssdlab import _core
from ssdlab._core import ClassView, ConcurrencyView, DeviceInfo, TriggerView, VictimView
from ssdlab.config.resolve import Config, set_text
from ssdlab.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "ClassView",
    "Concurrency",
    "ConcurrencyView",
    "DeviceInfo",
    "Placement",
    "Separation",
    "Trigger",
    "TriggerView",
    "Victim",
    "VictimView",
]


class _Policy:
    """What all policies may have."""

    def start(self, device: DeviceInfo) -> None:
        """Set up, or reset, the state that belongs to one machine.

        Called when a run begins and, unless `run.mode` is "functional", again between
        preconditioning and workload, because these are executed by two machines with separate
        policies. Only a separation policy starts once: its state stays with the device.
        """


class Victim(_Policy):
    """Which block? Define `select` or `score`, not both.

    `select(view) -> int | None` returns the id of one of `view.blocks`, or None if
    nothing is worth collecting. `score(view)` returns a number for each of `view.blocks`; the
    lowest wins, ties go to the lowest id. Either is called once per collected block, never
    without candidates. The arrays of the view are copies, which may be kept and changed.

    With `gc.amount = "all-candidates"` a policy must have `score`, which orders them all.

    When a pool is at its reserve and the policy returns no block with an invalid page, the engine
    takes the one with the fewest valid pages (`reserve-greedy` in the report).
    """


class Trigger(_Policy):
    """When? It replaces all configured triggers; the reserve still applies.

    Define `wants(view) -> bool`: whether the pool of `view` wants collection. It is called whenever
    something may have changed, and again after each block. `urgent(view) -> bool`, if defined,
    says whether collection then goes before host operations.
    """

    watches_pages: bool = True
    """The result may change with every page written, not only with every block opened or freed.
    False makes runs faster."""
    watches_device: bool = False
    """The result may depend on other pools."""
    idle_after_ns: int | None = None
    """Call it again after the pool has been idle for this long, ns; None: never."""

    def wants(self, view: TriggerView) -> bool:
        """Whether collection of the pool is wanted now."""
        raise NotImplementedError


class Concurrency(_Policy):
    """How many at once? Jobs at the reserve are exempt and not counted.

    `counted() -> str`, if defined, says what the limit counts: "pools" (the default), "channels" or
    "members" (chips of each parity group). `binds_reserve() -> bool`, if defined and true: jobs at
    the reserve are not exempt.
    """

    def limit(self, view: ConcurrencyView) -> int:
        """Pools that may collect in the background at this instant; running jobs finish."""
        raise NotImplementedError


class Placement(_Policy):
    """Where to? Called for each page that the host writes."""

    def place(self, lpn: int, loads: npt.NDArray[np.int64]) -> int:
        """The plane for which page `lpn` is queued.

        `loads` holds, for each plane, the operations waiting or running on its busy unit (all 0
        without timing). `device.striping`, given to `start`, has the planes in striping order.
        """
        raise NotImplementedError


class Separation(_Policy):
    """Which pages share a block? Called for each page written by the host, and for each copy.

    `on_collect(cls, valid, opened, clock) -> None`, if defined, is called when the collection of a
    block begins, with its class, its valid pages, and the clock when it was opened. The clock
    counts pages written: those of the host and, with parity groups, of their parity, whose numbers
    follow those of the host (`device.logical_pages` in total).

    `victim_among(pool, classes) -> int | tuple[str, int] | None`, if defined, is called before the
    victim policy chooses, with a `ClassView` of the sealed blocks of each class. It returns the
    class among whose blocks the victim policy chooses, `("oldest", cls)` for the block of `cls`
    that was sealed first, or None for any block.

    `save() -> bytes` and `load(known: bytes) -> None`, if defined, return and restore the state of
    the policy in a snapshot. Without them it starts afresh with a device that is loaded, after
    `start`. A power cut calls `start` again.
    """

    classes: int = 2
    """Classes; each has an open block on every plane. Read when a machine begins, after `start`."""
    host_classes: int = 0
    """Of these, the first ones that take no copies."""

    def of_write(
        self,
        lpn: int,
        stream: int,
        pages: int,
        replaces: int | None,
        age: int | None,
        clock: int,
    ) -> int:
        """The class of page `lpn` of the host, in a request of `pages` pages and stream `stream`.

        `replaces` is the class of the page that it replaces. It is None if there is none, if the
        page is still in the controller, or if wear levelling has moved it. `age` counts pages that
        the host has written since the block of that page was opened; None if there is none, or it
        is in the controller.
        """
        raise NotImplementedError

    def of_copy(self, lpn: int, cls: int | None, clock: int) -> int:
        """The class, at least `host_classes`, of a copy of page `lpn` in a block of class `cls`."""
        raise NotImplementedError


@runtime_checkable
class Selects(Protocol):
    """A victim policy that names a block."""

    def select(self, view: VictimView, /) -> int | None:
        """Id of a candidate, or None."""


@runtime_checkable
class Scores(Protocol):
    """A victim policy that scores all candidates."""

    def score(self, view: VictimView, /) -> npt.ArrayLike:
        """A number for each of `view.blocks`; the lowest wins."""


@runtime_checkable
class Wants(Protocol):
    """A trigger."""

    def wants(self, view: TriggerView, /) -> bool:
        """Whether collection of the pool is wanted now."""


@runtime_checkable
class Limits(Protocol):
    """A concurrency rule."""

    def limit(self, view: ConcurrencyView, /) -> int:
        """Pools that may collect in the background."""


@runtime_checkable
class Places(Protocol):
    """A placement."""

    def place(self, lpn: int, loads: npt.NDArray[np.int64], /) -> int:
        """The plane for which page `lpn` is queued."""


@runtime_checkable
class Separates(Protocol):
    """A separation policy."""

    classes: int
    host_classes: int

    def of_write(
        self,
        lpn: int,
        stream: int,
        pages: int,
        replaces: int | None,
        age: int | None,
        clock: int,
        /,
    ) -> int:
        """The class of page `lpn` of the host."""

    def of_copy(self, lpn: int, cls: int | None, clock: int, /) -> int:
        """The class of a copy of page `lpn`."""


VictimLike: TypeAlias = "Selects | Scores"
"""What `victim=` takes."""

_METHODS = {
    "gc.victim": ("select", "score"),
    "gc.trigger": ("wants",),
    "gc.concurrency": ("limit",),
    "alloc.placement": ("place",),
    "alloc.separation": ("of_write",),
}


class Policies:
    """The policies in Python of one run, by the key of the configuration that they replace."""

    def __init__(self, policies: Mapping[str, object]) -> None:
        self.by_key = {key: policy for key, policy in policies.items() if policy is not None}
        messages = [
            message for key, policy in self.by_key.items() for message in _errors(key, policy)
        ]
        if messages:
            raise ConfigError(messages)

    def __bool__(self) -> bool:
        return bool(self.by_key)

    def name_in(self, config: Config) -> Config:
        """`config` with the names of these policies instead of the configured ones."""
        values: dict[str, Any] = json.loads(config.text)
        for key, policy in self.by_key.items():
            part, name = key.split(".")
            spec = {"policy": name_of(policy)}
            values[part][name] = [spec] if key == "gc.trigger" else spec
        victim = self.by_key.get("gc.victim")
        if values["gc"]["amount"] == "all-candidates" and hasattr(victim, "select"):
            message = (
                f"gc.victim: {name_of(victim)} has select(), which names one block; gc.amount ="
                ' "all-candidates" takes them all, in the order of score()'
            )
            raise ConfigError([message])
        if values["alloc"]["erase_unit"] == "superblock" and "alloc.placement" in self.by_key:
            message = (
                "alloc.placement: superblocks are filled plane after plane, by round-robin, and"
                f" take no other placement; it is {name_of(self.by_key['alloc.placement'])}"
            )
            raise ConfigError([message])
        return Config(json.dumps(values)) if self.by_key else config

    def pack(self) -> bytes:
        """The policies as bytes, for a run of a comparison; empty without policies.

        Each run has its own copy: changes that one makes to its policies are invisible to the
        others.
        """
        if not self.by_key:
            return b""
        import cloudpickle  # type: ignore[import-untyped]  # takes classes of notebooks too

        # Together, so that a policy that replaces two keys stays one object.
        try:
            data: bytes = cloudpickle.dumps(self.by_key)
        except Exception as error:
            names = ", ".join(name_of(policy) for policy in self.by_key.values())
            message = (
                f"{names}: each run of a comparison needs its own copy, in a separate process,"
                f" and copying failed: {error}"
            )
            raise ConfigError([message]) from error
        return data

    @staticmethod
    def unpack(data: bytes) -> Policies:
        """What `pack` made bytes of."""
        return Policies(pickle.loads(data) if data else {})

    def core_arguments(self) -> list[tuple[str, object, str]]:
        """In the form for the simulator: key, policy, name."""
        return [(key, policy, name_of(policy)) for key, policy in self.by_key.items()]


def name_of(policy: object) -> str:
    """Module and class of a policy."""
    kind = type(policy)
    return f"{kind.__module__}.{kind.__qualname__}"


def label_of(value: object) -> str:
    """A value of a key in labels: `{ policy = "d-choices", d = 3 }` is `d-choices d=3`.

    A policy in Python is named by its `name`, if that is a text, else by its own `repr`, else by
    its class.
    """
    if is_policy(value):
        name = getattr(value, "name", None)
        has_repr = type(value).__repr__ is not object.__repr__ and not isinstance(value, type)
        text = (
            name if isinstance(name, str) and name else repr(value) if has_repr else name_of(value)
        )
        return " ".join(text.split())
    text = set_text(value).strip().strip("{}[]").replace('"', "").replace("'", "").replace(",", " ")
    return " ".join(text.replace("policy", "").replace(" = ", "=").split()).lstrip("=")


def is_policy(value: object) -> bool:
    """Whether `value` is a policy in Python, or the class of one."""
    names = [name for methods in _METHODS.values() for name in methods]
    return not isinstance(value, str) and any(hasattr(value, name) for name in names)


def split(values: Mapping[str, object] | None) -> tuple[dict[str, object], dict[str, object]]:
    """`values` without the policies among them, and these policies."""
    all_values = dict(values or {})
    policies = {key: value for key, value in all_values.items() if is_policy(value)}
    return {key: value for key, value in all_values.items() if key not in policies}, policies


def _errors(key: str, policy: object) -> list[str]:
    """What is wrong with `policy` as a replacement for `key`."""
    methods = _METHODS.get(key)
    if methods is None:
        return [f"{key}: takes no policy in Python; these do: {', '.join(_METHODS)}"]
    if isinstance(policy, type):
        return [f"{key}: {policy.__name__} is a class: pass an instance, {policy.__name__}()"]
    present = [name for name in methods if callable(getattr(policy, name, None))]
    alternatives = " or ".join(f"{name}()" for name in methods)
    if not present:
        hint = " (in the configuration, set it by its name)" if isinstance(policy, str) else ""
        return [f"{key}: {name_of(policy)} has no {alternatives}{hint}"]
    if key == "alloc.separation" and not callable(getattr(policy, "of_copy", None)):
        return [f"{key}: {name_of(policy)} has no of_copy(): copies need a class, too"]
    if len(present) > 1:
        return [f"{key}: {name_of(policy)} has both {' and '.join(present)}: define one of them"]
    return []


@cache
def _built_in() -> dict[str, set[str]]:
    """The names of the policies of the simulator, by key."""
    registry: dict[str, Sequence[Mapping[str, str]]] = json.loads(_core.registry())["policies"]
    return {key: {entry["name"] for entry in entries} for key, entries in registry.items()}


def check_policies(config: Config, policies: Policies) -> None:
    """Refuse a configuration that names a missing policy in Python."""
    built_in = _built_in()
    messages = []
    for key in _METHODS:
        specs = config[key] if key == "gc.trigger" else [config[key]]
        unknown = [spec["policy"] for spec in specs if spec["policy"] not in built_in[key]]
        if unknown and key not in policies.by_key:
            argument = key.split(".")[1]
            messages.append(f"{key}: {unknown[0]} is a policy in Python: pass it with {argument}=")
    if messages:
        raise ConfigError(messages)
