"""Reproductions: numbers beside numbers, and runs that are made once."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from running import ROOT, one_workload, refused, ssdlab_command, with_any_calibration
from ssdlab.errors import ConfigError, OutputError, WorkloadError
from ssdlab.html.curves import Series
from ssdlab.traces.trace import Requests
from ssdlab_lab.reproduce import PAPERS, Reproduction, paper, reproduce
from ssdlab_lab.reproduce.claims import LargestGain, half_of, least, most, rank_correlation
from ssdlab_lab.reproduce.command import MARKDOWN, PAGE, recorded_traces
from ssdlab_lab.reproduce.curves import peak_to_mean
from ssdlab_lab.reproduce.folders import JSON, VERSION
from ssdlab_lab.reproduce.paper import Recording, Scale, fitting
from ssdlab_lab.reproduce.requests import shares_invalid
from ssdlab_lab.reproduce.result import QUICK
from ssdlab_lab.reproduce.scoring import score
from ssdlab_lab.reproduce.tables import number

WRITE, TRIM = Requests.OPS.index("write"), Requests.OPS.index("trim")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of a sixteenth of the size."""
    monkeypatch.setattr(paper, "QUICK", 16)
    monkeypatch.setattr(paper, "OVERWRITE", 1.0)
    with_any_calibration(monkeypatch)


def of(name: str, out: Path, *workloads: str, on: str | None = None) -> Reproduction:
    return reproduce(name, quick=True, workloads=workloads, out=out, progress=False, on=on)


@pytest.mark.usefixtures("small")
def test_a_reproduction_on_a_cluster_is_the_one_on_threads(tmp_path: Path) -> None:
    name = "invalidation-rate"
    here, there = (
        of(name, tmp_path / out, PAPERS[name].workloads[0], on=on)
        for out, on in (("here", None), ("there", "local:2"))
    )
    assert not there.failures
    assert there.to_json() == here.to_json()
    written = [{one.name for one in (tmp_path / out).iterdir()} for out in ("here", "there")]
    assert written[0] == written[1]


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("quick", [True, False])
def test_every_scheme_has_the_same_flash(name: str, quick: bool) -> None:
    one = PAPERS[name]
    cells = one.cells(Scale(quick=quick), one.workloads, {})
    sizes = set()
    for cell in {cell.scheme: cell for cell in cells}.values():
        device = cell.config.values["device"]
        shape = ("channels", "chips_per_channel", "planes_per_chip", "blocks_per_plane")
        sizes.add(math.prod(device[key] for key in (*shape, "pages_per_block", "page_bytes")))
    assert sizes == {one.flash.raw_bytes // (paper.QUICK if quick else 1)}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.12345, "0.123"),
        (-9.9994, "−9.999"),
        (10.0, "10.00"),
        (99.99, "99.99"),
        (100.0, "100.0"),
        (123.456, "123.5"),
        (1000.0, "1,000"),
        (-12345.6, "−12,346"),
    ],
)
def test_numbers_of_tables(value: float | None, text: str) -> None:
    assert number(value) == text


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 20, 25, 90]) == pytest.approx(1.0)
    assert rank_correlation([1, 2, 3, 4], [9, 7, 5, 1]) == pytest.approx(-1.0)
    assert rank_correlation([1, 2, 2, 3], [1, 2, 2, 3]) == pytest.approx(1.0)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    assert rank_correlation([1, 2], [1, 2]) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0, 2.0, 4.0], True),
        ([3.0, 3.5, 4.0], False),
        ([3.0, 3.0, 3.0], None),
        ([3.0, 3.0, 4.0], None),
        ([3.0, 4.0, 3.0], False),
        ([None, 2.0, 4.0], None),
        ([3.0, None, 4.0], None),
    ],
)
def test_what_is_least_is_below_all_others(
    values: list[float | None], expected: bool | None
) -> None:
    assert least(values, 1) is expected


