"""Searches: spaces, bounds, what is found, resumption, rungs, traces, tests, refusals, the page."""

import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import search_proofs as proofs
import ssdlab
from policies import Fifo, GreedyByScore
from running import COMMAND, HANG_S, SMALL_TOML, STEADY, refused, sets, ssdlab_command
from ssdlab.config.resolve import load_config
from ssdlab.results.names import BEST, RUNS, SEARCH_JSON, STORAGE, TRIALS_CSV
from ssdlab.results.search import Search
from ssdlab.running.execution import Execution
from ssdlab.running.runner import PlannedRun, Threads, Work
from ssdlab.searching import everything
from ssdlab.searching.constraint import constraint_of
from ssdlab.searching.metric import known_metrics
from ssdlab.searching.plan import Goals, Requests, design_search, rungs_of
from ssdlab.searching.sampling import STUDY
from ssdlab.searching.search import DRAWN, OF_TRIALS, run_search, search_options
from ssdlab.searching.space import key_text, space_of

FEW = STEADY
OF_TRACES = {key: one for key, one in FEW.items() if not key.startswith("workload.")}
SPACE: dict[str, object] = {
    "gc.victim": ["greedy", "fifo", "d-choices"],
    "gc.victim.d": "log:1:32",
    "gc.trigger.soft": "1:6",
}
OP = "device.over_provisioning"


def searched(**more: Any) -> Search:  # noqa: ANN401
    how = {"set": FEW, "space": SPACE, "minimize": "waf", "trials": 20, "progress": False}
    return ssdlab.search("greedy-8ch", **{**how, "html": False, **more})


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Search:
    out = tmp_path_factory.mktemp("searches") / "s"
    return searched(subject_to="erases < 0.95 * fifo", seeds=2, out=out, html=True)


# ---------------------------------------------------------------- spaces


def keys_of(given: dict[str, object]) -> list[str]:
    return [key_text(one.key, one.when) for one in space_of(given).dimensions]


def test_a_parameter_exists_with_its_policy_only() -> None:
    assert keys_of({"gc.victim.d": "1:8", "gc.victim": ["fifo", "d-choices"]}) == [
        "gc.victim",
        "gc.victim.d if gc.victim=d-choices",
    ]
    assert keys_of({"gc.victim": ["d-choices"], "gc.victim.d": "1:8"})[1] == "gc.victim.d"
    tables = {"gc.victim": [{"policy": "d-choices", "d": 3}, "d-choices"], "gc.victim.d": [4, 5]}
    assert space_of(tables).size == 4  # conditions name words


def test_conditions_chain_and_count() -> None:
    space = space_of(
        {
            "gc.window if gc.path=copyback": [1, 2],
            "gc.path if gc.victim=greedy": ["controller", "copyback"],
            "gc.victim": ["greedy", "fifo"],
        }
    )
    points = [space.shown(one) for one in space.points()]
    assert len(points) == space.size == 4
    assert {"gc.victim": "fifo"} in points
    assert {"gc.victim": "greedy", "gc.path": "controller"} in points


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "nothing to search"),
        ({"gc.victim": []}, "the list of values is empty"),
        ({"gc.window": "9:1"}, 'space={"gc.window": "9:1"}: 9 is not below 1'),
        ({"gc.windows": None}, "space: gc.windows: has no words of its own"),
        ({"gc.victims": None}, "did you mean gc.victim?"),
        ({"gc.window if gc.path": [1]}, 'found "if gc.path"'),
        ({"gc.window if gc.pat=x": [1], "gc.path": ["copyback"]}, "did you mean gc.path?"),
        ({"gc.window if gc.path=copybak": [1], "gc.path": ["copyback"]}, "did you mean copyback?"),
        ({"a if b=x": ["y"], "b if a=y": ["x"]}, "depend on each other"),
        ({"gc.victim": ["fifo"], "gc.victim.d": "1:8"}, "none of the values of gc.victim"),
        ({"gc.victim": ["fifo", "fifo"]}, "two values are called fifo"),
        ({"gc.window if gc.path=a": [1], "gc.window": [2], "gc.path": ["a"]}, "given twice"),
    ],
)
def test_bad_spaces_are_explained(given: dict[str, object], why: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=re.escape(why)):
        space_of(given)


