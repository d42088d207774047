"""What decides: the keys that a sweep or a search names, beside a full grid and beside chance."""

import itertools
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import search_proofs as proofs
import ssdlab
from ssdlab.display.numbers import Value
from ssdlab.results.effects import Effect, analyse, effects_text

SPACE: dict[str, Any] = {
    "gc.victim": ["greedy", "fifo", "random", "cost-benefit"],
    "gc.trigger.soft": [*range(1, 9)],
    "gc.window": [1, 2, 4, 8],  # has no effect without time
}
Point = Mapping[str, Value]
LONG = {**proofs.TOY, "workload.requests": 20_000, "workload.warmup_requests": 6000}
ZIPF = {
    **LONG,
    "workload.kind": "zipf",
    "workload.requests": 24_000,
    "workload.warmup_requests": 8000,
    "device.over_provisioning": 0.5,
}
"""Most points are valid with these: the others are not judged."""


def effects(points: Sequence[Point], values: Sequence[float]) -> list[Effect]:
    """The keys that decide `values`, one for each point."""
    return [*analyse(points, [[one] for one in values]).effects]


def literal_shares(points: Sequence[Point], values: Sequence[float]) -> dict[str, float]:
    """The variance between the means of a key's values over the variance of all, on a full grid."""
    shares = {}
    for key in points[0]:
        groups: dict[Value, list[float]] = {}
        for point, value in zip(points, values, strict=True):
            groups.setdefault(point[key], []).append(value)
        between = statistics.pvariance([statistics.fmean(one) for one in groups.values()])
        shares[key] = between / statistics.pvariance(values)
    return shares


@pytest.fixture(scope="module")
def grid() -> list[str]:
    """The keys by what they decide over the full grid, computed without `effects`."""
    runs = [
        ssdlab.run(
            "greedy-8ch",
            set={**ZIPF, "gc.victim": victim, "gc.trigger.soft": soft, "gc.window": window},
            progress=False,
        )
        for victim, soft, window in itertools.product(*SPACE.values())
    ]
    points = [dict(zip(SPACE, at, strict=True)) for at in itertools.product(*SPACE.values())]
    shares = literal_shares(points, [run.waf.total or 0.0 for run in runs])
    return sorted(shares, key=lambda key: -shares[key])


def test_a_sweep_and_a_search_name_what_decides_over_the_full_grid(grid: list[str]) -> None:
    assert grid == ["gc.victim", "gc.trigger.soft", "gc.window"]
    how: dict[str, Any] = {"progress": False, "html": False}
    swept = ssdlab.sweep("greedy-8ch", vary=SPACE, set=ZIPF, **how)
    [text, *_] = swept.decided
    assert text.startswith("gc.victim ")
    assert ", gc.trigger.soft " in text
    assert "gc.window" not in text, "it decides nothing"
    assert f"what decides: {text}"[:60] in swept.summary()
    of_chosen, by_chance = [], 0
    for seed, values in ((0, LONG), *((seed, ZIPF) for seed in range(4))):
        how |= {"set": values, "space": SPACE, "minimize": "waf"}
        done = ssdlab.search("greedy-8ch", trials=60, sampler_seed=seed, **how)
        keys = [one.key for one in done.effects[0]]
        first, second = done.effects[0][:2]
        assert {*keys[:2]} == {*grid[:2]}, "random points agree"
        # The order is open where intervals overlap.
        assert keys[:2] == grid[:2] or first.low <= second.high
        by_chance += len(keys) > 2
        assert all(one.low <= one.share <= one.high for one in done.effects[0])
        drawn = [one for one in done.trials if one.drawn]
        assert 24 <= len(drawn) <= 16 + 60 // 4, "two rounds, and the last of the trials"
        assert len(done.trials) <= 60
        assert list(done.drawn) == [one for one in drawn if one.state == "completed"]
        chosen = [o for o in done.trials if not o.drawn and o.state == "completed"]
        wafs = [one.values[0] for one in chosen if one.values]
        of_chosen.append([one.key for one in effects([one.point for one in chosen], wafs)])
    assert any(one != grid[:2] for one in of_chosen), "where TPE has looked is no measure"
    assert by_chance <= 1, "a key that decides nothing is named in one of twenty answers"


