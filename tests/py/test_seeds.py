"""Repetitions with several seeds: common random numbers, intervals, and when there is none."""

import json
import math
import random
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import ssdlab
from running import SMALL, SMALL_TOML, refused, ssdlab_command
from ssdlab.display.numbers import on_page
from ssdlab.html.compare_page import comparison_page
from ssdlab.html.run_page import value_at
from ssdlab.results.comparison import MEASURES
from ssdlab.results.intervals import ONE_SEED, UNDECIDED, Estimate, estimate, order, paired_ratio
from test_html_page import Reader

VICTIMS = ["greedy", "fifo", "random"]


def compared(**more: object) -> ssdlab.Comparison:
    config = ssdlab.load_config("greedy-8ch", set={**SMALL, **more})
    return ssdlab.compare(config, vary={"gc.victim": VICTIMS}, seeds=4, progress=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("seeds") / "c"
    config = ssdlab.load_config("greedy-8ch", set=SMALL)
    vary = {"gc.victim": VICTIMS}
    ssdlab.compare(config, vary=vary, seeds=4, out=out, progress=False)
    return out


def test_formulas() -> None:
    one = estimate([1, 2, 3, 4, 5])
    assert (one.n, one.mean) == (5, 3)
    assert one.stddev == pytest.approx(math.sqrt(2.5))
    assert one.ci95 == pytest.approx(2.7764451 * math.sqrt(2.5 / 5))
    pairs = paired_ratio([2, 8], [1, 2])
    assert pairs
    assert pairs.ratio == pytest.approx(math.sqrt(8))
    width = 12.7062047 * math.log(2) / 2
    assert pairs.low == pytest.approx(pairs.ratio / math.exp(width))
    assert pairs.high == pytest.approx(pairs.ratio * math.exp(width))


def test_no_interval_without_spread() -> None:
    assert estimate([0.1, 0.1, 0.1]).ci95 is None
    assert estimate([0.1, 0.1, 0.1]) == Estimate(3, 0.1, 0.0, None)
    same = paired_ratio([2, 4], [1, 2])
    assert same
    assert (same.ratio, same.low, same.high) == (2, None, None)
    assert paired_ratio([0, 1], [1, 1]) is None


ORDERS = [
    ((0.9, 0.8, 0.99), "lower"),
    ((0.9, 0.8, 1.0), UNDECIDED),
    ((0.9, 0.8, 1.01), UNDECIDED),
    ((1.1, 1.0, 1.2), UNDECIDED),
    ((1.185, 0.37, 2.0), UNDECIDED),
    ((1.1, 1.001, 1.2), "higher"),
    ((0.9, None, None), "lower"),
    ((1.1, None, None), "higher"),
    ((1.0, None, None), "equal"),
]


@pytest.mark.parametrize(("ratio", "expected"), ORDERS)
def test_the_interval_decides(
    ratio: tuple[float, float | None, float | None], expected: str
) -> None:
    assert order(*ratio) == expected


def with_number(
    by_label: dict[str, list[float]],
    key: tuple[str, ...] = ("waf", "total"),
    invalid: Mapping[str, str] = MappingProxyType({}),
    seeds: slice = slice(1, None),
) -> ssdlab.Comparison:
    """A comparison whose write amplification, or number `key`, is as given, seed by seed.

    `invalid`: by label the warning that invalidates its `seeds`, by default all but the first.
    """
    base = ssdlab.run("greedy-8ch", set=SMALL, progress=False).json
    base = {**base, "warnings": [], "invalidating": 0}
    repetitions = {
        label: {seed: _changed(base, key, value, seed) for seed, value in enumerate(values, 1)}
        for label, values in by_label.items()
    }
    for label, why in invalid.items():
        for seed, report in [*repetitions[label].items()][seeds]:
            warned = report.json | {"warnings": [why], "invalidating": 1}
            repetitions[label][seed] = ssdlab.Report.of(json.dumps(warned))
    firsts = {label: by_seed[1] for label, by_seed in repetitions.items()}
    return ssdlab.Comparison(firsts, repetitions=repetitions)


def _changed(
    base: Mapping[str, Any], key: tuple[str, ...], value: float, seed: int
) -> ssdlab.Report:
    held = json.loads(json.dumps(base))
    held["provenance"]["seed"] = seed
    reduce(lambda part, name: part[name], key[:-1], held)[key[-1]] = value
    return ssdlab.Report.of(json.dumps(held))


RANKED: list[tuple[dict[str, list[float]], list[str], str]] = [
    (
        {"a": [2.0, 2.1, 1.9], "b": [1.0, 1.06, 0.96], "c": [3.0, 3.2, 2.8]},
        ["b"],
        "b writes 50 % less than a; c writes the most, 50 % more than a.",
    ),
    (
        {"a": [2.0, 2.1, 1.9], "b": [2.05, 1.95, 2.1], "c": [3.0, 3.2, 2.8]},
        ["a", "b"],
        "No configuration writes less than a (b cannot be distinguished from it); c writes the"
        " most, 50 % more than a.",
    ),
    (
        {"a": [2.0, 2.1, 1.9], "b": [1.9, 1.95, 2.1]},
        ["b", "a"],
        "Write amplification: no significant difference.",
    ),
    (
        {"a": [2.0, 2.1], "b": [2.0, 2.1], "c": [6.0, 6.3]},
        ["a", "b"],
        "No configuration writes less than a (equal: b); c writes the most, 3 times as much as a.",
    ),
    (
        {"a": [2.0, 2.1], "b": [1.0, 1.05], "c": [1.0, 1.05]},
        ["b", "c"],
        "b writes 50 % less than a (equal: c).",
    ),
    # The same in all pairs: no interval is needed.
    (
        {"a": [2.0, 2.0], "b": [1.5, 1.5]},
        ["b"],
        "b writes 25 % less than a.",
    ),
]


COSTS = [("latency", "write", "p99"), ("gc", "pages_moved"), ("flash", "erases")]


@pytest.mark.parametrize("key", COSTS)
def test_the_lowest_cost_is_marked_in_columns_that_rank_nothing(key: tuple[str, ...]) -> None:
    done = with_number({"a": [9000, 9010], "b": [4000, 4010], "c": [4001, 4009]}, key)
    (answer,) = done.answers
    assert answer.text.startswith("Write amplification")
    assert answer.text.endswith(": equal in all.")
    assert [*answer.lowest.values()] == [("b", "c")]
    assert re.findall(r"^  ([abc] [*=]) ", done.summary(), re.MULTILINE) == ["b *", "c ="]
    page = comparison_page(done)
    assert [page.count(f'<span class="{one}">') for one in ("lowest", "tie")] == [1, 1]


@pytest.mark.parametrize(("by_label", "lowest", "sentence"), RANKED)
def test_nothing_is_called_lowest_inside_the_intervals(
    by_label: dict[str, list[float]], lowest: list[str], sentence: str
) -> None:
    done = with_number(by_label)
    assert done.lowest("waf") == lowest
    (answer,) = done.answers
    assert sentence in answer.sentences
    # The other numbers are those of one run.
    assert any("equal in all" in one for one in answer.sentences)
    apart = len(lowest) < len(by_label)
    assert answer.lowest == ({"waf": tuple(lowest)} if apart else {})
    assert answer.text in " ".join(done.summary().split())
    page = comparison_page(done)
    unbroken = answer.text.replace(" %", "\u00a0%")
    assert f'<p class="answer">{unbroken}</p>' in page
    assert page.count('<span class="lowest">') == apart
    assert page.count('<span class="tie">') == (len(lowest) - 1 if apart else 0)
    assert ("* lowest" in done.summary()) == apart
    undecided = sum(
        ratio.order == UNDECIDED
        for label in list(by_label)[1:]
        for key, ratio in done.ratios(label).items()
        if key == "waf"
    )
    assert page.count(f'class="open" title="{UNDECIDED}"') == undecided
    told = json.loads(done.to_json())
    assert told["answer"][0]["sentences"] == list(answer.sentences)
    assert [one["waf"]["order"] for one in told["ratios"]] == [
        done.ratios(label)["waf"].order for label in list(by_label)[1:]
    ]


THREE = {"a": [2.0, 2.1, 1.9], "b": [1.0, 1.06, 0.96], "c": [3.0, 3.2, 2.8]}
SHORT = "not in steady state: it still falls; write more (workload.requests)"
NOT_RANKED = [
    (
        ["b"],
        "No configuration writes less than a; c writes the most, 50 % more than a.",
        f"Not ranked: b: {SHORT}.",
    ),
    (
        ["a", "b"],
        "Only c is valid: write amplification 3.000,",
        f"Not ranked: a; b: {SHORT}.",
    ),
    (
        [*"abc"],
        "Nothing is ranked, since no run is valid.",
        f"Nothing is ranked, since no run is valid. a; b; c: {SHORT}.",
    ),
]


@pytest.mark.parametrize(("invalid", "first", "last"), NOT_RANKED)
def test_a_configuration_that_a_warning_invalidates_is_never_named(
    invalid: list[str], first: str, last: str
) -> None:
    done = with_number(THREE, invalid=dict.fromkeys(invalid, SHORT))
    (answer,) = done.answers
    assert answer.text.startswith(first)
    assert answer.text.endswith(last)
    assert not {one for best in answer.lowest.values() for one in best} & {*invalid}
    assert " ".join(done.summary().split()).count(answer.text) == 2
    assert on_page(answer.text).replace(" %", "\u00a0%") in comparison_page(done)
    assert not re.search(rf"^  [{''.join(invalid)}] [*=] ", done.summary(), re.MULTILINE)


def test_a_few_invalid_seeds_are_counted_and_stay_in_the_mean() -> None:
    whole = with_number(THREE)
    done = with_number(THREE, invalid={"b": SHORT}, seeds=slice(2, 3))
    assert done.invalid == {}
    (answer,), (before,) = done.answers, whole.answers
    sentence = "b: 1 of 3 seeds is invalid (not in steady state: it still falls)."
    assert answer.sentences == (*before.sentences, sentence)
    assert done.estimates("b") == whole.estimates("b")
    assert " ".join(done.summary().split()).count(sentence) == 2
    assert sentence in comparison_page(done)
    # What is left out is not told twice.
    (most,) = with_number(THREE, invalid={"b": SHORT}).answers
    assert "seeds" not in most.text
    alone = with_number({"b": THREE["b"]}, invalid={"b": SHORT})
    told = "b: 2 of 3 seeds are invalid (not in steady state: it still falls)."
    assert [one.text for one in alone.answers] == [told]
    assert told in comparison_page(alone)
    assert with_number({"b": THREE["b"]}).answers == []


def test_one_seed_has_no_winner() -> None:
    several = with_number({label: [2.0, 2.1] for label in VICTIMS})
    done = replace(several, repetitions={})
    assert done.lowest("waf") == []
    (answer,) = done.answers
    assert answer.text.lower().startswith(ONE_SEED)
    assert ONE_SEED in done.summary().lower()
    assert ONE_SEED in comparison_page(done).lower()
    assert "lowest" not in done.summary()


def test_intervals_cover_as_promised() -> None:
    """Of 2000 intervals of lognormal pairs 95 % hold the truth, give or take three deviations."""
    draw = random.Random(7)
    held = 0
    for _ in range(2000):
        noise = [math.exp(draw.gauss(0, 0.5)) for _ in range(5)]
        values = [1.3 * x * math.exp(draw.gauss(0, 0.1)) for x in noise]
        found = paired_ratio(values, noise)
        assert found
        assert found.low
        assert found.high
        held += found.low <= 1.3 <= found.high
    assert abs(held / 2000 - 0.95) < 3 * math.sqrt(0.95 * 0.05 / 2000)


def test_all_configurations_see_the_same_seeds() -> None:
    done = compared()
    assert list(done.repetitions) == VICTIMS
    for seed in range(1, 5):
        runs = [done.repetitions[label][seed] for label in VICTIMS]
        assert {run.provenance.seed for run in runs} == {seed}
        hosts = [(run.host.pages_read, run.host.pages_written) for run in runs]
        assert len(set(hosts)) == 1
    assert len({run.host.pages_written for run in done.repetitions["greedy"].values()}) == 4
    alone = ssdlab.run("greedy-8ch", set=SMALL, seed=3, progress=False)
    assert alone.provenance.event_digest == done.repetitions["greedy"][3].provenance.event_digest
    wafs = list(done.values("fifo", "waf").values())
    assert done.estimates("fifo")["waf"] == estimate(wafs)
    assert done.ratios("fifo")["waf"] == paired_ratio(
        wafs, list(done.values("greedy", "waf").values())
    )


def test_a_percentile_that_one_run_lacks_has_no_mean() -> None:
    done = compared()
    assert "write_p99_9_ns" not in done.estimates("greedy")
    assert "write_p99_ns" in done.estimates("greedy")
    assert not done.without_spread


def test_files_say_the_same(folder: Path) -> None:
    done = ssdlab.Comparison.read(folder)
    told = json.loads((folder / "compare.json").read_text(encoding="utf-8"))
    assert told == json.loads(done.to_json())
    assert (folder / "summary.txt").read_text(encoding="utf-8") == done.summary()
    assert len(told["runs"]) == 12 == len((folder / "compare.csv").read_text().splitlines()) - 1
    assert {row["seed"] for row in told["runs"]} == {1, 2, 3, 4}
    assert (folder / told["repetitions"]["fifo"]["3"] / "report.json").exists()
    assert {*told["statistics"][0]} - {"label"} <= {*MEASURES}


@pytest.mark.parametrize(
    ("change", "interrupted"),
    [
        ({}, False),
        ({"completed": False}, True),
        ({"completed": False, "failures": {"fifo": "a reason"}}, False),
        ({"not_run": ["random"]}, True),
        ({"folders": {"greedy": "greedy/seed-1", "other": "other"}}, True),
    ],
)
def test_a_comparison_that_is_read_knows_whether_it_is_whole(
    change: dict[str, object], interrupted: bool, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "c")
    file = tmp_path / "c/compare.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**told, **change}), encoding="utf-8")
    done = ssdlab.Comparison.read(tmp_path / "c")
    assert done.interrupted == interrupted
    assert done.completed == (not interrupted and "failures" not in change)


def test_the_page_says_the_same(folder: Path) -> None:
    done = ssdlab.Comparison.read(folder)
    told = json.loads(done.to_json())
    page = Reader((folder / "report.html").read_text(encoding="utf-8"))
    assert {"statistics.1.waf.mean", "statistics.2.write_mean_ns.ci95"} <= set(page.numbers)
    for key, raws in page.numbers.items():
        assert json.loads(raws[0]) == value_at(told, key), key
    other = done.ratios("greedy", "fifo")["waf"]
    assert f"{other.ratio:.3f} [{other.low:.3f}, {other.high:.3f}]" in comparison_page(done, "fifo")


@pytest.mark.parametrize("mode", ["timed", "functional"])
def test_a_run_without_randomness_has_no_interval(mode: str) -> None:
    values = {
        **SMALL,
        "run.mode": mode,
        "workload.kind": "sequential",
        "workload.read": 0,
        "workload.arrival": "fixed",
        "precondition.order": "sequential",
        "precondition.overwrite": 0,
    }
    config = ssdlab.load_config("greedy-8ch", set=values)
    done = ssdlab.compare(config, vary={"gc.victim": ["greedy", "fifo"]}, seeds=3, progress=False)
    assert done.without_spread == ["greedy", "fifo"]
    assert all(one.ci95 is None for one in done.estimates("greedy").values())
    assert (
        "Nothing depends on the seed, so all repetitions are equal, in: greedy, fifo"
        in done.summary()
    )
    assert "nothing there depends on the seed" in comparison_page(done)


def test_one_configuration_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    done = ssdlab_command("run", "small.toml", "--seeds", "3", "--seed", "5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "one configuration, seeds 5 to 7" in done.stdout
    assert (tmp_path / "runs/small/small/seed-7/report.json").exists()


def test_repetitions_that_did_not_complete_do_not_count() -> None:
    done = compared()
    broken = ssdlab.Report.of(json.dumps({**done.repetitions["fifo"][2].json, "completed": False}))
    kept = {**done.repetitions, "fifo": {**done.repetitions["fifo"], 2: broken}}
    part = replace(done, repetitions=kept)
    assert part.estimates("fifo")["waf"].n == 3
    wafs = [
        [done.repetitions[label][seed].waf.total or 0 for seed in (1, 3, 4)]
        for label in ("fifo", "greedy")
    ]
    assert part.ratios("fifo")["waf"] == paired_ratio(*wafs)
    assert "Only 3 repetitions of fifo completed" in part.summary()
    one = {label: {1: by_seed[1]} for label, by_seed in done.repetitions.items()}
    alone = replace(done, repetitions=one)
    assert "Fewer than two repetitions completed" in alone.summary()
    assert "–" in comparison_page(alone)
    assert json.loads(alone.to_json())["statistics"] == [{"label": label} for label in VICTIMS]


def test_pairs_have_equal_seeds_whatever_their_order() -> None:
    """The mean of the ratios does not show which runs were paired: their interval does."""
    done = compared()
    greedy, fifo = done.repetitions["greedy"], done.repetitions["fifo"]
    turned = replace(done, repetitions={"greedy": greedy, "fifo": dict(reversed(fifo.items()))})
    assert turned.ratios("fifo") == pytest.approx(done.ratios("fifo"))
    held = {
        "greedy": {seed: greedy[seed] for seed in (4, 1, 2)},
        "fifo": {seed: fifo[seed] for seed in (1, 3, 4)},
    }
    pair = (
        [fifo[seed].waf.total or 0 for seed in (1, 4)],
        [greedy[s].waf.total or 0 for s in (1, 4)],
    )
    found = replace(done, repetitions=held).ratios("fifo")["waf"]
    assert found == paired_ratio(*pair)
    assert found.n == 2
    # By hand: Student's t for one degree of freedom is 12.706.
    logs = [math.log(value / base) for value, base in zip(*pair, strict=True)]
    width = 12.7062047 * abs(logs[0] - logs[1]) / 2
    assert found.low == pytest.approx(math.exp(sum(logs) / 2 - width))
    assert found.high == pytest.approx(math.exp(sum(logs) / 2 + width))


def test_what_was_not_run_is_listed() -> None:
    report = ssdlab.run("greedy-8ch", set=SMALL, progress=False)
    done = ssdlab.Comparison({"greedy": report}, interrupted=True, not_run=("fifo", "random"))
    assert "not run: fifo, random" in done.summary().splitlines()
    assert "Not run: fifo, random." in comparison_page(done)


def test_bad_seeds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    refused(ssdlab_command("run", "small.toml", "--seeds", "1", cwd=tmp_path), 2, "--seeds")
    words = ["compare", "small.toml", "--seeds", "2", "--vary", "run.seed=1,2"]
    refused(ssdlab_command(*words, cwd=tmp_path), 2, "run.seed: 1 in 1, 2 in 2", "--seed")
    last = str(2**63 - 1)
    words = ["run", "small.toml", "--seeds", "2", "--seed", last]
    refused(ssdlab_command(*words, cwd=tmp_path), 2, "run.seed", str(2**63))
    with pytest.raises(ssdlab.ConfigError, match="expected at least 2"):
        ssdlab.compare("greedy-8ch", seeds=1)


def test_a_run_with_seeds_is_a_comparison(tmp_path: Path) -> None:
    keys: dict[str, object] = {"workload.requests": 500, "device.blocks_per_plane": 32}
    keys["device.over_provisioning"] = 0.25
    done = ssdlab.run("greedy-8ch", set=keys, seeds=3, seed=5, out=tmp_path / "r", progress=False)
    assert [report.provenance.seed for _, report in done.runs] == [5, 6, 7]
    (label,) = done.repetitions
    assert done.estimates(label)["write_mean_ns"].n == 3
    once = ssdlab.run("greedy-8ch", set=keys, seed=6, progress=False)
    assert done.repetitions[label][6].latency == once.latency
    assert (tmp_path / "r" / "compare.json").is_file()


def test_what_seeds_of_a_run_exclude() -> None:
    device = ssdlab.Device("greedy-8ch")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"seeds": 1}, "seeds=1: expected at least 2"),
        ({"seeds": 2, "device": device}, "seeds: a run with a device starts from its one state"),
        ({"seeds": 2, "progress": print}, "progress: with seeds it is True or False"),
        ({"jobs": 2}, "jobs: a single run uses one core; it needs seeds"),
    ]
    for words, message in wrong:
        with pytest.raises(ssdlab.ConfigError, match=message):
            ssdlab.run("greedy-8ch", **words)