def test_all_has_every_question_and_its_words_load() -> None:
    space = space_of({"all": None, "gc.victim": ["greedy", "fifo"]})
    keys = {one.key for one in space.dimensions}
    assert {*everything.KEYS} <= keys
    of = {one.key: one for one in space.dimensions}
    assert of["gc.victim"].labels == ("greedy", "fifo")
    assert "gc.victim.d" not in keys
    assert "gc.victim.ties if gc.victim=greedy" in [key_text(o.key, o.when) for o in of.values()]
    for key, words in everything.UNLISTED.items():
        for word in words:
            scope = {} if key.endswith("scope") else {"gc.blocking.scope": "block"}
            load_config("greedy-8ch", set={**scope, key: word})
        with pytest.raises(ssdlab.ConfigError) as caught:
            load_config("greedy-8ch", set={key: "no such word"})
        told = re.findall(r'"([a-z]+)"', str(caught.value).split("expected")[1])
        assert told == words


def test_a_whole_space_leaves_out_what_is_excluded() -> None:
    done = searched(space="all", trials=8)
    assert "gc.path = selective" in done.notes[0]
    assert all(one.point["gc.path"] != "selective" for one in done.trials)


# ---------------------------------------------------------------- bounds and metrics


@pytest.mark.parametrize(
    ("text", "why", "at"),
    [
        ("waf <", "expected a number", 5),
        ("wav < 2", "did you mean waf?", 0),
        ("waf < 1.02 * gredy", "did you mean greedy?", 13),
        ("waf < 2 ms", "waf is a pure number", 8),
        ("latency.read.p99 < 2 MiB", "is in ns", 21),
        ("waf == 3", 'found "="', 4),
        ("waf < 1.02 greedy", "expected *, a unit, or the end", 11),
        ("waf < 2 3", "behind the end", 8),
        ("waf < 0 * greedy", "not above 0", 0),
        ("__import__('os')", 'found "("', 10),
        ("", "the name of a metric", 0),
        ("latency.read < 2 ms", "it has latency.read.", 0),
    ],
)
def test_a_broken_bound_has_a_caret_at_the_place(text: str, why: str, at: int) -> None:
    with pytest.raises(ssdlab.ConfigError, match=re.escape(why)) as caught:
        constraint_of(text)
    assert str(caught.value).splitlines()[-1] == "    " + " " * at + "^"


def test_bounds_are_read_with_their_units() -> None:
    assert constraint_of("latency.read.p99_9<=2ms").number == 2e6
    assert constraint_of("waf < greedy").reference == "greedy"
    bound = constraint_of("waf > 1.5 * baseline")
    assert bound.excess(1.5, 1.5) > 0
    assert bound.excess(1.6, 1.5) < 0
    assert constraint_of("waf >= 1.5").excess(1.5, 1.5) == 0
    assert constraint_of("gc.calls < 0").excess(2, 0) == 2


def test_metrics_are_the_numbers_of_a_report() -> None:
    report = ssdlab.run("greedy-8ch", set=FEW, progress=False)
    for name, column in known_metrics().items():
        value = column.of_report(report)
        assert value is None or isinstance(value, int | float), name
    assert not any(name.startswith("speed") for name in known_metrics())


# ---------------------------------------------------------------- what is found


def test_the_planted_optimum_is_found() -> None:
    found = toy(sampler_seed=1)
    assert found.best is not None
    assert found.best.values is not None
    assert found.best.values[0] <= proofs.OPTIMUM * proofs.TOY_NEAR
    assert DRAWN <= [one.drawn for one in found.trials].count(True) <= DRAWN + 115 // OF_TRIALS
    assert len({one.number for one in found.trials}) == len(found.trials) <= proofs.TOY_TRIALS


def toy(**more: Any) -> Search:  # noqa: ANN401
    how = {"set": proofs.TOY, "space": proofs.TOY_SPACE, "trials": proofs.TOY_TRIALS, "seed": 1}
    return searched(**{**how, **more})


@pytest.mark.slow
def test_the_planted_optimum_is_found_from_most_seeds() -> None:
    best, point = proofs.enumerated()[0]
    assert best == proofs.OPTIMUM
    assert point["gc.victim"] == "cost-benefit"
    near = 0
    for seed in proofs.TOY_SEEDS:
        found = toy(sampler_seed=seed).best
        assert found is not None
        assert found.values is not None
        near += found.values[0] <= proofs.OPTIMUM * proofs.TOY_NEAR
    assert near >= 8


