"""The command line when all goes well: what goes to stdout, what to stderr, what into folders."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ssdlab
from running import COMMAND, HANG_S, ROOT, SMALL_TOML, report_of, ssdlab_command
from ssdlab.cli.doctor import facts
from ssdlab.cli.verbs import MODULES


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    return tmp_path


def test_run(small: Path) -> None:
    done = ssdlab_command("run", "small.toml", "--set", "gc.victim=fifo", cwd=small)
    assert done.returncode == 0
    assert done.stderr == "results in runs/small\n"
    assert done.stdout == (small / "runs/small/summary.txt").read_text()
    assert report_of(small / "runs/small")["config"]["gc"]["victim"]["policy"] == "fifo"


def test_json_alone_on_stdout(small: Path) -> None:
    done = ssdlab_command("run", "small.toml", "--json", "--seed", "3", "--out", "o", cwd=small)
    assert json.loads(done.stdout) == report_of(small / "o")
    assert done.stdout == (small / "o/report.json").read_text()
    assert json.loads(done.stdout)["provenance"]["seed"] == 3


def test_quiet(small: Path) -> None:
    for verb in ("run", "compare"):
        done = ssdlab_command(verb, "small.toml", "--quiet", "--out", verb, cwd=small)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_compare(small: Path) -> None:
    words = ["--vary", 'gc.victim=greedy,{policy="d-choices",d=2}', "--jobs", "2"]
    done = ssdlab_command("compare", "small.toml", *words, cwd=small)
    assert done.returncode == 0, done.stderr
    folder = small / "runs/small-compared"
    assert done.stderr == "results in runs/small-compared\n"
    assert done.stdout == (folder / "summary.txt").read_text()
    labels = [row["label"] for row in json.loads((folder / "compare.json").read_text())["runs"]]
    assert labels == ["greedy", "d-choices d=2"]
    assert "d = 2" in (folder / "d-choices-d=2/config.toml").read_text()


def test_compare_traces_and_configs(small: Path) -> None:
    line = "7,0 0 0 {:.6f} 0 Q WS {} + 8\n"
    for name, step in (("near.trace", 8), ("far.trace", 64)):
        text = "".join(line.format(i / 1000, i % 50 * step) for i in range(200))
        (small / name).write_text(text)
    (small / "other.toml").write_text(SMALL_TOML + "[gc]\nreserve = 1\n")
    traces = ["--trace", "near.trace", "--trace", "far.trace"]
    words = ["compare", "small.toml", "other.toml", *traces, "--json"]
    done = ssdlab_command(*words, cwd=small)
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert [row["label"] for row in runs] == ["small near", "small far", "other near", "other far"]


def test_lists(tmp_path: Path) -> None:
    policies = ssdlab_command("list", "policies", cwd=tmp_path).stdout
    for word in ("gc.victim", "cost-benefit", "gc.trigger", "free-blocks"):
        assert word in policies
    presets = ssdlab_command("list", "presets", "--json", cwd=tmp_path).stdout
    assert [preset["name"] for preset in json.loads(presets)] == ssdlab.preset_names()
    assert "block-event" in ssdlab_command("list", "formats", cwd=tmp_path).stdout


def test_config(small: Path) -> None:
    shown = ssdlab_command("config", "show", "small.toml", "--set", "gc.window=2", cwd=small).stdout
    (small / "again.toml").write_text(shown)
    again = ssdlab.load_config(small / "again.toml")
    assert again["gc.window"] == 2
    assert "no errors" in ssdlab_command("config", "check", "again.toml", cwd=small).stdout
    schema = json.loads(ssdlab_command("config", "schema", cwd=small).stdout)
    assert "device" in schema["properties"]
    reference = ssdlab_command("config", "reference", cwd=small).stdout
    assert "over_provisioning" in reference


def test_doctor_says_how_much_memory_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssdlab.config.memory.available", lambda: 3 * 2**29)
    monkeypatch.setattr("ssdlab.config.memory.BYTES_A_PAGE", 16)
    found = dict(facts())
    assert found["memory"] == "1.50 GiB available, enough for 100,663,296 flash pages"
    monkeypatch.setattr("ssdlab.config.memory.available", lambda: None)
    assert dict(facts())["memory"] == "unknown"


def test_doctor_and_version(tmp_path: Path) -> None:
    lines = ssdlab_command("doctor", cwd=tmp_path).stdout
    for word in ("ssdlab ", "python", "processor", "memory", "traces", "flash operations/s"):
        assert word in lines
    assert "none in ./traces" in lines
    (tmp_path / "traces").mkdir()
    for name in ("b.trace", "a.trace.zst"):
        (tmp_path / "traces" / name).write_bytes(bytes(1 << 20))
    lines = ssdlab_command("doctor", cwd=tmp_path).stdout
    assert "2 in ./traces: a.trace.zst (1 MiB), b.trace (1 MiB)" in " ".join(lines.split())
    assert ssdlab.__version__ in ssdlab_command("--version", cwd=tmp_path).stdout
    nothing = ssdlab_command(cwd=tmp_path)
    assert "compare" in nothing.stdout + nothing.stderr


def on_terminal(words: list[str], folder: Path, **more: str) -> str:
    """What a run writes to a terminal on stderr."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "90"} | more
    environment = {key: value for key, value in environment.items() if value}
    started = subprocess.Popen(
        [*COMMAND, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    os.close(ours)
    assert started.wait(HANG_S) == 0
    return seen.decode()


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_progress_on_a_terminal(verb: str, small: Path) -> None:
    words = [verb, "small.toml", "--set", "workload.requests=800000", "--out", "o", "--force"]
    coloured = on_terminal(words, small, NO_COLOR="")
    assert "%" in coloured
    assert "requests/s" in coloured
    colour = re.compile(r"\x1b\[(?:3[0-7]|38;)")
    assert colour.search(coloured)
    assert not colour.search(on_terminal(words, small, NO_COLOR="1"))


def test_internal_errors_ask_for_a_report(tmp_path: Path) -> None:
    program = (
        "import ssdlab.cli.doctor, sys\n"
        "def broken(*a, **k): raise AssertionError('it cannot be')\n"
        "ssdlab.cli.doctor.facts = broken\n"
        "sys.argv = ['ssdlab', *sys.argv[1:]]\n"
        "ssdlab.cli.main()\n"
    )
    for options, traced in (([], False), (["--debug"], True)):
        words = [sys.executable, "-c", program, *options, "doctor"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "a bug in ssdlab: AssertionError: it cannot be" in done.stderr
        assert "report it" in done.stderr
        assert ("Traceback" in done.stderr) == traced


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem
)
def test_examples_are_sound(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert ssdlab.load_config(example).name == example.stem


def test_a_command_imports_its_own_module_only() -> None:
    program = (
        "import sys; from ssdlab.cli import app; app(['doctor', '--help'], standalone_mode=False);"
        " print(*sorted(name for name in sys.modules if name.startswith('ssdlab.cli.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    imported = {name.rpartition(".")[2] for name in done.stdout.splitlines()[-1].split()}
    assert "doctor" in imported
    assert imported.isdisjoint(set(MODULES.values()) - {"doctor"})
