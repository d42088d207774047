"""Numbers that pages, exports, searches and fleets state, each by an example of its rule."""

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ssdlab
from ssdlab.config.space import Space
from ssdlab.display.form import columns
from ssdlab.export import fio, perfetto, tables
from ssdlab.fleets import answer, findings, volumes
from ssdlab.fleets.fleet import MEASURED, UNSTEADY
from ssdlab.fleets.fleet_runs import Drive
from ssdlab.html import cells, curves, points_plots, repeated, sweep_page
from ssdlab.html.plot import Axis, Cells, Heatmap
from ssdlab.html.scale import Scale
from ssdlab.results.points import Points
from ssdlab.results.sweep import COLUMNS, Outcome, Sweep
from ssdlab.searching import judging, sampling, tested, trying
from ssdlab.searching.constraint import constraint_of
from ssdlab.searching.metric import known_metrics
from ssdlab.searching.plan import rungs_of

WAF = next(one for one in columns() if one.name == "waf")


def stub(**values: object) -> Any:  # noqa: ANN401 - stands in for what has these attributes
    return SimpleNamespace(**values)


def floats(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, float)


# ---------------------------------------------------------------- pages


@pytest.mark.parametrize(
    ("unit", "texts"),
    [("count", ["0", "1", "2"]), ("ratio", ["0.0", "0.5", "1.0", "1.5", "2.0"])],
)
def test_there_is_no_half_of_a_thing(unit: Any, texts: list[str]) -> None:  # noqa: ANN401
    axis = Axis("x", unit)
    assert [name for _, name in Scale.over(axis, floats(0, 2), 0, 100).ticks()] == texts


def test_ticks_that_name_their_unit_leave_it_out_of_the_label() -> None:
    values = floats(2e6, 9e6)
    assert Scale.over(Axis("time", "ns"), values, 0, 100).label == "time (ms)"
    log = Scale.over(Axis("time", "ns", log=True), values, 0, 100)
    assert log.label == "time"
    assert all(name.endswith(" ms") for _, name in log.ticks())


def test_a_thinned_mean_is_a_sum_over_a_sum() -> None:
    time = np.array([10, 20, 30, 40])
    report = stub(series={"time_ns": time}, time=stub(measured_from=0))
    curve = curves.Series(report, 2).mean("x", 0, floats(1, 1, 9, 9), floats(1, 3, 3, 0))
    assert curve.x.tolist() == [20, 40]
    assert curve.y.tolist() == [2 / 4, 18 / 3]
    assert curve.low is not None
    assert curve.high is not None
    assert (curve.low.tolist(), curve.high.tolist()) == ([1 / 3, 3], [1, 3])


def test_fewer_points_keep_the_first_and_the_last() -> None:
    x, y = curves.thin(3, floats(*range(11)), floats(*range(100, 111)))
    assert (x.tolist(), y.tolist()) == ([0, 5, 10], [100, 105, 110])


@pytest.mark.parametrize("decided", [("reserve", "policy"), ("policy", "reserve")])
def test_a_cell_is_marked_if_the_reserve_decided_at_any_of_its_points(
    decided: tuple[str, str],
) -> None:
    runs: Any = [[{"waf": 2.0, "decided_by": one}] for one in (*decided, "policy", "policy")]
    keys: Any = {"x": [1, 1, 2, 2], "y": [5, 5, 5, 6], "z": [1, 2, 1, 1]}
    points = Points.of(["a", "b", "c", "d"], keys, runs)
    x, y, _ = points.keys
    drawn = points_plots.heat(points, WAF, x, y)
    assert isinstance(drawn, Heatmap)
    assert drawn.marked.tolist() == [[True, False], [False, False]]


def swept(numbers: dict[int, list[float]]) -> Sweep:
    """A sweep in which so many points have these values of `waf`."""
    outcomes = tuple(
        Outcome(point, seed, tuple({"waf": one}.get(name) for name in COLUMNS))
        for point, several in numbers.items()
        for seed, one in enumerate(several)
    )
    return Sweep("s", Space({"k": [10, 20, 30, 40]}, is_drawn=False), outcomes, len(outcomes))


def test_a_row_of_a_sweep_is_called_by_its_number_in_the_table() -> None:
    page = sweep_page.numbers_table(swept({1: [3.0], 3: [2.0]}))
    assert re.findall(r'<th scope="row">(.*?)</th>', page) == ["3", "1"]


def test_half_the_width_of_an_interval_stands_behind_a_mean() -> None:
    page = sweep_page.numbers_table(swept({0: [1.0, 2.0, 3.0]}))
    width = re.search(r'data-key="ci95\.0\.waf" value="(.*?)"', page)
    assert width is not None
    assert float(width[1]) == pytest.approx(4.30265 / math.sqrt(3), abs=1e-4)


