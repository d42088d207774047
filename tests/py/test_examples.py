"""The help of the command line: every verb has examples, and they are commands that it accepts."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from running import ROOT, ssdlab_command
from ssdlab.cli import app
from ssdlab.cli.examples import EXAMPLES
from ssdlab.cli.terminal import coloured

COMMAND: Any = typer.main.get_command(app)


def verbs(command: Any = COMMAND, words: tuple[str, ...] = ()) -> Iterator[str]:  # noqa: ANN401
    """Every verb, with its group."""
    for name, inner in getattr(command, "commands", {}).items():
        if hasattr(inner, "commands"):
            yield from verbs(inner, (*words, name))
        else:
            yield " ".join((*words, name))


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


def test_help_shows_them(tmp_path: Path) -> None:
    done = ssdlab_command("run", "--help", cwd=tmp_path)
    text = " ".join(done.stdout.split())
    assert "Examples: ssdlab run greedy-8ch --set gc.victim=fifo" in text


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
    lines = coloured(text).splitlines()
    assert lines[1] == f"{green}  greedy *{end}    1.2  3"
    assert lines[2] == "  fifo        1.4"
    assert lines[3] == f"{red}invalidates {end}results"
    assert lines[4] == f"{red}  ! {end}all: short"
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured(text))
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
