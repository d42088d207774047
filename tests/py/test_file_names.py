"""Traces in other folders, and with names that shells, TOML, HTML or URLs read in their own way."""

import json
import random
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import pytest

import ssdlab
from running import ssdlab_command
from ssdlab.config.files import plain_name, title_of_file
from ssdlab.fleets.fleet_runs import FleetRequest
from ssdlab.running import spare_plan

NAMES = ["trace (1).csv", "a#b.csv", '"x.csv', "it's 100% ü&<b>.csv"]
OTHERS = [
    "😀.csv",
    "a\x7fb\n.csv",
    "-o=x,y.csv",
    "123.csv",
    "true.csv",
    ".hidden.csv",
    "...csv",
    f"{'längst' * 30}.csv",
]
DEVICE = """
[device]
channels = 2
chips_per_channel = 1
blocks_per_plane = 64
pages_per_block = 16
over_provisioning = 0.25
[precondition]
overwrite = 1.0
"""
FIT = ("--set", "workload.fit=wrap")
VALID = ["--set", "host.mode=closed", "--set", "workload.loops=8"]
"""A search recommends no run that is too short, or that its arrivals overload."""


def written(path: Path, requests: int = 4000) -> Path:
    """An MSR trace of writes to pages drawn at random."""
    stream = random.Random(2)
    lines = (
        f"{128166372003061629 + 1000 * i},host,0,{'Read' if i % 9 == 0 else 'Write'},"
        f"{4096 * stream.randrange(1200)},4096,100\n"
        for i in range(requests)
    )
    path.write_text("".join(lines))
    return path


def succeeds(*words: str | Path, cwd: Path) -> str:
    done = ssdlab_command(*words, cwd=cwd)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def test_written_configurations_run_from_any_folder(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    written(here / "a.csv")
    (here / "d.toml").write_text(DEVICE)
    words = ["d.toml", "--trace", "a.csv", *FIT]
    succeeds("run", *words, "--out", "r", cwd=here)
    succeeds("compare", *words, "--vary", "gc.victim=greedy,fifo", "--out", "c", cwd=here)
    space = ["--space", "gc.victim=greedy,fifo", *VALID, "--minimize", "waf", "--out", "s"]
    succeeds("search", *words, *space, cwd=here)
    for file, loops in {"r/config.toml": 1, "c/fifo/config.toml": 1, "s/best.toml": 8}.items():
        out = succeeds("run", here / file, "--json", "--out", file.replace("/", "-"), cwd=there)
        assert json.loads(out)["requests"]["completed"] == 4000 * loops
    runs = [
        json.loads((place / "report.json").read_text())
        for place in (here / "r", there / "r-config.toml")
    ]
    assert runs[0]["provenance"]["event_digest"] == runs[1]["provenance"]["event_digest"]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_trace_goes_through_every_verb(name: str, tmp_path: Path) -> None:
    written(tmp_path / name)
    config = f"{name}.toml"
    (tmp_path / config).write_text(DEVICE)
    given = ["--trace", f"./{name}", *FIT]
    vary = ["--vary", "gc.victim=greedy,fifo"]
    assert name in succeeds("trace", "info", f"./{name}", cwd=tmp_path)
    succeeds("trace", "info", f"./{name}", "--html", "i.html", cwd=tmp_path)
    succeeds("trace", "convert", f"./{name}", f"{name}.ssdtrace", cwd=tmp_path)
    succeeds("run", f"./{config}", *given, "--out", "r", cwd=tmp_path)
    succeeds("compare", f"./{config}", *given, *vary, "--seeds", "2", "--out", "c", cwd=tmp_path)
    others = [*given, "--trace", f"{name}.ssdtrace"]
    succeeds("compare", f"./{config}", *others, "--out", "c2", cwd=tmp_path)
    succeeds("sweep", f"./{config}", *given, *vary, "--out", "s", cwd=tmp_path)
    space = ["--space", "gc.victim=greedy,fifo", *VALID, "--minimize", "waf", "--out", "h"]
    succeeds("search", f"./{config}", *given, *space, cwd=tmp_path)
    succeeds("fleet", f"./{name}", "--drive", f"./{config}", "--out", "f", cwd=tmp_path)
    screen = succeeds("try", f"./{name}", "--out", "t", "--no-open", "--seeds", "2", cwd=tmp_path)
    succeeds("run", "r/config.toml", "--out", "again", cwd=tmp_path)
    report = json.loads((tmp_path / "again/report.json").read_text())
    assert report["config"]["workload"]["trace"] == str(tmp_path / name)
    pages = [*tmp_path.rglob("*.html")]
    assert len(pages) >= 8
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<b>.csv" not in text, page
        for link in re.findall(r'(?:href|src)="([^"#]+)[^"]*"', text):
            target = unquote(unescape(link))
            if not re.match(r"\w+:", target):
                assert (page.parent / target).exists(), (page, link)
    for line in re.findall(r"ssdlab (?:try|plan) .*", screen):
        command = shlex.split(line)
        assert Path(command[2]).name == name, "a command to paste names the file"


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_the_plain_name_of_a_file_names_a_run(name: str, tmp_path: Path) -> None:
    written(tmp_path / name, 10)
    assert ssdlab.load_config(trace=tmp_path / name)["workload.trace"] == str(tmp_path / name)
    plain = plain_name(Path("some") / name)
    config = ssdlab.load_config(set={"run.name": json.dumps(plain)})
    assert config.name == plain
    assert plain_name("mysql.trace.zst") == "mysql"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("trace (1).csv", "trace (1)"),
        ("a#b (1).csv.gz", "a#b (1)"),
        ('"x.csv', '"x'),
        (".csv", "csv"),
    ],
)
def test_titles_have_the_name_of_the_file(name: str, title: str, tmp_path: Path) -> None:
    assert title_of_file(name) == title
    file = tmp_path / name.replace(".gz", "")
    file.write_text(
        "".join(f"{128166372003061629 + at},host,0,Write,0,4096,0\n" for at in range(9))
    )
    tried = ssdlab.try_trace(file, progress=False)
    assert tried.screen()[0].startswith(f"{title} on tlc-960gb")
    bound = spare_plan.bounds_of(None, None, 3)
    asked = spare_plan.ask(file, bound, progress=False)
    done = spare_plan._Search(asked, cast("Any", None), False, 2, 1.0)._plan_of([])
    assert done.head.startswith(f"{title} on tlc-960gb")
    assert FleetRequest([file], []).title == f"{title}-fleet"
    # The folders have plain names.
    assert re.fullmatch(r"[\w +-]+", FleetRequest([file], []).name)


def test_the_folder_of_a_fleet_is_told_from_that_of_a_run_of_its_trace() -> None:
    assert FleetRequest([Path("long" * 30 + ".csv")], []).name == "long" * 20 + "-fleet"


def test_a_title_has_no_mark_that_cannot_be_printed() -> None:
    assert title_of_file("a\nb\x1b[1m.csv") == "a-b-[1m"