def test_shares_are_those_of_the_variance() -> None:
    points: list[Point] = [
        {"a": a, "b": b, "c": c} for a, b, c in itertools.product("uvw", range(8), (1, 2))
    ]
    stream = random.Random(5)
    weight = {"u": 0.0, "v": 1.0, "w": 3.0}
    values = [
        -weight[str(one["a"])] - 0.3 * (float(str(one["b"])) // 2) + stream.gauss(0, 0.05)
        for one in points
    ]
    wanted = literal_shares(points, values)
    found = {one.key: one for one in effects(points, values)}
    assert [*found] == ["a", "b"]
    for key, one in found.items():
        assert one.share == pytest.approx(wanted[key], abs=0.01)
        assert one.low < wanted[key] < one.high


def test_a_key_that_only_some_points_have_decides_among_these() -> None:
    points: list[dict[str, Value]] = [
        {"policy": word, "other": i % 3} for word in ("x", "y") for i in range(24)
    ]
    for i, one in enumerate(points):
        if one["policy"] == "x":
            one["depth"] = 1 + i % 2
    stream = random.Random(7)
    values = [
        2.0 + (one["policy"] == "y") + 0.5 * (one.get("depth") == 2) + stream.gauss(0, 0.01)
        for one in points
    ]
    assert [one.key for one in effects(points, values)] == ["policy", "depth"]


def test_noise_is_seldom_told_to_be_a_key() -> None:
    stream = random.Random(3)
    told = 0
    for _ in range(200):
        points: list[Point] = [
            {"a": stream.choice("xyz"), "b": stream.randrange(9), "c": stream.random()}
            for _ in range(24)
        ]
        told += bool(effects(points, [stream.random() for _ in points]))
    assert told <= 20, "5 % are expected"
    assert effects([{"a": 1}] * 3, [1.0, 2.0, 3.0]) == []
    assert effects([{"a": i % 2} for i in range(20)], [1.0] * 20) == []


def test_the_limit_of_what_is_not_named_holds() -> None:
    # Two keys decide, which few points do not show: what is left unsaid is within the limit.
    stream = random.Random(9)
    every: list[Point] = [
        {"a": a, "b": b, "c": c} for a, b, c in itertools.product("uvwx", range(6), (1, 2, 3))
    ]
    held = unnamed = 0
    for _ in range(100):
        values = [
            3.0 + ("uvwx".index(str(o["a"])) + float(str(o["b"]))) * 0.1 + stream.gauss(0, 0.25)
            for o in every
        ]
        shares = literal_shares(every, values)
        some = stream.sample(range(len(every)), 12)
        found = analyse([every[i] for i in some], [[values[i]] for i in some])
        named = {one.key for one in found.effects}
        if not named >= {"a", "b"}:
            unnamed += 1
            assert found.limit is not None
            held += max(share for key, share in shares.items() if key not in named) <= found.limit
    assert unnamed > 50
    assert held >= 0.9 * unnamed
    few = analyse(every[:7], [[1.0]] * 7)
    assert (few.effects, few.limit, few.text("waf", "points")) == ((), None, "")


def test_seeds_that_disagree_widen_the_interval() -> None:
    points: list[Point] = [{"a": a, "b": b} for a in "uv" for b in range(12)]
    stream = random.Random(2)
    base = [1.0 + (one["a"] == "v") + stream.gauss(0, 0.1) for one in points]
    alike = [[value, value] for value in base]

    def apart(by: float) -> list[list[float]]:
        return [[v, v - by * (one["a"] == "v")] for one, v in zip(points, base, strict=True)]

    one, same, other = (analyse(points, v) for v in ([[v] for v in base], alike, apart(0.5)))
    assert same.effects == one.effects
    assert same.text("waf", "points").startswith("a ")
    assert "with 2 seeds" in same.text("waf", "points")
    assert "with one seed" in one.text("waf", "points")
    widths = [found.effects[0].high - found.effects[0].low for found in (same, other)]
    assert widths[1] > 2 * widths[0]
    # What one seed shows and the other does not is left out, and the limit covers it.
    opposite = analyse(points, apart(0.7))
    assert opposite.effects == ()
    assert opposite.limit == 1.0
    assert opposite.text("waf", "points").startswith("no key has a clear effect on the waf")


def test_shares_above_nothing_are_not_printed_as_nothing() -> None:
    assert effects_text([Effect("a", 0.08, 0.0034, 0.241)]) == "a 8 % (0.3 to 24 %)"


@pytest.mark.parametrize("key", ["run.seed", "workload.seed"])
def test_seeds_are_never_ranked(key: str) -> None:
    vary = {key: [1, 2, 3], "gc.trigger.soft": [1, 4, 8]}
    done = ssdlab.sweep("greedy-8ch", set=proofs.TOY, vary=vary, progress=False, html=False)
    text = done.summary()
    assert f"{key} varies, so nothing is ranked: no seed is better than another." in text
    assert "--seeds 3" in " ".join(text.split())
    assert "lowest" not in text
    assert "what decides" not in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("seed=")] == [
        *(f"seed={seed}" for seed in (1, 1, 1, 2, 2, 2, 3, 3, 3))
    ]