def test_the_page_of_a_sweep_that_has_ended_is_not_read_again() -> None:
    refresh = '<meta http-equiv="refresh"'
    done = swept({0: [1.0]})
    assert refresh not in sweep_page.sweep_page(done)
    assert refresh in sweep_page.sweep_page(replace(done, running=True))


def test_intervals_of_a_page_begin_at_one_degree_of_freedom() -> None:
    done = stub(repetitions={"a": dict.fromkeys(range(3)), "b": dict.fromkeys(range(4))})
    found = json.loads(repeated.quantiles(done))
    assert found == pytest.approx([12.7062, 4.30265, 3.18245], abs=1e-4)


def test_the_lowest_is_marked_and_what_equals_it_apart() -> None:
    best = [("a", "b"), ("c",)]
    marks = [repeated._standing("1", label, best) for label in "abcd"]
    assert marks == [
        '<span class="lowest">1</span>',
        '<span class="tie">1</span>',
        '<span class="lowest">1</span>',
        "1",
    ]


def test_a_level_begins_at_its_least_count() -> None:
    figure: Any = Cells.__new__(Cells)
    object.__setattr__(figure, "counts", [[0, 1, 2, 4, 5]])
    assert cells._paths(figure, [1, 2, 5]) == ["M1 0h1v1h-1z", "M2 0h2v1h-2z", "M4 0h1v1h-1z"]


# ---------------------------------------------------------------- exports


@pytest.mark.parametrize(("mode", "depth"), [("closed", "8"), ("open", "33")])
def test_the_depth_of_fio_is_that_of_the_queue_or_the_peak(mode: str, depth: str) -> None:
    report = stub(
        name="r",
        json={"config": {"workload": {"kind": "zipf"}, "host": {"mode": mode, "queue_depth": 8}}},
        requests=stub(read=3, write=1, trim=4),
        host=stub(pages_read=3, pages_written=5),
        device=stub(page_bytes=4096),
        little=stub(peak_in_system=33),
    )
    options = fio._options(report)
    assert options["iodepth"] == depth
    # The trims are no part of the mean request.
    assert (options["rw"], options["bs"]) == ("randrw", "8192")


def test_a_class_of_fio_ends_below_its_upper_end() -> None:
    rows = np.array([[1, 1, 1], [2, 2, 2], [1_999, 1_999, 3], [2_000, 2_000, 4]])
    found = fio._classes(stub(distributions={"latency_read": rows}))
    counts = {
        (name, edge): share for name, of in found.items() for edge, share in of.items() if share
    }
    assert counts == pytest.approx(
        {
            ("latency_ns", "2"): 10,
            ("latency_ns", "4"): 20,
            ("latency_us", "2"): 30,
            ("latency_us", "4"): 40,
        }
    )


def test_no_percentile_of_fio_is_above_the_longest() -> None:
    rows = np.array([[0, 99, 500], [100, 199, 500]])
    report = stub(distributions={"latency_read": rows}, latency=stub(read=stub(max=150)))
    found = fio._percentiles(report, "read")
    assert found["50.000000"] == 99
    assert found["60.000000"] == found["99.000000"] == 150
    # Of 1,000 samples one lies beyond the highest: too few.
    assert "99.900000" not in found


def test_planes_of_one_operation_share_its_transfer() -> None:
    config = {"device": {"channels": 1, "chips_per_channel": 1, "planes_per_chip": 2}}
    planes = perfetto._Planes(stub(json={"config": config}))
    names = ("channel", "chip", "plane", "cause", "op", "start", "end", "bus_start", "bus_end",
             "block", "page", "lpn", "sequence", "request", "queued")  # fmt: skip
    rest = ",1,2,3,4,5,6"
    lines = [
        ",".join(names),
        f"0,0,0,host,program,10,90,10,20{rest}",
        f"0,0,1,host,program,10,90,10,20{rest}",
        f"0,0,0,host,program,90,170,90,100{rest}",
        f"0,0,0,gc,erase,170,300,,{rest}",
    ]
    stream: Any = io.BytesIO("\n".join(lines).encode())
    events = [*planes.operations(stream)]
    on_bus = [one["ts"] for one in events if one["tid"] == planes.bus(0)]
    assert on_bus == [0.01, 0.09]
    assert len(events) == 4 + 2


def test_columns_of_words_are_texts_in_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    words = ("op", "cause", "digest", "distribution", "sources", "owners", "outcome",
             "durability", "event")  # fmt: skip
    text = f"number,{','.join(words)}\n7,{','.join(words)}\n,{',' * (len(words) - 1)}\n"
    with (tmp_path / "t.parquet").open("wb") as out:
        tables._parquet(io.BufferedReader(io.BytesIO(text.encode())), out)
    rows = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert rows == [
        {"number": 7, **{word: word for word in words}},
        {"number": None, **dict.fromkeys(words)},
    ]


