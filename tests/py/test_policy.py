"""Policies in Python: equal to their twins in the core, and refused where they must be."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policies
import ssdlab
from policies import FreeBlocks, GreedyByScore, GreedyBySelect, Numbers
from running import HANG_S, ROOT, SMALL
from ssdlab.policy import ClassView, Placement, Trigger, TriggerView, Victim, VictimView

PLANES: dict[str, object] = {
    "device.channels": 2,
    "device.chips_per_channel": 1,
    "device.planes_per_chip": 2,
    "device.blocks_per_plane": 32,
}
DEVICES: dict[str, dict[str, object]] = {
    "planes": {},
    "chips": {**PLANES, "alloc.pool": "chip"},
    "superblocks": {
        **PLANES,
        "alloc.pool": "chip",
        "alloc.erase_unit": "superblock",
        "alloc.placement": "round-robin",
    },
}
FREE_BLOCKS = {"policy": "free-blocks", "soft": 6}
SEPARATED: dict[str, object] = {
    "device.blocks_per_plane": 64,
    "device.over_provisioning": 0.28,
    "workload.kind": "zipf",
}


def made(set: Mapping[str, object], **plugs: Any) -> ssdlab.Report:  # noqa: ANN401
    report: ssdlab.Report = ssdlab.run(set={**SMALL, **set}, progress=False, **plugs)
    return report


def numbers(report: ssdlab.Report, without_verdict: bool = False) -> dict[str, Any]:
    """All of a report but names and clocks."""
    values: dict[str, Any] = json.loads(json.dumps(report.json))
    for name in ("config", "speed", "warnings", "series"):
        del values[name]
    for name in ("config_digest", "external_policies"):
        del values["provenance"][name]
    for name in ("wall", "cpu"):
        del values["time"][name]
    if "gc.trigger" in report.provenance.external_policies or without_verdict:
        # Nobody can tell whether an external trigger could ever be met.
        del values["verdict"], values["steady_state"], values["invalidating"]
    victims = values["gc"]["victims_by_policy"]
    values["gc"]["victims_by_policy"] = sorted(victims.values())
    return values


def same(core: Mapping[str, object], extra: Mapping[str, object], **plugs: object) -> None:
    """A run of the core's policies is one of those in Python, with and without time."""
    for mode in ("timed", "functional"):
        settings = {**extra, "run.mode": mode}
        ours, theirs = made({**settings, **core}), made(settings, **plugs)
        assert ours.gc.calls > 100
        assert numbers(ours, "trigger" in plugs) == numbers(theirs)
        assert (ours.provenance.event_digest is None) == (mode == "functional")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", [GreedyBySelect, GreedyByScore])
def test_greedy_is_greedy(device: str, kind: type[Victim]) -> None:
    same({"gc.victim": "greedy"}, DEVICES[device], victim=kind())


EMPTY = {"precondition.fill": 0, "precondition.overwrite": 0}


class Nowhere(Placement):
    """Fails."""

    def __init__(self) -> None:
        self.calls = 0

    def place(self, lpn: int, loads: Numbers) -> int:
        self.calls += 1
        raise ValueError(f"nowhere for page {lpn} on {len(loads)} planes")


@pytest.mark.parametrize("mode", ["timed", "functional"])
def test_no_policy_is_asked_after_the_first_fault(mode: str) -> None:
    """The pages of a write are placed one after the other."""
    nowhere = Nowhere()
    keys = {"run.mode": mode, "workload.size": "64 KiB", **EMPTY}
    with pytest.raises(ssdlab.RunError, match="nowhere"):
        made(keys, placement=nowhere)
    assert nowhere.calls == 1


class Watching(GreedyByScore):
    """Sees blocks without an invalid page since their last erase."""

    def __init__(self) -> None:
        self.whole = 0

    def score(self, view: VictimView) -> Numbers:
        is_whole = view.invalid == 0
        self.whole += int(is_whole.sum())
        for times in (view.first_invalid_ns, view.newest_invalid_ns):
            assert np.array_equal(times == -1, is_whole)
        return super().score(view)