def test_the_best_point_is_the_best_that_is_allowed(done: Search) -> None:
    assert done.best is not None
    ran = [one for one in done.trials if one.state == "completed"]
    allowed = [one for one in ran if one.excess["erases < 0.95 * fifo"] <= 0]
    assert done.best.values == min(one.values for one in allowed if one.values)
    assert len({json.dumps(one.point) for one in done.trials}) == len(done.trials)
    assert len(done.trials) <= 20, "those that tell what decides are among them"
    assert all(one.drawn for one in done.trials[20 - 20 // OF_TRIALS :])


def test_best_toml_runs_and_gives_the_same(done: Search) -> None:
    assert done.folder is not None
    assert done.best is not None
    report = ssdlab.run(done.folder / BEST, progress=False)
    other = ssdlab.run(done.folder / BEST, seed=int(report.provenance.seed) + 1, progress=False)
    values = [one.waf.total or 0.0 for one in (report, other)]
    assert done.best.values == pytest.approx((statistics.fmean(values),))


def test_the_test_has_other_seeds_and_intervals(done: Search) -> None:
    seeds, others = done.identity["seeds"], done.identity["test_seeds"]
    assert not {*seeds} & {*others}
    found = done.tested[0].find("waf")
    assert found is not None
    assert found.ratio is not None
    assert found.ratio.n == 5
    assert "Tested with 5 other seeds" in done.answer
    run = done.tested[0].find("erases < 0.95 * fifo")
    assert run is not None
    assert (run.of, run.column) == ("fifo", "erases")


def test_a_gain_that_does_not_hold_is_told() -> None:
    # Victims by chance: which one is best with one seed says nothing about others.
    found = searched(
        space={"gc.victim.d": [*range(28, 40)]},
        set={**FEW, "gc.victim": "d-choices", "gc.victim.d": 34},
        trials=20,
    )
    assert any("The gain" in text for text in found.warnings)


def test_several_objectives_have_a_front(tmp_path: Path) -> None:
    found = searched(
        minimize=["waf", OP],
        space={**SPACE, OP: "0.4:0.6"},
        out=tmp_path / "s",
    )
    assert len(found.front) > 1
    values = [one.values for one in found.front if one.values]
    assert values == sorted(values)
    assert [v[1] for v in values] == sorted((v[1] for v in values), reverse=True)
    files = {file.name for file in (tmp_path / "s/front").iterdir()}
    assert files == {f"{one.number}.toml" for one in found.front}
    assert len(found.tested) == min(8, len(found.front))


def test_the_highest_is_found() -> None:
    found = searched(maximize="waf", minimize=[])
    assert found.best is not None
    values = [one.values for one in found.trials if one.state == "completed"]
    assert found.best.values == max(one for one in values if one)


@pytest.mark.parametrize("parallel", [1, 8])
@pytest.mark.parametrize("sampler", ["random", "nsgaii", "grid", "tpe"])
def test_a_small_space_is_tried_as_a_whole(sampler: str, parallel: int) -> None:
    space = {"gc.victim": ["greedy", "fifo"], "gc.trigger.soft": [2, 4]}
    found = searched(space=space, sampler=sampler, trials=50, parallel=parallel)
    assert len(found.trials) == found.size == 4
    assert found.ending == "every point of the space has been tried"


def test_policies_in_python_are_words_of_the_space() -> None:
    space: dict[str, object] = {"gc.victim": ["greedy", "fifo", Fifo(), GreedyByScore()]}
    found = searched(space=space, trials=4, test_seeds=2)
    values = {str(one.point["gc.victim"]): one.values for one in found.trials}
    assert values["greedy"] == values["policies.GreedyByScore"]
    assert values["fifo"] == values["policies.Fifo"] != values["greedy"]


# ---------------------------------------------------------------- what is not possible


def test_a_point_that_is_not_possible_is_told_and_left() -> None:
    space: dict[str, object] = {
        "alloc.separation": ["none", "two-regions", "dac"],
        "alloc.separation.classes": "2:16",
        "gc.victim": ["greedy", "fifo"],
    }
    found = searched(set={**FEW, OP: 0.3}, space=space, trials=15)
    bad = [one for one in found.trials if one.state == "not possible"]
    assert bad
    assert all("classes open" in one.why for one in bad)
    assert found.best is not None
    assert sum(map(len, found.reasons["not possible"].values())) == len(bad)


@pytest.mark.parametrize(
    ("space", "why"),
    [
        ({OP: ["0.0001", "0.0002"]}, "no point is possible"),
        ({"gc.victim": ["greedy", "gredy"]}, "space: gc.victim"),
        ({"gc.vitcim": ["greedy", "fifo"]}, "gc.vitcim"),
        ({"run.seed": [1, 2]}, "seeds are no part of a space"),
    ],
)
def test_a_space_without_points_is_refused(space: dict[str, object], why: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=re.escape(why)):
        searched(space=space)


def test_a_bound_that_nothing_meets_names_the_nearest() -> None:
    found = searched(subject_to=["waf < 0.5 * greedy"])
    assert found.best is None
    assert found.nearest is not None
    least = min(one.excess["waf < 0.5 * greedy"] for one in found.trials)
    assert found.nearest.excess["waf < 0.5 * greedy"] == least > 0
    assert (
        f"{found.nearest.label}, misses waf < 0.5 * greedy by {100 * least:.2g} %" in found.misses
    )


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"minimize": "latency.write.p999"}, "did you mean latency.write.p99"),
        ({"minimize": []}, "nothing to search for"),
        ({"minimize": ["waf", "waf.total"]}, "named twice"),
        ({"sampler": "tpee"}, "did you mean tpe?"),
        ({"pruner": "hyperbnd"}, "did you mean hyperband?"),
        ({"pruner": "hyperband"}, "needs rungs"),
        ({"rungs": 3, "minimize": ["waf", "gc.calls"]}, "several objectives"),
        ({"sampler": "grid"}, 'sampler="grid": gc.victim.d, gc.trigger.soft'),
        ({"trials": 0}, "trials=0"),
        ({"trials": "many"}, "trials: found 'many'; expected a whole number"),
        ({"space": ["gc.victim"]}, "space: found ['gc.victim']; expected a mapping of keys"),
        ({"minimize": 3}, "minimize: found 3; expected a text, or a list of texts"),
        ({"test_seeds": 1}, "test_seeds=1: expected at least 2"),
        ({"across": "median"}, "expected mean or worst"),
        ({"test_traces": ["x"]}, "needs traces"),
        ({"minimize": "latency.write.p99_9"}, "baseline has no such number"),
        ({"subject_to": "waf < remapcom"}, "the reference remapcom: set: device.blocks_per_plane"),
        ({"set": {}, "subject_to": "waf < remapcom"}, "has other requests than the configuration"),
        ({"set": {**FEW, "metrics.op_log": True}}, "a search writes no logs"),
    ],
)
def test_bad_input_is_explained(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=re.escape(why)):
        searched(**more)