# ---------------------------------------------------------------- searches


@pytest.mark.parametrize(
    ("text", "value", "bound", "excess"),
    [
        ("waf < 2", 3.0, 2.0, 0.5),
        ("waf > 2", 1.0, 2.0, 0.5),
        ("waf < 2", 1.0, 0.0, 1.0),
        ("waf < 2", 3.0, -2.0, 5.0),
        ("waf > 2", -6.0, -2.0, 4.0),
    ],
)
def test_a_bound_is_missed_by_a_share_of_it_if_it_is_positive(
    text: str, value: float, bound: float, excess: float
) -> None:
    assert constraint_of(text).excess(value, bound) == excess


@pytest.mark.parametrize(
    ("worst", "maximize", "value"),
    [(True, False, 2.0), (True, True, 0.5), (False, False, 1.0), (False, True, 1.0)],
)
def test_the_worst_of_several_traces(worst: bool, maximize: bool, value: float) -> None:
    numbers = {("p", "s"): 4.0, ("baseline", "s"): 2.0, ("p", "t"): 3.0, ("baseline", "t"): 6.0}
    runs = stub(
        of=lambda who, cases, *_: (who.name, cases[0].name),
        mean=lambda which, _: numbers[which],
    )
    design = stub(train=(stub(name="s"), stub(name="t")), worst=worst, seeds=(0,))
    judge = judging.Judge(design, runs)
    objective = stub(metric=stub(name="waf"), maximize=maximize)
    rung: Any = stub(seeds=1, divisor=1)
    who = judging.reference("p")
    assert judge._value(who, rung, objective) == pytest.approx(value)
    # Twice the bound on one trace, half of it on the other.
    over = judge._excess(who, rung, constraint_of("waf <= 1 * baseline"))
    assert over == pytest.approx(1.0 if worst else 0.0)