def test_the_largest_published_gain_names_its_workload() -> None:
    assert most("reads", (None, 2.0, 7.04), ("a", "b", "c")) == [LargestGain("reads", "c", 7.04)]
    assert str(LargestGain("reads", "c", 7.04)) == "7.0 % (reads of c)"
    assert most("reads", (-1.0, -2.0), ("a", "b")) == [LargestGain("reads", "a", -1.0)]
    assert most("reads", (None,), ("a",)) == []


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([25.0, 15.0], "holds"),
        ([24.9, 15.0], "does not hold"),
        ([24.9, None], "does not hold"),
        ([25.0, None], "undecided"),
        ([None, None], "undecided"),
    ],
)
def test_half_of_the_gain_of_that_workload(ours: list[float | None], expected: str) -> None:
    several = [LargestGain("reads", "a", 50.0), LargestGain("writes", "b", 30.0)]
    finding = half_of(several, ours)
    assert finding.verdict == expected
    if ours == [25.0, 15.0]:
        assert finding.numbers == "reads of a 25, published 50; writes of b 15, published 30"


def test_thresholds_follow_the_published_tables() -> None:
    """The same claims, of the workloads that are reproduced: theirs are the largest gains then."""
    texts = [claim.text for claim in PAPERS["noc-copyback"].claims(("SQLite", "RocksDB"))]
    assert "Mean latency improves by up to 4.7 % (writes of SQLite)." in texts
    whole = [
        claim.text for claim in PAPERS["noc-copyback"].claims(PAPERS["noc-copyback"].workloads)
    ]
    assert "Mean latency improves by up to 26.9 % (writes of Cassandra)." in whole


def test_recorded_traces_that_do_not_fit_are_left_out() -> None:
    flash = PAPERS["noc-copyback"].flash
    traces = {
        name: Recording(Path(name), 1, mib << 20, 1, 1, 1.0)
        for name, mib in (("small", 600), ("large", 630))
    }
    assert fitting(traces, flash, Scale(quick=False)) == (traces, [])
    kept, (note,) = fitting(traces, flash, Scale(quick=True))
    assert kept == {"small": traces["small"]}
    assert note == (
        "Recorded requests of large are omitted: they touch 0.62 GiB, but at most 60 % of the"
        " flash, 0.60 GiB, may be live."
    )


def test_recorded_times_are_stretched_until_the_device_is_half_idle() -> None:
    flash = PAPERS["noc-copyback"].flash  # 8 busy units, 763 us a page read, 938 us one written
    for reads, writes, expected in ((0, 400, 1.0), (1000, 1000, 4.25), (0, 0, 1.0)):
        one = Recording(Path("a"), 1, 1, reads, writes, duration_us=100_000.0)
        assert one.time_scale(flash) == expected


def test_every_workload_has_a_recorded_trace(tmp_path: Path) -> None:
    for one in PAPERS.values():
        if one.name == "deferred-gc-raid":
            continue  # whose traces must not be redistributed
        found, notes = recorded_traces(one.workloads, ROOT / "traces")
        assert (tuple(found), notes) == (one.workloads, [])
        assert found["MongoDB"].file.name == "wiredtiger.trace.zst"
        said = ["The recorded requests of MongoDB come from its engine, WiredTiger."]
        assert fitting(found, one.flash, Scale(quick=False)) == (found, said)
    own = tmp_path / "mongodb.trace.zst"
    own.write_bytes((ROOT / "traces/wiredtiger.trace.zst").read_bytes())
    found, notes = recorded_traces(("MongoDB",), tmp_path)
    assert (found["MongoDB"].file, notes) == (own, [])
    assert fitting(found, PAPERS["noc-copyback"].flash, Scale(quick=False)) == (found, [])
    (tmp_path / "mysql.trace.zst").write_text("8,0 1 1 0.5 7 Q R 0 + 8 [a]\n")
    with pytest.raises(WorkloadError, match=r"mysql\.trace\.zst: writes nothing"):
        recorded_traces(("MySQL",), tmp_path)


def test_seeds_draw_the_requests_anew_the_same_for_all_schemes() -> None:
    one = PAPERS["noc-copyback"]
    cells = one.cells(Scale(quick=True), ("SQLite",), {})
    trials = [cell.config for cell in cells if cell.scheme.name == one.proposed]
    assert [config["run.seed"] for config in trials] == [1, 2]
    first, second = ({**config.values, "run": None} for config in trials)
    assert first == second
    assert "seed" not in first["workload"]
    base = [cell.config for cell in cells if cell.scheme.name == "Conventional"]
    assert [config.values["workload"] for config in base] == [
        config.values["workload"] for config in trials
    ]