def test_a_sampler_that_is_not_installed_is_told() -> None:
    with pytest.raises(ssdlab.ConfigError, match='sampler="cmaes": '):
        searched(sampler="cmaes")


# ---------------------------------------------------------------- again, and on


def same(one: Search, other: Search) -> bool:
    kept = ("trials", "tested", "answer", "effects", "baseline", "best")
    return all(one.json[key] == other.json[key] for key in kept)


def test_a_search_repeats_to_the_bit_with_any_number_of_threads() -> None:
    first = searched(jobs=1)
    assert same(first, searched(jobs=3))
    assert not same(first, searched(sampler_seed=1))


class StoppingThreads(Threads):
    """Stops as Ctrl-C does, after so many runs."""

    left = 0

    def run(self, work: Work) -> None:
        inner, end = work.next, work.end

        def following() -> PlannedRun | None:
            if StoppingThreads.left <= 0:
                work.interrupt()
            StoppingThreads.left -= 1
            return inner()

        work.next, work.end = following, end  # type: ignore[method-assign]
        super().run(work)


@pytest.mark.parametrize(("sampler", "runs"), [("tpe", 1), ("tpe", 13), ("nsgaii", 7)])
def test_a_search_that_was_stopped_goes_on_as_if_it_had_not(
    runs: int, sampler: str, tmp_path: Path
) -> None:
    design = design_search("greedy-8ch", SPACE, Goals(["waf"]), Requests(seed=1), FEW)
    how = search_options(design, sampler, trials=14, parallel=5)
    in_part = Execution(out=tmp_path / "part", progress=False, html=False)
    in_whole = replace(in_part, out=tmp_path / "whole")
    whole = run_search(design, how, Threads(2), in_whole)
    StoppingThreads.left = runs
    part = run_search(design, how, StoppingThreads(1), in_part)
    assert part.interrupted
    assert len(part.trials) < 14
    again = run_search(design, how, Threads(2), in_part)
    assert same(whole, again)
    assert whole.runs == again.runs
    assert trials_of(tmp_path / "whole") == trials_of(tmp_path / "part")


