"""A search finds the best cell of the preset matrix again, with a tenth of its runs."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

import search_proofs as proofs
from ssdlab.results.intervals import paired_ratio
from ssdlab.results.report import Report
from ssdlab.results.search import Tried
from ssdlab.running.execution import Execution
from ssdlab.running.runner import Threads, cores
from ssdlab.running.simulate import run_loaded
from ssdlab.searching.design import Case, SearchDesign
from ssdlab.searching.plan import Goals, Requests, design_search
from ssdlab.searching.search import run_search, search_options
from ssdlab.searching.trying import Runs
from ssdlab_lab.reproduce.combined.choices import BASE, FIXED, ORDERS, QUICK_DIVISOR, TOGETHER
from ssdlab_lab.reproduce.combined.outcome import (
    USUAL,
    WRITES,
    CombinedOutcome,
    Setting,
    numbers_of,
)
from ssdlab_lab.reproduce.combined.study import Study, answers_of, scheme_of, workload_of
from ssdlab_lab.reproduce.command import run_cells
from ssdlab_lab.reproduce.folders import FolderProperties
from ssdlab_lab.reproduce.matrix import Cell, Workload
from ssdlab_lab.reproduce.paper import Scale

BEGUN = FolderProperties("combined", False, {}, "0" * 64, None)
"""Runs of no commit."""

SCALE = Scale(quick=True, divide_by=QUICK_DIVISOR)
LIVE, LOAD = proofs.MATRIX_LIVE, 0.5


def matrix(folder: Path) -> Study:
    """The quick matrix: its rates and its main comparison."""
    empty = CombinedOutcome({}, {}, {}, True, [], BEGUN, {}, False, folder)
    study = Study(SCALE, folder, Threads(cores()), False, empty)
    study.sustained()
    study.main()
    assert not study.failures
    study.done = replace(study.done, values=study.values)
    return study


def best_cell(study: Study) -> tuple[str, str]:
    """The order and the line with the lowest p99.9 of writes, over the conventional one."""
    base = Setting(USUAL, LIVE)
    found = {
        (order, line): ratio.ratio
        for order in ORDERS
        for line in (*FIXED, TOGETHER)
        if (ratio := study.done.ratio(Setting(order, LIVE), line, WRITES, base=base)) is not None
    }
    assert len(found) == len(ORDERS) * (len(FIXED) + 1)
    return min(found, key=found.__getitem__)


def geometric(reports: list[Report]) -> float:
    """The geometric mean of the p99.9 of writes."""
    numbers = [numbers_of(report)[WRITES] for report in reports]
    assert all(numbers)
    return math.prod(number for number in numbers if number) ** (1 / len(numbers))


def workloads(study: Study) -> tuple[Case, ...]:
    """The requests of the matrix."""
    made = {
        name: workload_of(name, LIVE, LOAD, study.done.rates[name, LIVE], SCALE)
        for name in study.done.workloads
    }
    return tuple(Case(name, None, one.keys) for name, one in made.items())


def of_cell(study: Study, folder: Path, cell: tuple[str, str]) -> list[float]:
    """The measure of a cell of the matrix, for each seed of the test."""
    order, line = cell
    scheme = scheme_of(order, line, answers_of(line, study.done.together, order), SCALE)
    cells = [
        [
            Cell(Workload(case.name, "synthetic", case.keys), scheme, seed)
            for case in workloads(study)
        ]
        for seed in proofs.MATRIX_TEST
    ]
    every = [one for some in cells for one in some]
    reports, failures, _ = run_cells(every, folder, Threads(cores()), False)
    assert not failures
    return [geometric([reports[one] for one in some]) for some in cells]


def search_design(study: Study) -> SearchDesign:
    """The search. Its objective is a ratio to one run; to any other one it ranks the same."""
    scheme = scheme_of(USUAL, BASE, (), SCALE)
    keys = {**scheme.keys, "gc.trigger": "idle"}
    on = Requests(seed=1, test_seeds=len(proofs.MATRIX_TEST))
    goals = Goals(["latency.write.p99_9"])
    design = design_search(scheme.preset, proofs.MATRIX_SPACE, goals, on, keys)
    cases = workloads(study)
    return replace(design, train=cases, test=cases, test_seeds=proofs.MATRIX_TEST)


def of_point(design: SearchDesign, one: Tried) -> list[float]:
    """The measure of a point, for each seed of the test."""
    point = design.space.point_of(one.point)
    return [
        geometric(
            [
                run_loaded(design.load(point, case, seed)[0], None, html=False)
                for case in design.train
            ]
        )
        for seed in proofs.MATRIX_TEST
    ]


@pytest.mark.slow
def test_the_best_cell_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The quick matrix is too short for a steady state, and a search ranks no run that is invalid.
    # What has to be found again is what the matrix itself, as it was fixed, calls best.
    monkeypatch.setattr(Runs, "invalid", lambda *_: "")
    study = matrix(tmp_path / "matrix")
    main = len(study.values) - len(study.done.rates) * 2
    cell = best_cell(study)
    best = of_cell(study, tmp_path / "best", cell)
    design = search_design(study)
    again, told = 0, [f"{main} runs; best cell: {cell}, {best}"]
    for seed in proofs.MATRIX_SEARCHES:
        how = search_options(
            design,
            trials=proofs.MATRIX_TRIALS,
            parallel=proofs.MATRIX_PARALLEL,
            sampler_seed=seed,
        )
        done = run_search(design, how, Threads(2), Execution(progress=False, html=False))
        assert done.best is not None
        tests = len(design.references) + 1
        searched = done.runs - tests * len(design.test) * len(design.test_seeds)
        assert 10 * searched <= main, "a tenth of the runs"
        ratio = paired_ratio(of_point(design, done.best), best)
        assert ratio is not None
        again += ratio.order != "higher"
        told.append(f"{seed}: {searched} runs, {done.best.label}: {ratio}")
    print("\n".join(told))
    assert again >= 4, told
