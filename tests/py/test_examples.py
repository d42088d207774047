"""The help of the command line: every verb has examples, and they are commands that it accepts."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.markup import render

from running import ROOT, SMALL_TOML, ssdlab_command
from ssdlab import kv
from ssdlab.cli import app
from ssdlab.cli.examples import EXAMPLES as OF_PRODUCT
from ssdlab.cli.terminal import colour
from ssdlab_lab.cli.examples import EXAMPLES as OF_LAB

COMMAND: Any = typer.main.get_command(app)
EXAMPLES = OF_PRODUCT | OF_LAB


def verbs(command: Any = COMMAND, words: tuple[str, ...] = ()) -> Iterator[str]:  # noqa: ANN401
    """Every verb, with its group."""
    for name, inner in getattr(command, "commands", {}).items():
        if getattr(inner, "invoke_without_command", True):
            yield " ".join((*words, name))
        if hasattr(inner, "commands"):
            yield from verbs(inner, (*words, name))


def test_every_verb_has_examples() -> None:
    assert sorted(EXAMPLES) == sorted(verbs())


@pytest.mark.parametrize(
    ("verb", "line"), [(v, one) for v, all_ in EXAMPLES.items() for one in all_]
)
def test_examples_are_accepted(verb: str, line: str) -> None:
    name, *words = shlex.split(line)
    assert name == "ssdlab"
    assert line.startswith(f"ssdlab {verb}")
    command, context = COMMAND, COMMAND.make_context(name, list(words))
    for _ in verb.split():
        inner, command, words = command.resolve_command(context, words)
        context = command.make_context(inner, list(words), parent=context)
    assert command.name == verb.split()[-1]


LONG = {"try", "plan", "compare", "sweep", "search", "reproduce", "drives compare", "validate"}
"""Verbs whose first example takes from ten seconds to minutes."""
MADE = {
    "config init": "mine.toml",
    "drives calibrate": "mine.toml",
    "snapshot make": "mine.snapshot",
}
"""What the first example of a verb writes."""
SMALLER = {"kv bench": ("--size", "4")}
"""Options with which a test runs an example that writes much."""
VARY = ("--vary", "gc.victim=greedy,fifo")
HOURS = {
    "bench": "it fails on a machine that is too slow",
    "drives scale": "a drive at full size",
    "fleet": "volumes that fill a drive",
    "serve": "a server has no end",
    "serve status": "it needs a server",
    "serve why": "it needs a server",
}
"""Those that no test runs."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "traces").symlink_to(ROOT / "traces")
    (folder / "small.toml").write_text(SMALL_TOML.replace("4000", "40_000"))
    (folder / "mine.csv").write_text("fill,waf\n0.5,1.3\n0.8,2.1\n1.0,4.0\n")
    lines = (
        f"{i % 3},W,{4096 * (i * 7 % 5000)},4096,{2_000_000_000_000_000 + 1000 * i}\n"
        for i in range(60_000)
    )
    volumes = "".join(lines).encode()
    (folder / "volumes.csv").write_bytes(volumes)
    (folder / "volumes.csv.gz").write_bytes(gzip.compress(volumes))
    volume = b"".join(volumes.splitlines(True)[::3])
    (folder / "mine.csv.gz").write_bytes(gzip.compress(volume))
    (folder / "mysql.csv").write_bytes(volume)
    (folder / "mail.csv.gz").write_bytes(gzip.compress(volume))
    made = [
        ["config", "init", "mine.toml", "--preset", "modern-tlc"],
        ["compare", "small.toml", *VARY, "--seeds", "2", "--out", "runs/demo"],
        ["sweep", "small.toml", *VARY, "--store", "kept"],
        ["snapshot", "make", "mine.toml", "--out", "mine.snapshot"],
    ]
    for words in made:
        done = ssdlab_command(*words, cwd=folder)
        assert done.returncode == 0, done.stderr
    with kv.open(folder / "store", create_if_missing=True) as db:
        db.put(b"a", b"1")
    with kv.open(folder / "store") as db:
        db.compact_range()
    return folder


@pytest.mark.parametrize(
    "verb",
    [pytest.param(one, marks=pytest.mark.slow) if one in LONG else one for one in EXAMPLES],
)
def test_the_first_example_of_every_verb_reaches_collection(
    verb: str, prepared: Path, tmp_path: Path
) -> None:
    if verb in HOURS:
        pytest.skip(HOURS[verb])
    _, *words = shlex.split(EXAMPLES[verb][0])
    prepared = shutil.copytree(prepared, tmp_path / "folder", symlinks=True)
    if verb in MADE:
        (prepared / MADE[verb]).unlink()
    if verb == "kv dump":
        words[-1] = str(next((prepared / "store").glob("*.ldb")))
    if verb == "results show":
        listed = ssdlab_command("results", "list", "--store", "kept", "--json", cwd=prepared)
        words[2] = json.loads(listed.stdout)[0]["key"]
    done = ssdlab_command(*words, *SMALLER.get(verb, ()), cwd=prepared)
    assert done.returncode == 0, done.stderr
    told = " ".join((done.stdout + done.stderr).split())
    assert "no GC happened" not in told
    assert "invalidates" not in told, "the first thing that a user sees is a sound result"