def trials_of(folder: Path) -> list[object]:
    """What Optuna reads from the storage."""
    import optuna
    from optuna.storages.journal import JournalFileBackend

    storage = optuna.storages.JournalStorage(JournalFileBackend(str(folder / STORAGE)))
    found = optuna.load_study(study_name=STUDY, storage=storage).get_trials()
    return [(one.number, one.state, one.params, one.values, one.user_attrs) for one in found]


def test_more_trials_go_on_with_the_same_search(tmp_path: Path) -> None:
    whole = searched(trials=20, parallel=8)
    first = searched(trials=11, parallel=8, out=tmp_path / "s")
    more = searched(trials=20, parallel=8, out=tmp_path / "s")
    count = 11 - 11 // OF_TRIALS
    chosen = [(one.number, one.point, one.values) for one in first.trials[:count]]
    assert chosen == [(one.number, one.point, one.values) for one in whole.trials[:count]]
    assert all(one.drawn for one in first.trials[count:]), "the sampler has not heard of them"
    assert same(whole, more)
    assert same(more, Search.read(tmp_path / "s"))


def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SMALL_TOML)
    words = ["search", "a.toml", "--space", "gc.victim=greedy,fifo,d-choices", "--space"]
    words += ["gc.victim.d=log:1:32", "--space", "gc.trigger.soft=1:6", "--minimize", "waf"]
    words += ["--trials", "24", "--jobs", "1", "--quiet", "--no-html", "--out"]
    going = subprocess.Popen([*COMMAND, *words, "killed"], cwd=tmp_path)
    file, until = tmp_path / "killed" / RUNS, time.monotonic() + HANG_S
    while not (file.exists() and file.read_bytes().count(b"\n") >= 10):
        assert going.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    going.send_signal(signal.SIGKILL)
    going.wait()
    kept = file.read_bytes()
    file.write_bytes(kept + b'["half of a li')
    for out in ("killed", "whole"):
        assert ssdlab_command(*words, out, cwd=tmp_path).returncode == 0
    assert file.read_bytes().startswith(kept)
    for name in (TRIALS_CSV, BEST):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_another_search_in_the_folder_is_refused(tmp_path: Path) -> None:
    searched(trials=2, out=tmp_path / "s")
    for more, what in (
        ({"maximize": "waf", "minimize": []}, "minimize"),
        ({"sampler": "random"}, "sampler"),
        ({"space": {"gc.victim": ["greedy", "fifo"]}}, "space"),
        ({"seeds": 2}, "seeds"),
    ):
        with pytest.raises(ssdlab.OutputError, match=f"another search .*{what}.*force=True"):
            searched(trials=2, out=tmp_path / "s", **more)
    found = searched(trials=2, out=tmp_path / "s", sampler="random", force=True)
    assert found.identity["sampler"] == "random"


def test_a_budget_of_runs_ends_a_search() -> None:
    found = searched(trials=500, budget=20)
    assert found.ending == "the budget is spent"
    assert 8 <= len(found.trials) <= 32


# ---------------------------------------------------------------- rungs


def test_rungs_are_requests_then_seeds() -> None:
    assert [(one.divisor, one.seeds) for one in rungs_of(1, 4)] == [(1, 4)]
    assert [(one.divisor, one.seeds) for one in rungs_of(4, 3)] == [(9, 1), (3, 1), (1, 1), (1, 3)]
    assert [(one.divisor, one.seeds) for one in rungs_of(3, 1)] == [(9, 1), (3, 1), (1, 1)]


@pytest.mark.parametrize("pruner", ["successive-halving", "hyperband", "median"])
def test_points_are_given_up_on_short_runs(pruner: str) -> None:
    settles = {
        **proofs.TOY,
        "workload.kind": "uniform",
        "precondition.overwrite": 3,
        "workload.requests": 18_000,
        "workload.warmup_requests": 3600,
    }
    how: dict[str, Any] = {"set": settles, "rungs": 4, "seeds": 2, "pruner": pruner, "trials": 16}
    found = searched(**how)
    states = [one.state for one in found.trials]
    assert "given up" in states
    assert "completed" in states
    assert found.best is not None
    assert found.best.rung == 3
    assert all(one.rung == 3 for one in found.trials if one.state == "completed")
    assert same(found, searched(**how))
    # The baseline is a whole run, not a short one.
    runs = [
        ssdlab.run("greedy-8ch", set=settles, seed=seed, progress=False)
        for seed in found.identity["seeds"]
    ]
    assert found.baseline == (statistics.fmean(one.waf.total or 0 for one in runs),)


