"""The page of a trace: what the text says, one file, and words where there is nothing to draw."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from running import ROOT, SMALL, nothing_left, refused, ssdlab_command
from ssdlab.html.compare_page import comparison_page
from ssdlab.html.page import flatten
from ssdlab.html.plot import Curve, MissingPlot, Plot
from ssdlab.html.run_page import run_page
from ssdlab.html.trace_page import trace_page
from ssdlab.html.trace_plots import trace_figures
from ssdlab.html.write import trace_files
from ssdlab.traces.info import Info, info_of, json_text
from ssdlab.traces.table import to_text

HEAD = "  8,0    0        {} {}.000000000   1  {}   {} {} + {} [t]\n"


@pytest.fixture(scope="module")
def infos() -> list[Info]:
    names = ("sqlite", "dbench")
    return [ssdlab.Trace(ROOT / f"traces/{name}.trace.zst").info() for name in names]


def _cells(page: str) -> list[str]:
    return [unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", page)]


@pytest.mark.parametrize("count", [1, 2])
def test_numbers_are_those_of_the_text(count: int, infos: list[Info]) -> None:
    words = re.sub(r"\s+", " ", to_text(infos[:count]))
    page = trace_page(infos[:count])
    cells = [cell for cell in _cells(page) if cell]
    assert len(cells) > 100
    assert all(re.sub(r"\s+", " ", cell) in words for cell in cells)
    assert len(page.encode()) < 200_000
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def _curve(infos: list[Info], key: str, name: str) -> Curve:
    (figure,) = [one for one in trace_figures(infos) if one.key == key]
    assert isinstance(figure, Plot)
    (curve,) = [one for one in figure.curves if one.name == name]
    return curve


def test_curves_are_those_of_the_distributions(infos: list[Info]) -> None:
    info = infos[0]
    sizes = _curve([info], "sizes", "write")
    assert sizes.y[1:-1].sum() == pytest.approx(1)
    gaps = _curve([info], "gaps", "gaps")
    assert gaps.y[-1] == 1
    assert gaps.x[-1] == info.gaps.max
    assert (gaps.y[1:] >= gaps.y[:-1]).all()
    low, counts = info.gaps.bucket_low, info.gaps.bucket_count
    below = [counts[low <= x].sum() / info.gaps.count for x in gaps.x[1:]]
    assert gaps.y[1:].tolist() == pytest.approx(below)
    assert gaps.x[0] == 0.5
    assert gaps.y[0] == counts[0] / info.gaps.count
    second = _curve(infos, "hot", "writes, second")
    assert list(second.y[1:-1]) == list(infos[1].hot.write_share)


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    trace = tmp_path / "one.trace"
    trace.write_text(HEAD.format(1, 0, "Q", "R", 8, 8))
    one = ssdlab.Trace(trace).info()
    missing = {figure.key for figure in trace_figures([one]) if isinstance(figure, MissingPlot)}
    assert missing == {"updates", "updates-time", "hot", "gaps", "idle", "bursts"}
    page = trace_page([one])
    assert "The trace has a single request." in page
    assert "nan" not in " ".join(_cells(page))


def _data(page: str, key: str) -> Any:  # noqa: ANN401 - parsed JSON
    found = re.search(rf'<figure id="{key}">.*?class="data">(.*?)</script>', page, re.DOTALL)
    assert found, key
    return json.loads(found[1])


def test_rate_and_map_are_those_of_the_json(infos: list[Info]) -> None:
    """And nothing is lost: every request is in a bin, every page in a cell."""
    varmail = ssdlab.Trace(ROOT / "traces/varmail.trace.zst").info()
    assert varmail.ops.read.requests
    for info in (*infos, varmail):
        values = json.loads(info.to_json())
        rate, cells = values["rate"], values["map"]
        kinds = ("reads", "writes", "trims", "others")
        assert sum(sum(rate[kind]) for kind in kinds) == values["requests"]
        for kind, op in zip(kinds, ("read", "write", "trim"), strict=False):
            assert sum(rate[kind]) == values["ops"][op]["requests"]
        assert sum(map(sum, cells["reads"])) == values["footprint"]["page_reads"]
        assert sum(map(sum, cells["writes"])) == values["updates"]["page_writes"]
        assert rate["bin_ns"] * len(rate["reads"]) > values["duration_ns"]
        assert len(rate["reads"]) <= 512
        assert len(cells["reads"]) <= 64
        assert {len(row) for row in cells["reads"] + cells["writes"]} <= {*range(1, 129)}

        page = trace_page([info])
        for kind in ("reads", "writes"):
            if not any(map(any, cells[kind])):
                assert f'id="map-{kind}"' not in page
                continue
            data = _data(page, f"map-{kind}")
            assert data["rows"] == cells[kind]
            assert data["x"]["bin"] == cells["bin_ns"]
            assert data["y"]["bin"] == cells["bin_pages"] * 4096
            assert data["y"]["low"] == cells["first_page"] * 4096
            assert f"The {sum(map(sum, cells[kind])):,} pages" in page
        seconds = rate["bin_ns"] / 1e9
        drawn = {mark["name"]: mark["y"] for mark in _data(page, "rate")["marks"]}
        names = {"reads": "reads", "writes": "writes", "trims": "discards"}
        for kind, name in names.items():
            if any(rate[kind]):
                expected = [count / seconds for count in rate[kind]]
                assert drawn[name][:-1] == pytest.approx(expected, rel=1e-4)
            else:
                assert name not in drawn


def test_arrays_of_the_json_take_a_line_each(infos: list[Info]) -> None:
    text = infos[0].to_json()
    assert json.loads(text) == infos[0].json
    assert max(line.count("[") for line in text.splitlines()) == 1
    assert len(text.splitlines()) < 1000
    odd = {"a": ["x [\n 1,\n 2\n ]", 1], "b": [], "c": [None, -1.5, 2], "d": [{"e": 1}], "f": 3}
    assert json.loads(json_text(odd)) == odd
    assert '"c": [null, -1.5, 2],' in json_text(odd)


def test_thousands_of_volumes_stay_a_page(infos: list[Info]) -> None:
    values = json.loads(infos[0].to_json())
    values["volumes"] = [{**values["volumes"][0], "volume": i} for i in range(20_000)]
    page = trace_page([info_of(values)])
    assert len(list(flatten(values))) > 100_000
    assert len(page.encode()) < 1_000_000
    assert "The first 1,000 of 20,000." in page


def test_files_of_others_are_kept_unless_told(infos: list[Info], tmp_path: Path) -> None:
    notes = tmp_path / "notes.html"
    notes.write_text("mine")
    with pytest.raises(ssdlab.OutputError, match="exists"):
        trace_files(infos, out=notes)
    assert notes.read_text() == "mine"
    trace_files(infos, out=notes, force=True)
    page = notes.read_text(encoding="utf-8")
    assert page == trace_page(infos)
    notes.write_text(page + "<!-- -->", encoding="utf-8")
    assert trace_files(infos, out=notes) == [notes], "a page of ours is written again"


def test_the_command_writes_page_and_plots(tmp_path: Path) -> None:
    trace = ROOT / "traces/sqlite.trace.zst"
    options = ("--quiet", "--html", "t.html", "--plots", "p")
    done = ssdlab_command("trace", "info", trace, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "t.html" in done.stdout
    assert (tmp_path / "t.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {file.suffix for file in (tmp_path / "p").iterdir()} == {".svg"}
    notes = tmp_path / "notes.html"
    notes.write_text("mine")
    page = ("--quiet", "--html", "notes.html")
    done = ssdlab_command("trace", "info", trace, *page, cwd=tmp_path)
    refused(done, 2, "notes.html: exists", "--force")
    nothing_left(tmp_path, "notes.html", "p", "t.html")
    assert notes.read_text() == "mine"
    both = ("trace", "info", trace, "--html", "u.html", "--json")
    refused(ssdlab_command(*both, cwd=tmp_path), 2, "--json", "--html")
    alone = ("trace", "info", trace, "--picture", "png")
    refused(ssdlab_command(*alone, cwd=tmp_path), 2, "--picture", "--plots")


def test_a_run_of_a_trace_shows_when_and_where_requests_arrive(tmp_path: Path) -> None:
    """On the page of the run and of a comparison; what stands there is what the trace holds."""
    trace = tmp_path / "some.trace"
    trace.write_text(
        "".join(HEAD.format(i, i % 7, "Q", "WR"[i % 2], i * 8, 8) for i in range(1, 60))
    )
    fit = {"workload.fit": "wrap", "workload.sort": True}
    done = ssdlab.compare(
        "greedy-8ch",
        traces=[trace],
        set=fit,
        vary={"gc.victim": ["greedy", "fifo"]},
        progress=False,
    )
    values = json.loads(ssdlab.Trace(trace).info(set={"workload.sort": True}).to_json())
    rate, cells = values["rate"], values["map"]
    for page in (run_page(next(iter(done.reports.values()))), comparison_page(done)):
        drawn = {mark["name"]: mark["y"] for mark in _data(page, "arrivals")["marks"]}
        per_second = [count / (rate["bin_ns"] / 1e9) for count in rate["writes"]]
        assert drawn["writes"][:-1] == pytest.approx(per_second)
        assert f"The {sum(map(sum, cells['writes'])):,} pages written" in page
        assert 'id="map-reads"' in page
        assert "As recorded: before workload.time_scale" in page
    trace.unlink()
    page = run_page(next(iter(done.reports.values())))
    assert "The trace is no file that can be read again" in page
    assert 'id="map-writes"' not in page
    other = ssdlab.run("greedy-8ch", set=SMALL, progress=False)
    assert "Requests of the trace" not in run_page(other)