def test_an_erase_forgets_when_pages_became_invalid() -> None:
    watching = Watching()
    report = made({"workload.kind": "zipf"}, victim=watching)
    assert report.flash.erases > 2 * 64
    assert watching.whole > 100


@pytest.mark.parametrize("device", DEVICES)
def test_others_are_their_twins(device: str) -> None:
    extra = DEVICES[device]
    same({"gc.victim": "fifo"}, extra, victim=policies.Fifo())
    # Ages go on from preconditioning in the core; a policy in Python begins the run anew.
    fresh = {**extra, "precondition.fill": 0.0, "precondition.overwrite": 0.0}
    fresh["workload.requests"] = 12_000
    same({"gc.victim": "cost-benefit"}, fresh, victim=policies.CostBenefit())
    aged = {"policy": "cost-benefit", "age": "invalidation"}
    same({"gc.victim": aged}, fresh, victim=policies.CostBenefitByInvalidation())
    rates = {"gc.victim": "invalidation-rate"}
    same(rates, fresh, victim=policies.InvalidationRate())
    same({"gc.trigger": FREE_BLOCKS}, extra, trigger=FreeBlocks(6))
    same({"gc.trigger": FREE_BLOCKS | {"hard": 4}}, extra, trigger=FreeBlocks(6, 4))
    used = {"policy": "used-space", "at": 0.9}
    same({"gc.trigger": used}, extra, trigger=policies.UsedSpace())
    fixed = {"policy": "fixed", "k": 1}
    same({"gc.concurrency": fixed}, extra, concurrency=policies.Fixed(1))
    if device != "superblocks":
        same({"alloc.placement": "round-robin"}, extra, placement=policies.RoundRobin())
        same({"alloc.placement": "least-busy"}, extra, placement=policies.LeastBusy())


def test_separations_are_their_twins() -> None:
    same({"alloc.separation": "dac"}, SEPARATED, separation=policies.Dac())
    same({"alloc.separation": "sepbit"}, SEPARATED, separation=policies.SepBit())
    same({"alloc.separation": "host-and-copies"}, SEPARATED, separation=policies.HostAndCopies())
    assert made({**SEPARATED, "alloc.separation": "sepbit"}).json["separation"]["classes"] == 6


def test_a_separation_names_the_oldest_block_of_a_class() -> None:
    chain = CountedChain()
    report = made(SEPARATED, separation=chain)
    assert report.gc.calls > 100
    assert chain.oldest > 50
    assert report.json["separation"]["classes"] == 3


class CountedChain(policies.Chain):
    oldest = 0

    def victim_among(self, pool: int, classes: list[ClassView]) -> int | tuple[str, int] | None:
        answer = super().victim_among(pool, classes)
        self.oldest += isinstance(answer, tuple)
        return answer