def test_short_runs_that_have_not_settled_rank_nothing() -> None:
    fresh = {**FEW, "precondition.overwrite": 0}
    found = searched(set=fresh, rungs=3, trials=8, space={"gc.victim": None})
    count = 8 - 8 // OF_TRIALS
    assert all(one.rung == 2 and one.unsettled == 2 for one in found.trials[:count])
    assert f"{count} points did not reach a steady state" in " ".join(found.warnings)


# ---------------------------------------------------------------- what a warning invalidates

SHORT = {**FEW, "workload.requests": 300}
UNSETTLED = "not in steady state: the host wrote 300 pages, fewer than the"


def test_a_search_without_valid_runs_recommends_nothing(tmp_path: Path) -> None:
    words = ["search", "greedy-8ch", *sets(SHORT), "--minimize", "waf", "--trials", "2"]
    words += ["--space", "gc.victim=greedy,fifo", "--out", "s"]
    made = ssdlab_command(*words, cwd=tmp_path)
    refused(made, 1, f"no point is valid: {UNSETTLED}", out_is_empty=False)
    found = Search.read(tmp_path / "s")
    assert found.best is found.nearest is None
    assert [one.state for one in found.trials] == ["invalid"] * 2
    assert found.baseline == (None,)
    assert found.answer.startswith("Nothing is ranked, since no run is valid.")
    assert UNSETTLED in found.answer
    assert not found.tested
    assert not (tmp_path / "s" / BEST).exists()
    assert "No point is valid." in (tmp_path / "s/report.html").read_text()


def test_what_rests_on_an_invalid_reference_is_refused(traces: list[Path]) -> None:
    why = re.escape(f'subject_to="waf < fifo": fifo is invalid: {UNSETTLED}')
    with pytest.raises(ssdlab.ConfigError, match=why):
        searched(set=SHORT, subject_to="waf < fifo")
    why = "^baseline is invalid, so points have no ratios to it: not in steady state"
    with pytest.raises(ssdlab.ConfigError, match=why):
        searched(traces=traces[:2], set={**OF_TRACES, "workload.until": "20 ms"})


def test_only_the_valid_points_are_ranked_and_an_invalid_baseline_is_not_quoted() -> None:
    # No device can keep 40 blocks of 64 erased with that spare: the reserve decides.
    space: dict[str, object] = {"gc.trigger.soft": [2, 40]}
    found = searched(space=space, set={**FEW, "gc.trigger.soft": 40})
    states = {one.point["gc.trigger.soft"]: one.state for one in found.trials}
    assert states == {2: "completed", 40: "invalid"}
    assert [one.label for one in found.ranked] == ["2"]
    assert found.best is found.ranked[0]
    assert found.baseline == (None,)
    assert "in baseline" not in found.answer
    assert (
        "Tested with 5 other seeds: write amplification has no ratio to baseline." in found.answer
    )
    assert "Not ranked: 40, which is invalid." in found.answer
    assert "invalid\n  1 point: the reserve decided, not your policy" in found.summary()
    name = "baseline; baseline on the test"
    assert f"Not compared with {name}: the reserve decided, not your policy" in found.answer


def test_a_point_that_is_invalid_on_the_test_gives_way(tmp_path: Path) -> None:
    # A device that begins without invalid pages writes less, and the test is too short to show it.
    files = []
    for name, requests in (("train", 6000), ("test", 1000)):
        files.append(tmp_path / f"{name}.ssdtrace")
        ssdlab.generate(
            "uniform", files[-1], bytes=4 << 20, requests=requests, seed=3, progress=False
        )
    space: dict[str, object] = {"precondition.overwrite": [0.0, 0.5]}
    found = searched(traces=files[:1], test_traces=files[1:], set=OF_TRACES, space=space)
    fresh, other = sorted(found.trials, key=lambda one: one.values or ())
    assert fresh.point == {"precondition.overwrite": 0.0}
    assert fresh.state == "invalid"
    assert fresh.why.startswith("on the test not in steady state: the host wrote over 73.3 %")
    assert found.best == other
    assert [one.number for one in found.tested] == [other.number]
    assert "Not ranked: 0.0, which is invalid." in found.answer


# ---------------------------------------------------------------- traces


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("traces")
    made = []
    for name, kind in (("a", "zipf"), ("b", "uniform"), ("c", "hot-cold")):
        file = folder / f"{name}.ssdtrace"
        how = {"bytes": 4 << 20, "requests": 3000, "seed": 3, "progress": False}
        ssdlab.generate(kind, file, **how)  # type: ignore[arg-type]
        made.append(file)
    return made