@pytest.mark.parametrize(("there", "taken"), [(1, 0), (2, 2)])
def test_a_round_that_is_not_complete_is_asked_for_again(there: int, taken: int) -> None:
    added: list[object] = []
    made: Any = object.__new__(sampling.Sampling)
    made.round, made.restored, made.study = 0, [], stub(add_trial=added.append)
    about = {"round": 0, "asked": 2, "whole": True}
    made._resume([stub(user_attrs=about) for _ in range(there)])
    assert (len(added), len(made.restored), made.round) == (taken, taken, taken // 2)


@pytest.mark.parametrize(
    ("reached", "transient", "settled"),
    [(True, 100, True), (True, 101, False), (True, None, True), (False, 0, False)],
)
def test_a_run_that_begins_with_a_transient_has_not_settled(
    reached: bool, transient: int | None, settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "MEASURED", ())
    report = stub(
        warmup=stub(recommended_requests=transient),
        steady_state=stub(reached=reached),
        requests=stub(warmup=100),
        warnings=[],
        invalid="",
    )
    assert trying._of_report(report, ()).settled is settled


def test_traces_repeat_a_comparison_that_no_seed_changes() -> None:
    def over(*by_trace: tuple[list[float], list[float]]) -> tuple[int, float | None]:
        cases: Any = [(None, a, b) for a, b in by_trace]
        found = tested._over_all(cases)
        assert found is not None
        return found.n, found.low

    same = over(([2.0, 2.0], [1.0, 1.0]), ([3.0, 3.0], [1.0, 1.0]), ([4.0, 4.0], [1.0, 1.0]))
    assert same[0] == 3
    assert same[1] is not None
    varied = over(([2.0, 2.5], [1.0, 1.0]), ([3.0, 3.0], [1.0, 1.0]), ([4.0, 4.0], [1.0, 1.0]))
    assert varied[0] == 2


@pytest.mark.parametrize(
    ("count", "seeds", "rungs"),
    [
        (1, 1, [(1, 1)]),
        (1, 3, [(1, 3)]),
        (2, 1, [(3, 1), (1, 1)]),
        (2, 3, [(1, 1), (1, 3)]),
        (3, 3, [(3, 1), (1, 1), (1, 3)]),
        (4, 1, [(27, 1), (9, 1), (3, 1), (1, 1)]),
    ],
)
def test_rungs_end_with_all_requests_then_all_seeds(
    count: int, seeds: int, rungs: list[tuple[int, int]]
) -> None:
    assert [(one.divisor, one.seeds) for one in rungs_of(count, seeds)] == rungs


def test_a_search_looks_at_no_number_of_the_computer() -> None:
    of_the_computer = [name for name, one in known_metrics().items() if "speed" in one.key]
    assert of_the_computer == []
    assert not {"time.wall", "time.cpu"} & {one.key for one in known_metrics().values()}
    assert "time.simulated" in known_metrics()


# ---------------------------------------------------------------- fleets


def test_statistics_of_a_volume_are_those_of_its_trace() -> None:
    info = stub(
        requests=10,
        write_share=0.75,
        ops=stub(write=stub(bytes=8192, size=stub(mean=2048.0))),
        hot=stub(hottest=[0.05, 0.1, 0.2], write_share=[0.3, 0.5, 0.6]),
        footprint=stub(pages_touched=3, overwrite_factor=4.0),
        updates=stub(rewrite_share=0.2),
        sequential_share=0.1,
        requests_per_s=5.0,
        bursts=[
            stub(window_ns=10**7, peak_to_mean=30.0),
            stub(window_ns=10**8, peak_to_mean=20.0),
            stub(window_ns=10**9, peak_to_mean=2.0),
        ],
    )
    assert volumes.statistics_of(info) == {
        "volume_requests": 10,
        "write_share": 0.75,
        "volume_bytes_written": 8192,
        "footprint_bytes": 12_288,
        "overwrite_factor": 4.0,
        "rewrite_share": 0.2,
        "hot_write_share": 0.5,
        "sequential_share": 0.1,
        "mean_write_bytes": 2048.0,
        "volume_requests_per_s": 5.0,
        "peak_to_mean": 2.0,
    }


def test_a_quantile_is_reached_by_its_share_exactly() -> None:
    values = [4.0, 1.0, 3.0, 2.0]
    parts = [0.25, 0.26, 0.5, 0.75, 1.0]
    assert findings.quantiles(values, [1.0] * 4, parts).tolist() == [1, 2, 2, 3, 4]
    assert findings.quantiles(values, [1.0, 1.0, 0.0, 2.0], parts).tolist() == [1, 2, 2, 2, 4]


def test_the_interval_of_a_rank_correlation_holds_for_all_statistics_at_once() -> None:
    values = [float(i) for i in range(20)]
    outcome = [float(i ^ 3) for i in range(20)]
    found = findings.rank("x", values, outcome, 11)
    assert found is not None
    # 1 - 0.05 / 2 / 11 of the normal distribution lies below 2.838.
    error = math.sqrt((1 + found.rho**2 / 2) / 17)
    assert found.low == pytest.approx(math.tanh(math.atanh(found.rho) - 2.838 * error), abs=1e-4)
    assert found.high == pytest.approx(math.tanh(math.atanh(found.rho) + 2.838 * error), abs=1e-4)


@pytest.mark.parametrize(
    ("n", "cut"), [(5, None), (6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (20, 5), (100, 39)]
)
def test_order_statistics_of_the_interval_of_a_median(n: int, cut: int | None) -> None:
    """As tables of the sign test have them: for 20 values the 6th and the 15th."""
    assert findings.sign_test_cut(n) == cut


def fleet(rows: list[dict[str, object]], drives: tuple[str, ...] = ("one",)) -> Any:  # noqa: ANN401
    of = lambda drive, group=MEASURED: [  # noqa: E731
        row for row in rows if (row["drive"], row["group"]) == (drive, group)
    ]
    return stub(drives=drives, rows=rows, of=of, volumes=rows, metrics=("waf",))


def row_of(volume: int, waf: float, drive: str = "one", group: str = MEASURED) -> dict[str, object]:
    statistics = {name: float(volume) for name in volumes.STATISTICS_OF}
    return {"volume": volume, "drive": drive, "group": group, "waf": waf, **statistics}


def test_the_worst_tenth_stands_beside_the_rest() -> None:
    done = fleet([row_of(at, 1.0 + at / 10) for at in range(20)])
    _, heads, found = answer._correlations(done, "one", "waf")
    assert heads[-2:] == ["median, worst tenth", "of the rest"]
    requests = next(one for one in found if one[0] == "requests")
    assert requests[-2:] == ["18.5", "8.5"]


def test_drives_are_compared_over_volumes_of_one_group() -> None:
    first = [row_of(at, 1.0, "a") for at in range(8)]
    second = [row_of(at, 2.0, "b", UNSTEADY) for at in range(8)]
    assert answer.differences(fleet([*first, *second], ("a", "b"))) == []
    steady = [row_of(at, 2.0, "b") for at in range(7)]
    (found,) = answer.differences(fleet([*first, *steady, second[7]], ("a", "b")))
    assert (found.volumes, found.ratio, found.higher) == (7, 2.0, 7)


def test_a_stand_in_fills_its_part_as_much_as_the_drive_says() -> None:
    config = ssdlab.load_config(set={"precondition.fill": 0.5})
    drive = Drive("d", stub(), config)
    footprint = drive.capacity_bytes // 4
    volume = volumes.Volume("v", {"footprint_bytes": footprint})
    assert drive.span_of(volume) == {
        "workload.span": round(footprint / drive.capacity_bytes, 6),
        "precondition.fill": round(0.5 * footprint / drive.capacity_bytes, 6),
    }