def written(device: ssdlab.Device, seed: int) -> list[int]:
    """Latencies of writes, most of them of few pages, until the device is at rest."""
    rng = np.random.default_rng(seed)
    pages = len(device.mapping)
    reach = np.where(rng.random(3000) < 0.7, pages // 8, pages)
    device.submit("write", rng.integers(0, reach))
    return list(device.run_until_idle().latency_ns)


def test_a_snapshot_keeps_what_a_separation_in_python_saves(tmp_path: Path) -> None:
    config = ssdlab.load_config(set={**SMALL, **SEPARATED})
    first = ssdlab.Device(config, separation=policies.KeptDac())
    written(first, 1)
    first.save(tmp_path / "x.snap")
    kept = {"alloc.separation": policies.KeptDac()}
    second = ssdlab.Device.load(tmp_path / "x.snap", config, set=kept)
    assert written(first, 2) == written(second, 2)
    assert first.erases.any()
    for other in ({"alloc.separation": policies.SepBit()}, {"alloc.separation": "dac"}):
        with pytest.raises(ssdlab.ConfigError, match=r"alloc\.separation is .* in the snapshot"):
            ssdlab.Device.load(tmp_path / "x.snap", config, set=other)


def test_a_power_cut_starts_a_separation_anew() -> None:
    config = ssdlab.load_config(set={**SMALL, **SEPARATED, "power.cut": "on-request"})
    dac = policies.Dac()
    device = ssdlab.Device(config, separation=dac)
    device.submit("write", np.arange(100))
    device.run_until_idle()
    assert dac.of[:100] == [0] * 100
    device.power_cut()
    device.mount()
    assert dac.of == [-1] * len(dac.of)
    device.write(0)
    device.run_until_idle()
    assert dac.of[:2] == [0, -1]


def test_a_separation_in_python_has_the_parity_too() -> None:
    extra = {**SEPARATED, "device.over_provisioning": 0.6, "raid.group": 4}
    core = made({**extra, "alloc.separation": "dac"})
    assert numbers(core) == numbers(made(extra, separation=policies.Dac()))
    assert core.gc.calls > 50


def test_a_separation_needs_both_questions() -> None:
    half = type("Half", (), {"of_write": lambda *_: 0, "classes": 2, "host_classes": 0})()
    with pytest.raises(ssdlab.ConfigError, match=r"Half has no of_copy\(\)"):
        made({}, separation=half)


class OneChannel(policies.Fixed):
    """At most one channel collects; `counted` has no line of its own in the binding."""

    def counted(self) -> str:
        return "channels"


def test_hook_of_the_core_reaches_python() -> None:
    always = {"policy": "adaptive", "theta1": 0.0, "theta2": 0.0, "gmax": 1}
    same({"gc.concurrency": always}, PLANES, concurrency=OneChannel(1))
    pools = made(PLANES, concurrency=policies.Fixed(1))
    assert numbers(pools) != numbers(made(PLANES, concurrency=OneChannel(1)))


def test_idle_trigger_is_its_twin() -> None:
    idle = {"policy": "idle", "after": "2 ms"}
    arrivals = {
        "host.mode": "open",
        "workload.arrival": {"kind": "poisson", "interval": "2500 us"},
    }
    ours, theirs = (
        made({**arrivals, "gc.trigger": idle}),
        made(arrivals, trigger=policies.Idle()),
    )
    assert numbers(ours, without_verdict=True) == numbers(theirs)


def test_all_candidates_are_sorted_by_score() -> None:
    amount = {"gc.amount": "all-candidates"}
    same({"gc.victim": "greedy"}, amount, victim=GreedyByScore())
    with pytest.raises(ssdlab.ConfigError, match=r"policies\.GreedyBySelect has select\(\)"):
        made(amount, victim=GreedyBySelect())


def test_all_at_once_and_again() -> None:
    plugs = {
        "victim": GreedyByScore(),
        "trigger": FreeBlocks(6),
        "concurrency": policies.Fixed(2),
        "placement": policies.RoundRobin(),
    }
    first, second = made({}, **plugs), made({}, **plugs)
    assert numbers(first) == numbers(second)
    core = {
        "gc.victim": "greedy",
        "gc.trigger": FREE_BLOCKS,
        "gc.concurrency": {"policy": "fixed", "k": 2},
        "alloc.placement": "round-robin",
    }
    assert numbers(first) == numbers(made(core), without_verdict=True)


def test_report_names_the_policy(tmp_path: Path) -> None:
    report = ssdlab.run(set=SMALL, victim=GreedyByScore(), progress=False, out=tmp_path / "run")
    name = "policies.GreedyByScore"
    assert report.config["gc.victim.policy"] == name
    assert report.provenance.external_policies == {"gc.victim": name}
    assert report.gc.victims_by_policy[name] + report.gc.victims_by_policy["reserve-greedy"] > 0
    assert made({}).provenance.external_policies == {}
    assert ssdlab.Report.read(tmp_path / "run").provenance == report.provenance
    with pytest.raises(ssdlab.ConfigError, match=rf"{name} is a policy in Python: pass it with"):
        ssdlab.run(report.config, progress=False)
    again = ssdlab.run(report.config, victim=GreedyByScore(), progress=False)
    assert numbers(again) == numbers(report)


def test_compare_takes_policies() -> None:
    done = ssdlab.compare(
        [ssdlab.load_config(set=SMALL)],
        vary={"gc.victim": ["greedy", GreedyByScore(), policies.Fifo()]},
        trigger=FreeBlocks(6),
        progress=False,
        jobs=2,
    )
    assert list(done.reports) == ["greedy", "policies.GreedyByScore", "policies.Fifo"]
    greedy, ours, fifo = done.reports.values()
    assert numbers(greedy) == numbers(ours)
    assert fifo.waf.total != greedy.waf.total
    assert set(fifo.provenance.external_policies) == {"gc.victim", "gc.trigger"}


def test_random_numbers_come_from_the_seed() -> None:
    class Lottery(Victim):
        def select(self, view: VictimView) -> int | None:
            return int(view.rng.choice(view.blocks))

    one, two, other = (
        made({"run.seed": seed, "workload.kind": "uniform"}, victim=Lottery()) for seed in (1, 1, 2)
    )
    assert numbers(one) == numbers(two)
    assert one.provenance.event_digest != other.provenance.event_digest


def test_views_may_be_kept() -> None:
    class Keeping(GreedyBySelect):
        def __init__(self) -> None:
            self.kept: list[tuple[VictimView, list[int]]] = []

        def select(self, view: VictimView) -> int | None:
            view.invalid[:] = -1
            if len(self.kept) < 200:
                self.kept.append((view, view.valid.tolist()))
            return super().select(view)

    keeping = Keeping()
    assert numbers(made({}, victim=keeping)) == numbers(made({}))
    assert len(keeping.kept) == 200
    for view, valid in keeping.kept:
        columns = (view.blocks, view.erases, view.since_seal, view.since_invalidation)
        assert {len(c) for c in columns} == {len(valid)}
        assert view.valid.tolist() == valid
        assert (view.invalid == -1).all()
        assert (np.diff(view.blocks) > 0).all()
        assert (view.since_seal >= view.since_invalidation).all()
        assert view.valid.dtype == np.int64


# ---------------------------------------------------------------- refusals


class Answers(Victim):
    """Returns the given answers."""

    def __init__(self, answer: Callable[[VictimView], Any]) -> None:
        self.answer = answer

    def select(self, view: VictimView) -> int | None:
        chosen: int | None = self.answer(view)
        return chosen


class Scores(Victim):
    """Returns the given scores."""

    def __init__(self, answer: Callable[[VictimView], Any]) -> None:
        self.answer = answer

    def score(self, view: VictimView) -> Any:  # noqa: ANN401
        return self.answer(view)


def not_candidate(view: VictimView) -> int:
    """A block of the pool that is open or erased."""
    first = view.pool * 32
    return min(set(range(first, first + 32)) - set(view.blocks.tolist()))


BAD: dict[str, tuple[Victim, str]] = {
    "open or erased": (Answers(not_candidate), r"which is (open|erased).*; expected a block id"),
    "foreign": (Answers(lambda v: (v.pool + 1) % 4 * 32), r"which is of pool \d: expected"),
    "beyond": (Answers(lambda _: 1 << 40), "block 1099511627776, which does not exist"),
    "negative": (Answers(lambda _: -1), "block -1, which does not exist"),
    "float": (Answers(lambda v: float(v.blocks[0])), r"returned \d+\.0 \(float\): expected a"),
    "bool": (Answers(lambda _: True), r"returned True \(bool\): expected a block id"),
    "string": (Answers(lambda _: "x" * 900), r"returned 'x{59}\.\.\. \(str\): expected"),
    "short": (Scores(lambda v: v.valid[1:]), r"score\(\) returned \d+ scores for \d+ candidates"),
    "NaN": (Scores(lambda v: v.valid * np.nan), r"score\(\) returned NaN as score 0 \(of \d+\)"),
    "no numbers": (Scores(lambda v: ["a"] * len(v.blocks)), r"score\(\) returned \["),
    "complex": (Scores(lambda v: v.valid * 1j), r"score\(\) returned array.*one number for each"),
    "two-dimensional": (Scores(lambda v: v.valid[None, :]), r"score\(\) returned array"),
    "nothing": (Scores(lambda _: None), r"score\(\) returned None \(NoneType\)"),
}


@pytest.mark.parametrize("mode", ["timed", "functional"])
@pytest.mark.parametrize("bad", BAD)
def test_bad_victims_are_refused(bad: str, mode: str) -> None:
    policy, words = BAD[bad]
    with pytest.raises(ssdlab.RunError, match=words) as raised:
        made({"run.mode": mode, "precondition.fill": 0.9}, victim=policy)
    message = str(raised.value)
    assert f"victim policy test_policy.{type(policy).__name__}" in message
    assert ", pool " in message
    assert " host pages" in message  # where it is when nothing has a time yet
    assert not raised.value.report.completed


def test_faults_have_a_time() -> None:
    with pytest.raises(ssdlab.RunError, match=r"at [1-9]\d* ns, pool \d: select\(\) returned"):
        made({"precondition.fill": 0, "precondition.overwrite": 0}, victim=BAD["bool"][0])


def test_number_like_answers_are_taken() -> None:
    plain = numbers(made({}))
    as_floats = Scores(lambda v: v.valid.astype(np.float32))
    for policy in (
        as_floats,
        Scores(lambda v: v.valid.tolist()),
        Scores(lambda v: v.valid.astype(np.uint16)),
        Scores(lambda v: np.repeat(v.valid * 1.0, 2)[::2]),
        Answers(lambda v: v.blocks[v.valid.argmin()]),
    ):
        assert numbers(made({}, victim=policy)) == plain


@pytest.mark.parametrize(
    ("plugs", "words"),
    [
        ({"trigger": type("T", (), {"wants": lambda *_: 1})()}, r"wants gave 1 \(int\)"),
        ({"trigger": type("T", (), {"wants": lambda *_: 1 / 0})()}, r"wants\(\) raised Zero"),
        (
            {"trigger": type("T", (), {"wants": lambda *_: False, "watches_pages": 3})()},
            r"watches_pages gave 3 \(int\)",
        ),
        (
            {"trigger": type("T", (), {"wants": lambda *_: False, "idle_after_ns": -3})()},
            "idle_after_ns is -3",
        ),
        (
            {"concurrency": type("C", (policies.Fixed,), {"counted": lambda _: "planes"})(1)},
            r"counted\(\) returned 'planes' \(str\): expected \"pools\", \"channels\" or "
            r"\"members\"",
        ),
        ({"concurrency": policies.Fixed(-1)}, r"limit\(\) returned -1: expected a number of pools"),
        (
            {"placement": type("P", (), {"place": lambda *_: 4})()},
            r"plane 4: expected a plane, 0 to 3",
        ),
        (
            {"placement": type("P", (), {"place": lambda *_: 0.5})()},
            r"place\(\) returned 0\.5 \(fl",
        ),
        ({"victim": type("V", (), {"select": lambda *_: None, "start": 3})()}, r"start\(\) raised"),
        (
            {"separation": type("S", (policies.Dac,), {"classes": 3, "of_write": lambda *_: 6})()},
            r"of_write\(\) returned class 6: expected a class, 0 to 2",
        ),
        (
            {
                "separation": type(
                    "S", (policies.SepBit,), {"classes": 3, "of_copy": lambda *_: 1}
                )()
            },
            r"of_copy\(\) returned class 1: expected a class, 2 to 2",
        ),
        (
            {
                "separation": type(
                    "S", (policies.Dac,), {"classes": 3, "victim_among": lambda *_: 6}
                )()
            },
            r"victim_among\(\) returned class 6: expected a class, 0 to 2",
        ),
        (
            {
                "separation": type(
                    "S", (policies.Dac,), {"classes": 3, "victim_among": lambda *_: "hot"}
                )()
            },
            r"victim_among\(\) returned 'hot' \(str\): expected None, a class, or "
            r"\(\"oldest\", class\)",
        ),
        (
            {
                "separation": type(
                    "S", (policies.Dac,), {"classes": 3, "victim_among": lambda *_: ("new", 1)}
                )()
            },
            r"victim_among\(\) returned \('new', 1\) \(tuple\): expected None",
        ),
        (
            {"separation": type("S", (policies.Dac,), {"classes": 200})()},
            r"classes is 200: expected a number of classes, 1 to \d+",
        ),
        (
            {"separation": type("S", (policies.Dac,), {"classes": 3, "host_classes": 6})()},
            r"host_classes is 6: expected a number of classes, 0 to 2",
        ),
    ],
)
def test_bad_answers_of_others_are_refused(plugs: dict[str, Any], words: str) -> None:
    with pytest.raises(ssdlab.RunError, match=words) as raised:
        made({}, **plugs)
    name = type(next(iter(plugs.values()))).__qualname__
    assert f".{name}" in str(raised.value)


def test_what_is_no_policy_is_refused() -> None:
    class Both(GreedyBySelect, GreedyByScore):
        pass

    for victim, words in (
        (Victim(), r"ssdlab\.policy\.Victim has no select\(\) or score\(\)"),
        (GreedyByScore, r"is a class: pass an instance, GreedyByScore\(\)"),
        ("greedy", "set it by its name"),
        (Both(), r"has both select and score"),
    ):
        with pytest.raises(ssdlab.ConfigError, match=words):
            made({}, victim=victim)
    with pytest.raises(ssdlab.ConfigError, match=r"gc\.victim: given twice"):
        made({"gc.victim": "fifo"}, victim=GreedyByScore())
    loaded = ssdlab.load_config(set={**SMALL, **DEVICES["superblocks"]})
    with pytest.raises(ssdlab.ConfigError, match="superblocks are filled plane after plane"):
        ssdlab.run(loaded, placement=policies.RoundRobin(), progress=False)
    with pytest.raises(ssdlab.ConfigError, match=r"sched\.order: takes no policy in Python"):
        made({"sched.order": GreedyByScore()})


def test_silent_policy_at_the_reserve_is_told() -> None:
    report = made({}, victim=Answers(lambda _: None))
    greedy = report.gc.victims_by_policy["reserve-greedy"]
    assert greedy == report.gc.calls > 0
    chose = f"the victim policy chose 0 of {greedy} victims, greedy {greedy}"
    assert any(chose in warning for warning in report.warnings)
    assert report.verdict.decided_by == "reserve"


@pytest.mark.parametrize("mode", ["timed", "functional"])
def test_policy_that_frees_nothing_ends(mode: str) -> None:
    fullest = Answers(lambda v: v.blocks[v.valid.argmax()])
    always = type("Always", (Trigger,), {"wants": lambda *_: True})()
    settings = {"run.mode": mode, "gc.blocking": {"scope": "device", "granularity": "job"}}
    with pytest.raises(ssdlab.RunError, match=r"test_policy\.Answers.*never frees space"):
        made({**settings, "device.over_provisioning": 0.4}, victim=fullest, trigger=always)


def test_no_space_names_the_policy() -> None:
    one_plane = type("OnePlane", (Placement,), {"place": lambda *_: 0})()
    with pytest.raises(
        ssdlab.RunError, match=r"cannot free.*alloc\.placement test_policy\.OnePlane"
    ):
        made({}, placement=one_plane)


BROKEN = """
import ssdlab
from running import SMALL

class Broken(ssdlab.policy.Victim):
    calls = 0
    def select(self, view):
        self.calls += 1
        if self.calls > 500:
            raise ValueError("out of ideas")
        return view.blocks[view.valid.argmin()]

{call}
"""


def script(text: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests/py")}
    command = [sys.executable, "-c", text]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_exception_is_shown_once() -> None:
    done = script(BROKEN.format(call="ssdlab.run(set=SMALL, victim=Broken(), progress=False)"))
    assert done.returncode == 1
    assert done.stderr.count("ValueError: out of ideas\n") == 2  # the traceback, and the message
    assert done.stderr.count("direct cause") == 1
    assert "line 10, in select" in done.stderr
    assert "RunError: " in done.stderr
    assert "victim policy __main__.Broken, " in done.stderr
    assert "panick" not in done.stderr


def test_exception_in_a_comparison_is_shown_once() -> None:
    call = """
loaded = ssdlab.load_config(set=SMALL)
done = ssdlab.compare([loaded, loaded], victim=Broken(), progress=False)
assert len(done.failures) == 2 and "Broken" in str(done.failures), done.failures
"""
    done = script(BROKEN.format(call=call))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.count("ValueError: out of ideas") == 1


def test_interrupt_inside_a_policy() -> None:
    class Slow(GreedyBySelect):
        calls = 0

        def select(self, view: VictimView) -> int | None:
            self.calls += 1
            if self.calls == 800:
                main = threading.get_ident()
                threading.Timer(0.05, signal.pthread_kill, [main, signal.SIGINT]).start()
                time.sleep(HANG_S)
            return super().select(view)

    for mode in ("timed", "functional"):
        with pytest.raises(ssdlab.Interrupted) as stopped:
            made({"run.mode": mode}, victim=Slow())
        assert stopped.value.report is not None
        assert not stopped.value.report.completed


def test_trigger_that_never_wants_leaves_the_reserve() -> None:
    class Never(Trigger):
        def wants(self, view: TriggerView) -> bool:
            return view.clock < 0

    report = made({}, trigger=Never())
    assert report.gc.foreground == report.gc.calls > 0


# ---------------------------------------------------------------- costs


def test_numpy_is_imported_when_it_is_needed() -> None:
    done = script("import ssdlab, ssdlab.cli, sys; assert 'numpy' not in sys.modules")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"precondition.steady_state": "mean-field"}, "cannot start in the mean field"),
        ({"alloc.frontiers": "single"}, "open blocks of their own"),
    ],
)
def test_a_separation_in_python_is_refused_where_others_are(
    keys: dict[str, object], why: str
) -> None:
    config = ssdlab.load_config(
        preset="greedy-8ch",
        set={"device.blocks_per_plane": 64, "device.user_capacity": "100 MiB", **keys},
    )
    with pytest.raises(ssdlab.ConfigError, match=why):
        ssdlab.run(config, separation=policies.Dac(), progress=False)
    with pytest.raises(ssdlab.ConfigError, match=why):
        ssdlab.Device(config, separation=policies.Dac())


def test_diverted_copies_are_those_of_the_measurement() -> None:
    device = {"channels": 1, "chips_per_channel": 1, "planes_per_chip": 1, "pages_per_block": 32}
    keys: dict[str, object] = {
        **{f"device.{key}": value for key, value in device.items()},
        "device.blocks_per_plane": 128,
        "device.over_provisioning": 0.12,
        "run.mode": "functional",
        "alloc.separation": "sepbit",
        "gc.trigger": {"policy": "free-blocks", "soft": 1},
        "gc.reserve": 1,
        "precondition.fill": 1.0,
        "workload.kind": "hot-cold",
        "workload.requests": 40_000,
        "workload.read": 0.0,
    }
    diverted = []
    for left_out in (0, 20_000, 39_000):
        of = {**keys, "workload.warmup_requests": left_out}
        report = ssdlab.run(preset="greedy-8ch", set=of, progress=False)
        assert report.separation is not None
        diverted.append(report.separation.diverted_copies)
    assert diverted[0] > 1.5 * diverted[1] > 10 * diverted[2] > 0