def test_traces_to_train_and_to_test_are_apart(traces: list[Path], tmp_path: Path) -> None:
    a, b, c = traces
    how: dict[str, Any] = {"set": OF_TRACES, "trials": 6, "test_seeds": 2}
    found = searched(traces=[a, b], test_traces=[c], **how)
    assert found.in_ratios
    assert found.baseline == (1.0,)
    assert "1 other trace and 2 other seeds" in found.answer
    worst = searched(traces=[a, b], test_traces=[c], across="worst", **how)
    for mean, most in zip(found.trials, worst.trials, strict=False):
        if mean.point == most.point and mean.values and most.values:
            assert most.values[0] >= mean.values[0]
    on_both = searched(traces=[a, b], **how)
    assert any("The test runs the traces of the search" in text for text in on_both.warnings)
    assert {one.case for one in on_both.tested[0].compared} == {"", "a", "b"}
    copy = tmp_path / "copy.ssdtrace"
    shutil.copy(a, copy)
    with pytest.raises(ssdlab.ConfigError, match="has the contents of traces"):
        searched(traces=[a], test_traces=[copy], **how)
    with pytest.raises(ssdlab.WorkloadError, match="no such file"):
        searched(traces=[a], test_traces=[tmp_path / "none"], **how)


def test_the_interval_of_a_test_is_over_its_seeds(traces: list[Path]) -> None:
    """The runs of the test made again, and Student's interval from its definition."""
    how: dict[str, Any] = {"set": OF_TRACES, "trials": 3, "test_seeds": 3}
    space: dict[str, object] = {"gc.victim": ["fifo", "d-choices", "random"]}
    a, b, c = traces
    found = searched(traces=[b], test_traces=[a, c], space=space, **how)
    assert found.best is not None
    point = {**OF_TRACES, **found.best.point}

    def waf(trace: Path, seed: int, keys: dict[str, Any]) -> float:
        run = ssdlab.run("greedy-8ch", trace=trace, set=keys, seed=seed, progress=False)
        return run.waf.total or 0.0

    seeds = found.identity["test_seeds"]
    logs = {
        trace: [math.log(waf(trace, one, point) / waf(trace, one, OF_TRACES)) for one in seeds]
        for trace in (a, c)
    }
    student = 4.302652729911275  # of two degrees of freedom, 95 % of both sides

    def interval(values: list[float]) -> tuple[float, float, float]:
        centre = statistics.fmean(values)
        width = student * statistics.stdev(values) / math.sqrt(3)
        return math.exp(centre), math.exp(centre - width), math.exp(centre + width)

    expected = {trace.stem: interval(of) for trace, of in logs.items()}
    expected[""] = interval([statistics.fmean(pair) for pair in zip(*logs.values(), strict=True)])
    ratios = {one.case: one.ratio for one in found.tested[0].compared if one.what == "waf"}
    assert ratios.keys() == expected.keys()
    for case, ratio in ratios.items():
        assert ratio is not None
        assert ratio.n == 3
        assert (ratio.ratio, ratio.low, ratio.high) == pytest.approx(expected[case], rel=1e-9)


def test_a_trace_is_shortened_by_its_time(traces: list[Path]) -> None:
    design = design_search(
        "greedy-8ch", SPACE, Goals(["waf"]), Requests([traces[0]], rungs=3), OF_TRACES
    )
    counts = []
    for rung in design.rungs:
        config, _ = design.load({}, design.train[0], 1, rung.divisor)
        counts.append(ssdlab.run(config, progress=False).requests.completed)
    assert counts[2] == 3000
    assert counts[1] == pytest.approx(1000, rel=0.1)
    assert counts[0] == pytest.approx(333, rel=0.2)


# ---------------------------------------------------------------- the command and the page