def test_the_demo_repeats_its_runs_and_ends_with_its_answer(tmp_path: Path) -> None:
    words = re.search(r"^DEMO := \S+ (.*?)\n\n", (ROOT / "Makefile").read_text(), re.S | re.M)
    assert words
    command = " ".join(words[1].replace("\\\n", " ").replace("--force ", "").split())
    seeds = re.search(r"--seeds (\d+)", command)
    assert seeds
    assert int(seeds[1]) >= 3
    front = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    assert f"$ ssdlab {command} ... demo:" in " ".join(front.split())
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    for policies in ("greedy,fifo", "greedy,random"):
        made = ["compare", "small.toml", "--vary", f"gc.victim={policies}", "--seeds", "3"]
        done = ssdlab_command(*made, "--out", policies, cwd=tmp_path)
        paragraphs = done.stdout.strip().split("\n\n")
        assert paragraphs[-1] == paragraphs[1]
        assert "writes" in paragraphs[-1]


@pytest.mark.slow
def test_the_program_of_the_front_page_prints_what_is_shown_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    program = front.split("```python\n")[1].split("```")[0]
    shown = front.split("$ python first.py\n...\n")[1].split(" ...\n```")[0]
    exec(program, {})
    assert capsys.readouterr().out.startswith(shown)


def test_help_shows_them(tmp_path: Path) -> None:
    done = ssdlab_command("run", "--help", cwd=tmp_path)
    text = " ".join(done.stdout.split())
    assert "Examples: ssdlab run modern-tlc --set gc.victim=fifo" in text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("try", "Output folder. [default: runs/NAME]"),
        ("drives scale", "Run this drive; repeatable. [default: all]"),
        ("drives calibrate", "File to write. [default: MEASUREMENTS.toml]"),
    ],
)
def test_help_shows_defaults(words: str, shown: str, tmp_path: Path) -> None:
    done = ssdlab_command(*words.split(), "--help", cwd=tmp_path)
    text = " ".join(done.stdout.replace("│", " ").split())
    assert shown in text


def test_a_terminal_shows_help_as_it_is_written() -> None:
    with_brackets = 0
    for verb in verbs():
        command = COMMAND
        for word in verb.split():
            command = command.commands[word]
        for one in (command, *command.params):
            for name in ("help", "short_help", "epilog"):
                text = getattr(one, name, None) or ""
                with_brackets += "[" in text
                assert render(text).plain == text.replace("\\[", "["), (verb, one.name, name)
    assert with_brackets


def test_the_reference_and_the_manual_show_each_once() -> None:
    reference = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    assert reference.count("\nExample") == len(EXAMPLES)
    for line in (one for all_ in EXAMPLES.values() for one in all_):
        assert reference.count(f"\n`{line}`\n") == 1, line
    manual = (ROOT / "packaging/data/share/man/man1/ssdlab.1").read_text(encoding="utf-8")
    for option in ("vary", "space"):
        assert f"\nValues of --{option}:" in reference
        assert f"\nValues of \\-\\-{option}:" in manual


def test_a_new_configuration_is_complete_and_names_its_schema(tmp_path: Path) -> None:
    for preset in ("modern-tlc", "drive:micron-7450-max-800"):
        file = f"{preset.partition(':')[0]}.toml"
        done = ssdlab_command("config", "init", file, "--preset", preset, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        first = (tmp_path / file).read_text().splitlines()[0]
        schema = tmp_path / first.removeprefix("#:schema ")
        assert "properties" in json.loads(schema.read_text())
        assert ssdlab_command("config", "check", file, cwd=tmp_path).returncode == 0
    again = ssdlab_command("config", "init", "drive.toml", cwd=tmp_path)
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    unknown = ssdlab_command("config", "init", "a.toml", "--preset", "greedy", cwd=tmp_path)
    assert unknown.returncode == 2
    assert 'did you mean "greedy-8ch"' in unknown.stderr
    assert not (tmp_path / "a.toml").exists()


def test_colours_mark_what_invalidates_and_what_is_lowest() -> None:
    text = "run\n  greedy *    1.2  3\n  fifo        1.4\ninvalidates results\n"
    text += "  ! all: short\n  - a\n"
    red, green, end = "\x1b[1;31m", "\x1b[32m", "\x1b[0m"
    lines = colour(text).splitlines()
    assert lines[1] == f"{green}  greedy *{end}    1.2  3"
    assert lines[2] == "  fifo        1.4"
    assert lines[3] == f"{red}invalidates {end}results"
    assert lines[4] == f"{red}  ! {end}all: short"
    plain = re.sub(r"\x1b\[[0-9;]*m", "", colour(text))
    assert plain == text


def test_the_shell_completes_verbs_options_and_presets() -> None:
    for words, found in {
        "ssdlab swe": "sweep",
        "ssdlab compare --va": "--vary",
        "ssdlab run greedy-8": "greedy-8ch",
        "ssdlab compare greedy-8ch modern-t": "modern-tlc",
        "ssdlab run mine.t": "",  # the shell's own completion: files
    }.items():
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        env = {**os.environ, "_SSDLAB_COMPLETE": "complete_bash", **asked}
        # Variables are named after the command, which is `ssdlab` where it is installed.
        program = "import sys; sys.argv[0] = 'ssdlab'; from ssdlab.cli import main; main()"
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.stdout.split() == found.split(), (words, done.stderr)
