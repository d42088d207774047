"""Pages of runs and comparisons: one well-formed file, the report's numbers, within its size."""

import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from running import SMALL, nothing_left, refused, report_of, sets, ssdlab_command
from ssdlab.html.compare_page import comparison_page, ratio_interval
from ssdlab.html.page import flatten, table
from ssdlab.html.plot import MissingPlot, Plot
from ssdlab.html.run_page import run_figures, run_page, value_at
from ssdlab.html.svg import draw

LOGGED = {**SMALL, "metrics.op_log": True, "metrics.interval": "2 ms"}
MOST_BYTES = 6_000_000
VOID = {"meta", "link", "br", "wbr", "img", "input", "hr"}
VICTIMS = ["greedy", "fifo", "random"]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "r"
    ssdlab.run("greedy-8ch", set=LOGGED, out=folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared") / "c"
    values = {**SMALL, "metrics.interval": "2 ms"}
    vary = {"gc.victim": VICTIMS}
    ssdlab.compare("greedy-8ch", set=values, vary=vary, out=folder, progress=False)
    return folder


class Reader(HTMLParser):
    """Elements of a page: complains of what is not closed, keeps the numbers and references."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.numbers: dict[str, list[str]] = {}
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        assert len(values) == len(attrs), f"{tag}: an attribute twice: {attrs}"
        if tag not in VOID:
            self.open.append(tag)
        if "id" in values:
            self.ids.append(values["id"])
        self.links += [
            values[name]
            for name in ("href", "src", "srcset", "xlink:href", "action")
            if name in values
        ]
        if "data-key" in values:
            self.numbers.setdefault(values["data-key"], []).append(values["value"])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> within {self.open}"

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("which", ["run_folder", "compared"])
def test_a_page_is_one_well_formed_file(which: str, request: pytest.FixtureRequest) -> None:
    text = _page(request.getfixturevalue(which))
    page = Reader(text)
    assert len(page.ids) == len(set(page.ids))
    assert text.startswith("<!DOCTYPE html>")
    inside = {f"#{name}" for name in page.ids}
    assert set(page.links) <= inside | {"data:,"}
    # Names of XML are no addresses; a plain page holds no other.
    addresses = re.findall(r"https?://[^\s\"'<)]+", text)
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(", text)
    assert len(text.encode()) < MOST_BYTES


def test_numbers_equal_the_report(run_folder: Path) -> None:
    report = report_of(run_folder)
    page = Reader(_page(run_folder))
    assert len(page.numbers) > 150
    for key, raws in page.numbers.items():
        for raw in raws:
            assert json.loads(raw) == value_at(report, key), key
    listed = {key for key, _ in flatten({k: report[k] for k in ("latency", "waf", "gc")})}
    assert listed <= set(page.numbers)


def test_numbers_equal_the_comparison(compared: Path) -> None:
    rows: list[dict[str, Any]] = json.loads((compared / "compare.json").read_text())["runs"]
    page = Reader(_page(compared))
    assert {"runs.0.waf", "runs.2.write_mean_ns"} <= set(page.numbers)
    for key, raws in page.numbers.items():
        _, i, name = key.split(".")
        assert json.loads(raws[0]) == rows[int(i)][name], key


def test_every_plot_is_a_file_of_its_own(run_folder: Path, compared: Path, tmp_path: Path) -> None:
    for folder in (run_folder, compared):
        done = ssdlab_command("report", folder, "--plots", tmp_path / folder.name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        files = sorted((tmp_path / folder.name).iterdir())
        assert len(files) >= 11
        assert done.stdout.split() == sorted(map(str, files), key=done.stdout.index)
        for file in files:
            root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert "nan" not in " ".join(root.itertext()).lower()
            assert root.find("{http://www.w3.org/2000/svg}title") is not None


def test_the_command_writes_the_page_again(run_folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "deep/page.html"
    done = ssdlab_command("report", run_folder, "--out", page, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{page}\n")
    assert page.read_text(encoding="utf-8") == _page(run_folder)
    words = ["report", str(run_folder), "--out", str(page), "--from", "20ms"]
    refused(ssdlab_command(*words, cwd=tmp_path), 2, "page.html: exists; --force replaces it")
    assert ssdlab_command(*words, "--force", cwd=tmp_path).returncode == 0
    first = re.search(r'"first":(\d+)', page.read_text(encoding="utf-8"))
    assert first
    assert int(first[1]) >= 20_000_000


def test_bad_folders_and_times_are_refused(
    run_folder: Path, compared: Path, tmp_path: Path
) -> None:
    refused(ssdlab_command("report", tmp_path, cwd=tmp_path), 2, "neither report.json nor")
    done = ssdlab_command("report", compared, "--baseline", "best", cwd=tmp_path)
    refused(done, 2, "no such run", *VICTIMS)
    done = ssdlab_command("report", compared, "--from", "soon", cwd=tmp_path)
    refused(done, 2, "--from soon", "1.5s")
    page = (compared / "report.html").read_text(encoding="utf-8")
    done = ssdlab_command("report", compared, "--baseline", "fifo", cwd=tmp_path)
    refused(done, 2, "report.html: exists; --force replaces it")
    assert (compared / "report.html").read_text(encoding="utf-8") == page
    done = ssdlab_command("report", compared / "greedy", "--from", "1ms", cwd=tmp_path)
    refused(done, 2, "--from", "The run wrote no operation log", "metrics.op_log=true")
    done = ssdlab_command("report", run_folder, "--from", "1000s", cwd=tmp_path)
    refused(done, 2, "--from", "The run ends at", "before 1,000 s")
    for verb in ("try", "plan"):
        (tmp_path / verb).mkdir()
        (tmp_path / verb / f"{verb}.json").touch()
        done = ssdlab_command("report", tmp_path / verb, cwd=tmp_path)
        refused(done, 2, f"the folder of `{verb}`", "give the folder of one of its runs")
    broken = tmp_path / "broken"
    refused(ssdlab_command("report", broken, cwd=tmp_path), 2, "no such folder")
    broken.mkdir()
    (broken / "series.csv").touch()
    file = broken / "report.json"
    for text in ('{"version": 1}', "[]", "null", '{"version', "\udcff", '{"config": {}}'):
        file.write_text(text, encoding="utf-8", errors="surrogateescape")
        refused(ssdlab_command("report", broken, cwd=tmp_path), 2, "cannot be read", "broken")
    refused(ssdlab_command("report", file, cwd=tmp_path), 2, "is not a folder")
    nothing_left(broken, "report.json", "series.csv")


def test_files_of_others_are_not_replaced(run_folder: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    done = ssdlab_command("report", run_folder, "--out", notes, cwd=tmp_path)
    refused(done, 2, "notes.txt: exists", "--force")
    assert notes.read_text() == "mine"
    refused(ssdlab_command("report", run_folder, "--out", tmp_path, cwd=tmp_path), 2, "is a folder")
    plots = ("report", run_folder, "--plots", notes)
    refused(ssdlab_command(*plots, cwd=tmp_path), 2, "notes.txt: is not a folder")
    done = ssdlab_command("report", run_folder, "--out", notes, "--force", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert notes.read_text(encoding="utf-8") == _page(run_folder)
    nothing_left(tmp_path, "notes.txt")


def test_plots_as_pictures(run_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    picture = ("report", run_folder, "--plots", "p", "--picture", "png")
    done = ssdlab_command(*picture, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for file in (tmp_path / "p").iterdir():
        assert file.suffix == ".png"
        assert file.read_bytes()[1:4] == b"PNG"
        assert file.stat().st_size > 3000
    refused(ssdlab_command(*picture, cwd=tmp_path), 2, "exists", "--force")


def test_plots_as_files_need_no_variables(run_folder: Path) -> None:
    for one in run_figures(ssdlab.Report.read(run_folder)):
        if not isinstance(one, MissingPlot):
            text = draw(one, is_file=True)
            assert "var(" not in text
            assert "--" not in text


def test_no_html_leaves_the_page_out(tmp_path: Path) -> None:
    options = [*sets(SMALL), "--quiet", "--no-html", "--out", "r"]
    assert ssdlab_command("run", "greedy-8ch", *options, cwd=tmp_path).returncode == 0
    assert not (tmp_path / "r/report.html").exists()


@pytest.mark.parametrize("mode", ["functional", "short", "idle", "old"])
def test_what_cannot_be_drawn_is_said(mode: str, tmp_path: Path) -> None:
    """No empty frame: a figure has curves or bars, or words that say how to get them."""
    changes: dict[str, dict[str, object]] = {
        "functional": {"run.mode": "functional"},
        "short": {"metrics.interval": "10 s"},
        "idle": {"workload.read": 1.0},
        "old": {},
    }
    ssdlab.run("greedy-8ch", set={**SMALL, **changes[mode]}, out=tmp_path / "r", progress=False)
    if mode == "old":
        (tmp_path / "r/distributions.csv").unlink()
    text = run_page(ssdlab.Report.read(tmp_path / "r"), tmp_path / "r")
    figures = re.findall(r"<figure.*?</figure>", text, flags=re.DOTALL)
    missing = [f for f in figures if 'class="missing"' in f]
    drawn = [f for f in figures if f not in missing]
    assert all(re.search(r'class="(line|bar|dot)', f) for f in drawn)
    assert all("<svg" not in f for f in missing)
    words = {
        "functional": "run.mode=timed",
        "short": "metrics.interval=",
        "idle": "Garbage collection collected no block",
        "old": "distributions.csv",
    }
    assert any(words[mode] in f for f in missing)
    assert any("metrics.op_log=true" in f or "run.mode=timed" in f for f in missing)
    Reader(text)


def test_a_long_run_stays_small_and_keeps_its_extremes() -> None:
    report = ssdlab.run("greedy-8ch", set={**SMALL, "metrics.interval": "20 us"}, progress=False)
    assert len(report.series["time_ns"]) > 3000
    assert len(run_page(report).encode()) < 1_500_000
    (free,) = [one for one in run_figures(report) if one.key == "free"]
    assert isinstance(free, Plot)
    (curve,) = free.curves
    assert curve.low is not None
    assert curve.high is not None
    assert len(curve.y) <= 700
    assert curve.low.min() == report.series["free_blocks"].min()
    assert curve.high.max() == report.series["free_blocks"].max()
    assert "band" in free.caption


def test_a_page_of_anything_stays_below_its_size() -> None:
    logged = {**SMALL, "metrics.interval": "20 us"}
    report = ssdlab.run("greedy-8ch", set=logged, progress=False)
    values = json.loads(report.to_json())
    latency = {op: values["latency"][op] for op in ("read", "write", "trim", "flush")}
    values["latency"]["by_volume"] = {str(i): latency for i in range(3000)}
    values["warnings"] = [f"volume {i}: too few samples" for i in range(9000)]
    values["invalidating"] = 0
    many = ssdlab.Report.of(json.dumps(values), report.series_csv, report.distributions_csv)
    page = run_page(many)
    assert len(page.encode()) < MOST_BYTES / 2
    assert "And 8,900 more." in page
    runs = ssdlab.Comparison({f"victim=greedy, seed={i}": report for i in range(1000)})
    page = comparison_page(runs, "victim=greedy, seed=999")
    assert len(page.encode()) < MOST_BYTES
    assert "contain 301 of them" in page
    assert "seed=999</option>" in page


def test_warnings_of_a_run_are_told_by_what_they_mean() -> None:
    report = ssdlab.run("greedy-8ch", set=SMALL, progress=False)
    values = {**json.loads(report.to_json()), "warnings": ["wrong", "few"], "invalidating": 1}
    told = ssdlab.Report.of(json.dumps(values), report.series_csv, report.distributions_csv)
    page, cell = run_page(told), told._repr_html_()
    for text in (page, cell.replace("invalidates", "Invalidates").replace("notes", "Notes")):
        severe, notes = text.index("Invalidates the result<"), text.index("Notes<")
        assert severe < text.index("<li>wrong</li>") < notes < text.index("<li>few</li>")


def test_what_differs_between_runs_is_listed(compared: Path) -> None:
    page = _page(compared)
    found = re.search(r"Keys in which the runs differ</caption>(.*?)</table>", page)
    assert found
    assert re.findall(r"<td>(.*?)</td>", found[1]) == [
        "greedy",
        "lowest-id",
        "fifo",
        "–",
        "random",
        "–",
    ]
    # A key may be broken after a dot.
    heads = found[1].replace("<wbr>", "")
    assert "gc.victim.policy" in heads
    assert "gc.victim.ties" in heads


def test_distributions_hold_what_the_report_counts() -> None:
    report = ssdlab.run("greedy-8ch", set=SMALL, progress=False)
    found = report.distributions
    assert found["latency_write"][:, 2].sum() == report.latency.write.count
    assert found["latency_read"][:, 2].sum() == report.latency.read.count
    assert found["victim_invalid"][:, 2].sum() == report.gc.calls
    assert found["erases"][:, 2].sum() == report.device.blocks
    invalid = (found["victim_invalid"][:, 0] * found["victim_invalid"][:, 2]).sum()
    assert report.gc.mean_victim_invalid_ratio == pytest.approx(invalid / report.gc.calls / 16)
    slow = set_functional()
    assert slow.distributions["victim_invalid"][:, 2].sum() == slow.gc.calls


def set_functional() -> ssdlab.Report:
    return ssdlab.run("greedy-8ch", set={**SMALL, "run.mode": "functional"}, progress=False)


def test_ratios_refer_to_the_chosen_run(compared: Path) -> None:
    done = ssdlab.Comparison.read(compared)
    assert list(done.reports) == VICTIMS
    means = [report.latency.write.mean or 0 for report in done.reports.values()]
    text = comparison_page(done, "fifo")
    assert '<option value="1" selected>fifo' in text
    assert f">{means[2] / means[1]:.3f}" in text
    assert ratio_interval(2.0, 0.2, 1.0, 0.1) == pytest.approx(2 * (0.1**2 + 0.1**2) ** 0.5)
    assert ratio_interval(2.0, None, 1.0, 0.1) is None


def test_markup_in_what_others_wrote_stays_text() -> None:
    evil = '</script><b>"x"&'
    report = ssdlab.run("greedy-8ch", set={**SMALL, "metrics.interval": "2 ms"}, progress=False)
    values = {**report.json, "warnings": [evil]}
    told = ssdlab.Report.of(json.dumps(values), report.series_csv, report.distributions_csv)
    assert evil in Reader(run_page(told)).words
    both = ssdlab.Comparison({evil: told, "b": report}, failures={"c": evil})
    assert evil in Reader(comparison_page(both)).words


def test_a_page_that_cannot_be_made_costs_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("ssdlab.html.run_page.run_page", broken)
    with pytest.raises(ssdlab.InternalError, match="a bug"):
        ssdlab.run("greedy-8ch", set=SMALL, out=tmp_path / "r", progress=False)
    assert report_of(tmp_path / "r")["completed"]


class Raises(ssdlab.policy.Victim):
    def __init__(self, after: int) -> None:
        self.left = after

    def score(self, view: ssdlab.policy.VictimView) -> object:
        self.left -= 1
        if self.left < 0:
            message = "oh no"
            raise ValueError(message)
        return view.valid


@pytest.mark.parametrize(("after", "began"), [(3, False), (60, True)])
def test_a_failed_run_shows_the_failure_and_what_is_known(
    after: int, began: bool, tmp_path: Path
) -> None:
    filled = {"precondition.fill": 0.5, "precondition.overwrite": 0} if began else {}
    values = {**LOGGED, **filled}
    with pytest.raises(ssdlab.RunError) as caught:
        ssdlab.run("greedy-8ch", set=values, victim=Raises(after), out=tmp_path / "r")  # type: ignore[call-overload]
    assert (caught.value.report.requests.submitted > 0) == began
    page = _page(tmp_path / "r")
    Reader(page)
    assert "oh no" in page
    for advice in ("set run.mode", 'class="missing"', "no GC happened"):
        assert advice not in page
    assert ('id="cdf' in page) == began


def test_wear_levelling_has_a_colour(tmp_path: Path) -> None:
    wear = {"wear.static_threshold": 3, "workload.kind": "hot-cold", "workload.requests": 20000}
    ssdlab.run("greedy-8ch", set={**LOGGED, **wear}, out=tmp_path / "r", progress=False)
    page = _page(tmp_path / "r")
    for kind, name in ((5, "wear-levelling read"), (6, "wear-levelling program")):
        assert f'<span class="k{kind}"></span>{name}' in page
        assert f"--k{kind}: " in page
    assert "preconditioning and warm-up are not counted" in page


@pytest.mark.parametrize("seeds", [None, 2])
def test_numbers_of_a_late_baseline_are_those_of_the_file(
    seeds: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssdlab.html.compare_page.MOST_LISTED", 1)
    config = ssdlab.load_config("greedy-8ch", set=SMALL)
    vary = {"gc.victim": VICTIMS}
    done = ssdlab.compare(config, vary=vary, seeds=seeds, progress=False)
    numbers = Reader(comparison_page(done, "random")).numbers
    held = dict(flatten(done.json))
    assert any(key.startswith(("runs.2.", "statistics.2.")) for key in numbers)
    for key, values in numbers.items():
        assert [json.loads(value) for value in values] == [held[key]] * len(values), key


def test_one_run_is_no_runs() -> None:
    config = ssdlab.load_config("greedy-8ch", set=SMALL)
    one = ssdlab.compare(config, progress=False)
    assert "1 run:" in comparison_page(one)
    repeated = ssdlab.compare(config, seeds=2, progress=False)
    assert "1 configuration, 2 seeds each:" in comparison_page(repeated)


def test_a_number_and_its_unit_stay_in_one_line() -> None:
    cell = '<data value="9.6 us, 5 %">missed by 9.3 %</data> in 2.84 µs, 127 MiB of 3 Bytes'
    page = table(["a", "b"], [("x", [cell])], "c")
    wanted = cell.replace("9.3 %", "9.3\u00a0%").replace("2.84 µs", "2.84\u00a0µs")
    assert wanted.replace("127 MiB", "127\u00a0MiB") in page