def test_the_command_says_what_it_found(tmp_path: Path) -> None:
    config = load_config("greedy-8ch", set={**FEW, "run.name": "a"})
    (tmp_path / "a.toml").write_text(config.file_text())
    words = ["search", "a.toml", "--space", "gc.victim=greedy,fifo", "--space"]
    words += ["gc.trigger.soft=1:6 if gc.victim=fifo", "--minimize", "waf"]
    made = ssdlab_command(*words, "--subject-to", "waf < 1.5 * greedy", cwd=tmp_path)
    assert made.returncode == 0
    assert "Write amplification is lowest at" in made.stdout
    assert "results in runs/a-search" in made.stderr
    again = ssdlab_command(*words, "--subject-to", "waf < 1.5 * greedy", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["size"] is None
    few = ["--subject-to", "waf < 1.0", "--trials", "6", "--out", "b"]
    none = ssdlab_command(*words, *few, cwd=tmp_path)
    assert none.returncode == 2
    assert "error: no point meets waf < 1.0: the nearest, " in none.stderr
    refused(ssdlab_command(*words[:4], "--minimize", "waff", cwd=tmp_path), 2, "did you mean waf?")
    page = ssdlab_command("report", "runs/a-search", "--plots", "p", cwd=tmp_path)
    assert page.returncode == 0
    assert (tmp_path / "p/history-waf.svg").exists()


def test_without_optuna_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "optuna.py").write_text("raise ImportError('no module')\n")
    (tmp_path / "a.toml").write_text(SMALL_TOML)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    words = ["search", "a.toml", "--space", "gc.victim=greedy,fifo", "--minimize", "waf"]
    made = subprocess.run(
        [*COMMAND, *words], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert made.returncode == 2
    assert made.stderr.endswith(b" -m pip install 'optuna>=5,<6'\n")
    code = "import sys, ssdlab; assert 'optuna' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_number_of_the_page_stands_in_its_file(done: Search) -> None:
    assert done.folder is not None
    values = json.loads((done.folder / SEARCH_JSON).read_text())
    page = (done.folder / "report.html").read_text()
    cells = re.findall(r'<data data-key="([^"]*)" value="([^"]*)">', page)
    assert len(cells) > 20
    for key, value in cells:
        held: Any = values
        for part in unescape(key).split("."):
            held = held[int(part)] if isinstance(held, list) else held[part]
        assert held == json.loads(unescape(value)), key


def test_a_search_shows_itself(done: Search) -> None:
    assert "<svg" in done._repr_html_()
    assert repr(done).startswith("<Search for waf>")
    assert len(done.to_pandas()) == len(done.trials) == 20
    assert same(done, Search.read(done.folder or ""))


def test_a_key_may_be_minimised_within_bounds() -> None:
    sets = {**proofs.TOY, "device.over_provisioning": 0.5}
    spares = [0.30, 0.35, 0.40, 0.45, 0.50, 0.55]
    how: dict[str, Any] = {"set": sets, "progress": False, "html": False}
    waf = {
        spare: ssdlab.run("greedy-8ch", set={**sets, KEY: spare}, progress=False).waf.total
        for spare in spares
    }
    bound = 0.5 * ((waf[0.40] or 0) + (waf[0.45] or 0))
    found = ssdlab.search(
        "greedy-8ch",
        space={KEY: spares},
        minimize=KEY,
        subject_to=f"waf < {bound}",
        sampler="grid",
        **how,
    )
    assert found.best is not None
    assert found.best.point == {KEY: 0.45}, "the least that keeps the bound"
    assert found.best.values == pytest.approx((0.45,), abs=1e-3)
    assert f"{KEY} is lowest at" in found.answer
    assert "10 % lower than baseline" in found.answer
    assert not [*found.decided], "a key decides itself"
    times = ssdlab.search(
        "greedy-8ch", space={"timing.erase": ["3 ms", "5 ms"]}, maximize="timing.erase", **how
    )
    assert "(5.00 ms; 3.80 ms in baseline)" in times.answer
    with pytest.raises(ssdlab.ConfigError, match=r"gc\.victim has values that are no numbers"):
        ssdlab.search(
            "greedy-8ch", space={"gc.victim": ["greedy", "fifo"]}, minimize="gc.victim", **how
        )
    nearest = ssdlab.search(
        "greedy-8ch", space={KEY: spares}, minimize=KEY, subject_to="waf < 1", **how
    )
    assert "no point meets waf < 1: the nearest, 0.55, misses" in nearest.misses


def test_of_equal_points_the_one_that_keeps_the_bounds_best_comes_first() -> None:
    found = ssdlab.search(
        "greedy-8ch",
        set=proofs.TOY,
        space={KEY: [0.3], "gc.victim": ["random", "greedy", "cost-benefit"]},
        minimize=KEY,
        subject_to="waf < 9",
        sampler="grid",
        progress=False,
        html=False,
    )
    ranked = [one.numbers["waf"] for one in found.ranked]
    assert ranked == sorted(ranked, key=lambda one: float(str(one)))


KEY = "device.over_provisioning"