def slow_shares(
    requests: list[tuple[int, int, int]], planes: int, pages: int, share: float
) -> float:
    """Page by page, with tables: what `shares_invalid` says."""
    place: dict[int, tuple[int, int]] = {}
    written = [0] * planes
    invalid: dict[tuple[int, int], int] = {}
    for sector, sectors, op in requests:
        end = sector + sectors
        if op == WRITE:
            touched = range(sector // 8, -(-end // 8))
        else:
            touched = range(-(-sector // 8), end // 8)
        for lpn in touched:
            if lpn in place:
                invalid[place.pop(lpn)] += 1
            if op == WRITE:
                plane = lpn % planes
                block = (plane, written[plane] // pages)
                written[plane] += 1
                invalid.setdefault(block, 0)
                place[lpn] = block
    return 100 * sum(count >= share * pages for count in invalid.values()) / len(invalid)


@pytest.mark.parametrize("seed", range(8))
def test_invalid_blocks_without_collection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        (int(rng.integers(0, 800)), int(rng.integers(1, 40)), TRIM if rng.random() < 0.1 else WRITE)
        for _ in range(600)
    ]
    sector, sectors, op = (np.array(column) for column in zip(*rows, strict=True))
    requests = Requests(
        at_ns=np.zeros(len(rows), np.uint64),
        sector=sector.astype(np.uint64),
        sectors=sectors.astype(np.uint32),
        op=op.astype(np.uint8),
        flags=np.zeros(len(rows), np.uint8),
    )
    found = shares_invalid(requests, 4, 8, (0.7, 0.9))
    assert found == pytest.approx([slow_shares(rows, 4, 8, share) for share in (0.7, 0.9)])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", PAPERS)
def test_a_reproduction_leaves_tables_figures_and_claims(name: str, tmp_path: Path) -> None:
    done = of(name, tmp_path / "out", one_workload(name))
    assert not done.failures
    assert not done.interrupted
    values = json.loads((tmp_path / "out" / JSON).read_text())
    assert values["completed"]
    assert {table["key"] for table in values["tables"]} == {table.key for table in done.tables}
    for table in done.tables:
        for row in table.rows:
            assert len(row.published) == len(table.columns)
            assert all(len(ours) == len(table.columns) for ours in row.ours.values())
    verdicts = {"holds", "does not hold", "undecided"}
    assert all(one.findings["synthetic"].verdict in verdicts for one in done.claims)
    assert all(one.claim.metric for one in done.claims)
    both = {source: score(done.tables, source, done.paper.proposed) for source in done.scores}
    assert both == done.scores
    assert done.scores["synthetic"].ours.cells > 0
    # One paper prints no latencies.
    absolute = name != "deferred-gc-raid"
    assert (done.scores["synthetic"].with_proposed.pairs > 0) == absolute
    assert any(one.cells for one in done.scores["synthetic"].errors) == absolute
    assert [figure["key"] for figure in values["figures"]] == [one.key for one in done.figures]
    drawn = [curve for figure in values["figures"] for curve in figure["curves"]]
    assert drawn
    assert all(len(curve["x"]) == len(curve["y"]) > 0 for curve in drawn)
    page = (tmp_path / "out" / PAGE).read_text()
    assert all(table.title in page for table in done.tables)
    text = (tmp_path / "out" / MARKDOWN).read_text()
    assert done.paper.title in text
    # The score comes first.
    assert next(line for line in text.splitlines() if line.startswith("## ")) == "## Score"
    assert page.index('id="score"') < page.index('id="claims"')
    assert QUICK in text
    assert QUICK in done.summary()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("noc-copyback", ("table3", "table3-sizes")),
        ("adaptive-channel", ("table4", "table5")),
    ],
)
def test_made_requests_are_those_that_are_published(
    name: str, keys: tuple[str, str], tmp_path: Path
) -> None:
    tables = {table.key: table for table in of(name, tmp_path / "out", "MongoDB").tables}
    for key in keys:
        for row in tables[key].rows:
            (published,), (ours,) = row.published, row.ours["synthetic"]
            assert published is not None
            # Of sizes of a few sequential requests the mean is not as near.
            assert ours == pytest.approx(published, rel=0.1, abs=2.0), row.label


@dataclass
class Columns:
    """As much of a series as `peak_to_mean` looks at."""

    time: npt.NDArray[np.float64]
    count: npt.NDArray[np.float64]
    start: float = 0.0

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        return {"count": self.count}[name]


def test_how_irregular_something_is_does_not_hang_on_the_interval() -> None:
    """A surge in one of ten bins, seen through intervals that do not divide them."""
    for every_ms in (100, 700, 2600):
        time_ns = np.arange(every_ms, 100_000 + every_ms, every_ms) * 1_000_000
        count = time_ns / 1e9 + 90 * np.clip(time_ns / 1e9 - 40, 0, 10) / 10
        series = cast("Series", Columns(time_ns.astype(float), count))
        assert peak_to_mean(series, "count", 10.0) == pytest.approx(100 / 19, rel=0.1)


@pytest.mark.usefixtures("small")
def test_a_folder_goes_on_with_the_same_scale_and_traces_only(tmp_path: Path) -> None:
    traces, out = tmp_path / "traces", tmp_path / "out"
    traces.mkdir()
    lines = [f"8,0 0 0 {at}.0 0 Q W {8 * (at % 50)} + 8 [a]\n" for at in range(400)]
    (traces / "sqlite.trace.zst").write_text("".join(lines))

    def again(quick: bool) -> None:
        reproduce(
            "noc-copyback",
            workloads=["SQLite"],
            traces=traces,
            out=out,
            quick=quick,
            progress=False,
        )

    again(quick=True)
    kept = (out / JSON).read_bytes()
    with pytest.raises(OutputError, match="written with --quick; choose another --out"):
        again(quick=False)
    (traces / "sqlite.trace.zst").write_text("".join(lines[:-9]))
    with pytest.raises(OutputError, match="the recorded trace of SQLite was a different one"):
        again(quick=True)
    assert (out / JSON).read_bytes() == kept


@pytest.mark.usefixtures("small")
def test_a_damaged_run_is_made_again(tmp_path: Path) -> None:
    first = of("noc-copyback", tmp_path, "SQLite")
    run = next(tmp_path.glob("runs/sqlite-synthetic-proposed-1"))
    for text in ("{}", "[]", "null", "", '{"version": 1}'):
        (run / "report.json").write_text(text)
        assert of("noc-copyback", tmp_path, "SQLite").to_json() == first.to_json(), text


@pytest.mark.usefixtures("small")
def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    first, out = of("invalidation-rate", tmp_path / "a", "SQLite", "MySQL"), tmp_path / "b"
    of("invalidation-rate", out, "SQLite")
    runs = sorted((out / "runs").iterdir())
    before = {run.name: (run / "report.json").stat().st_mtime_ns for run in runs}
    # One run is cut off: an interrupted one has a report that is not complete.
    report = json.loads((runs[0] / "report.json").read_text())
    (runs[0] / "report.json").write_text(json.dumps({**report, "completed": False}))
    again = of("invalidation-rate", out, "SQLite", "MySQL")
    assert again.to_json() == first.to_json()
    after = {name: (out / "runs" / name / "report.json").stat().st_mtime_ns for name in before}
    assert [name for name in before if before[name] != after[name]] == [runs[0].name]


@pytest.mark.usefixtures("small")
def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(OutputError, match="other files"):
        of("invalidation-rate", tmp_path / "mine", "SQLite")
    (tmp_path / "old").mkdir()
    held = tmp_path / "old" / JSON
    held.write_text(json.dumps({"version": 99, "paper": "invalidation-rate"}))
    with pytest.raises(OutputError, match="of version 99"):
        of("invalidation-rate", tmp_path / "old", "SQLite")
    held.write_text(json.dumps({"version": VERSION, "paper": "noc-copyback"}))
    with pytest.raises(OutputError, match="of noc-copyback, not of invalidation-rate"):
        of("invalidation-rate", tmp_path / "old", "SQLite")
    held.write_text("[]")
    with pytest.raises(OutputError, match="not a reproduction"):
        of("invalidation-rate", tmp_path / "old", "SQLite")


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean noc-copyback"):
        of("noc-copybak", tmp_path, "SQLite")
    with pytest.raises(ConfigError, match="Oracle: noc-copyback has Cassandra"):
        of("noc-copyback", tmp_path / "out", "Oracle")
    with pytest.raises(ConfigError, match="did you mean SQLite"):
        of("noc-copyback", tmp_path / "out", " sqlit")
    with pytest.raises(WorkloadError, match="no such folder"):
        reproduce("noc-copyback", traces=tmp_path / "none", out=tmp_path / "out")
    with pytest.raises(WorkloadError, match=r"none of cassandra\.trace\.zst"):
        reproduce("noc-copyback", traces=tmp_path, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    refused(ssdlab_command("reproduce", "nothing", cwd=tmp_path), 2, "no such paper")
    assert not (tmp_path / "runs").exists()
