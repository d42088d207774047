"""The commands and programs that a Markdown page shows, and how they are run.

In a fence called `console`, a line that begins with `$ ` is a command (one that ends in a backslash
goes on) and what follows is its output, `...` standing for anything; no output shown: not
compared. `sh` is a script. `python` is a program, or, if its first line is a comment with the name
of a file, that file; so is `toml`. `make` commands are only tried (`make -n`). Two remarks may
stand before a fence: `<!-- slow -->` and `<!-- not executed: REASON -->`.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from running import HANG_S

FENCE = re.compile(
    r"(?:^<!-- (?P<remark>slow|not executed: [^\n]+) -->\n+)?"
    r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
COMMAND = re.compile(
    r"^    +(?:\$ .*|(?:sudo )?(?:ssdlab|make|cargo|pip|python3?|zstd|blktrace|blkparse) .*)$",
    re.MULTILINE,
)
KINDS = ("console", "sh", "python", "toml")


@dataclass(frozen=True)
class Block:
    """A fence that is run, or a file that it holds."""

    kind: str
    text: str
    line: int
    slow: bool

    @property
    def file(self) -> str | None:
        """The name of the file that it holds, if it holds one."""
        filename = re.match(r"# ([\w.-]+\.(?:py|toml))\n", self.text)
        return filename[1] if filename and self.kind in ("python", "toml") else None


def blocks(page: str) -> list[Block]:
    """What is to be run of a page, in order."""
    return [
        Block(match_["kind"], match_["text"], line, match_["remark"] == "slow")
        for match_ in FENCE.finditer(page)
        if match_["kind"] in KINDS and not (match_["remark"] or "").startswith("not")
        for line in [page.count("\n", 0, match_.start("kind")) + 1]
    ]


def unrun(page: str) -> list[str]:
    """Commands that stand where none is run, without saying so."""
    remainder = FENCE.sub(
        lambda match_: "" if match_["kind"] in KINDS else textwrap.indent(match_["text"], "    "),
        page,
    )
    return [line.strip() for line in COMMAND.findall(remainder)]


def make_words(page: str) -> list[str]:
    """Targets of make that the prose and the fences name."""
    targets = re.findall(r"`make ([a-z][a-z-]*)`", page)
    return sorted({*targets, *re.findall(r"^(?:\$ )?make ([a-z][a-z-]*)", page, re.MULTILINE)})


class Scratch:
    """A folder in which the blocks of one page are run, one after the other."""

    def __init__(self, folder: Path, root: Path, python: Path = Path(sys.executable)) -> None:
        self.folder = folder
        self.python = python
        for name in ("examples", "traces", "presets"):
            (folder / name).symlink_to(root / name)
        (folder / ".venv").symlink_to(python.parent.parent)
        self.makefile = root / "Makefile"
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        self.env |= {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}

    def run(self, block: Block) -> None:
        """Run a block; fails if a command fails or its output is not the one shown."""
        if block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "python":
            self._succeed([str(self.python), "-c", block.text], block.text)
        elif block.kind == "sh":
            self._shell(block.text)
        elif block.kind == "console":
            for command, expected in _commands(block.text):
                actual = self._shell(command)
                checker = doctest.OutputChecker()
                # Dots on the first line stand for lines that may be missing, such as progress.
                output = "\n" + actual if expected.startswith("...\n") else actual
                if expected and not checker.check_output(expected, output, doctest.ELLIPSIS):
                    example = doctest.Example(command, expected)
                    difference = checker.output_difference(example, actual, doctest.REPORT_NDIFF)
                    raise AssertionError(f"$ {command}\n{difference}")

    def _shell(self, script: str) -> str:
        make = f'make() {{ command make -C {shlex.quote(str(self.makefile.parent))} -n "$@"; }}\n'
        return self._succeed(["bash", "-eu", "-c", make + script], script)

    def _succeed(self, command: list[str], label: str) -> str:
        process = subprocess.run(
            command,
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=HANG_S,
        )
        assert process.returncode == 0, f"{label}\nexit code {process.returncode}\n{process.stdout}"
        return "".join(f"{line.rstrip()}\n" for line in process.stdout.splitlines())


def _commands(console: str) -> Iterator[tuple[str, str]]:
    """Every command of a console block, and the output shown for it."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        match_ = re.match(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", part, re.DOTALL)
        assert match_
        yield match_[1], match_[2]
