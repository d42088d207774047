"""What the command prints fits a terminal of 80 columns, and --terse prints what the JSON says."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from running import ROOT, ssdlab_command, too_wide
from ssdlab.cli.terminal import terse
from ssdlab.results.text import listed, table

MANUAL = ROOT / "packaging" / "data" / "share" / "man" / "man1" / "ssdlab.1"
KEYS = {
    "device.blocks_per_plane": 32,
    "device.pages_per_block": 16,
    "device.over_provisioning": 0.25,
    "precondition.fill": 1.0,
    "precondition.overwrite": 1,
    "workload.requests": 3000,
}
GREEDY = ("greedy-8ch", *(word for key in KEYS for word in ("--set", f"{key}={KEYS[key]}")))


@pytest.mark.parametrize(
    "words",
    [
        ("run", *GREEDY),
        ("run", *GREEDY, "--set", "workload.read=0.5", "--seeds", "2"),
        ("compare", *GREEDY, "--vary", "gc.victim=greedy,fifo"),
        ("compare", *GREEDY, "--vary", "gc.victim=greedy,cost-benefit", "--seeds", "3"),
        ("sweep", *GREEDY, "--vary", "device.over_provisioning=0.1:0.3:0.1"),
        ("sweep", *GREEDY, "--vary", "gc.victim=greedy,fifo", "--seeds", "2"),
        ("kv", "simulate", "remapcom", "--host", "operations=500"),
        ("trace", "info", str(ROOT / "traces" / "cassandra.trace.zst")),
        ("config", "show", "deferred-gc-raid", "--terse"),
        ("list", "policies"),
        ("list", "presets"),
        ("list", "drives"),
        ("list", "formats"),
        ("list", "papers"),
        ("doctor",),
        ("--help",),
        ("sweep", "--help"),
        ("kv", "simulate", "--help"),
    ],
    ids=lambda words: "-".join(word for word in words[:2] if not word.startswith("/")),
)
def test_lines_fit_a_terminal(words: tuple[str, ...], tmp_path: Path) -> None:
    done = ssdlab_command(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert too_wide(done.stdout) == []


def test_a_wide_table_goes_on_below() -> None:
    lines = table(["name", "a" * 40, "b" * 30, "c" * 50], [["one", "1", "2", "3"]])
    assert [line.split() for line in lines] == [
        ["name", "a" * 40, "b" * 30],
        ["one", "1", "2"],
        [],
        ["name", "c" * 50],
        ["one", "3"],
    ]
    assert table(["x", "y" * 100], [["1", "2"]])[0] == f"x  {'y' * 100}"
    assert [*listed("short", 8, "a text")] == ["short   a text"]
    assert [*listed("a-long-name", 8, "a text")] == ["a-long-name", "        a text"]


def test_terse_lines_are_the_json(tmp_path: Path) -> None:
    words = ("compare", *GREEDY, "--vary", "gc.victim=greedy,fifo", "--seeds", "2", "--force")
    text = ssdlab_command(*words, "--json", cwd=tmp_path).stdout
    lines = ssdlab_command(*words, "--terse", cwd=tmp_path).stdout.splitlines()
    found = dict(line.split("\t") for line in lines)
    assert len(found) == len(lines)
    values = json.loads(text)
    waf = {f"{one['label']}.{one['seed']}": one["waf"] for one in values["runs"]}
    assert len(waf) == 4
    for name, value in waf.items():
        assert json.loads(found[f"runs.{name}.waf"]) == value
    (known,) = (one for one in values["statistics"] if one["label"] == "fifo")
    assert json.loads(found["statistics.fifo.waf.mean"]) == known["waf"]["mean"]


def test_terse_names_elements_by_what_they_are_called() -> None:
    twice = [{"name": "a", "x": 1}, {"name": "a", "x": 2}]
    assert "".join(terse({"twice": twice, "text": "two\nlines", "none": None, "empty": []})) == (
        "twice.0.name\ta\ntwice.0.x\t1\ntwice.1.name\ta\ntwice.1.x\t2\n"
        "text\ttwo lines\nnone\tnull\n"
    )


def test_the_manual_page_is_sound() -> None:
    if shutil.which("groff") is None:
        pytest.skip("needs groff")
    groff = ["groff", "-ww", "-man", "-Tascii", str(MANUAL)]
    done = subprocess.run(groff, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "ssdlab sweep" in MANUAL.read_text(encoding="utf-8")
