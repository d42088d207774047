"""What the pages show is what the program does: every command and program in them is run."""

import subprocess
from pathlib import Path

import pytest

from documents import Scratch, blocks, make_words, unrun
from running import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("traces/*.md")])
TEXTS = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in PAGES}


def _cases() -> list[object]:
    """Every page with something to run, without its slow blocks, and with them."""
    cases: list[object] = []
    for name, text in TEXTS.items():
        slow = {block.slow for block in blocks(text)}
        if False in slow:
            cases.append(pytest.param(name, False, id=name))
        if True in slow:
            cases.append(pytest.param(name, True, id=f"{name} slow", marks=pytest.mark.slow))
    return cases


@pytest.mark.parametrize(("name", "slow"), _cases())
def test_page_runs(name: str, slow: bool, tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, ROOT)
    for block in blocks(TEXTS[name]):
        if block.slow and not slow:
            continue
        try:
            scratch.run(block)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            pytest.fail(f"{name}:{block.line}: {error}", pytrace=False)


def test_no_command_is_left_out_unsaid() -> None:
    found = [f"{name}: {line}" for name, text in TEXTS.items() for line in unrun(text)]
    assert not found, "\n".join(found)


def test_make_knows_its_words() -> None:
    words = {word for text in TEXTS.values() for word in make_words(text)}
    helped = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True)
    assert words <= {line.split()[0] for line in helped.stdout.splitlines()}


def test_a_stale_page_is_found(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, ROOT)
    fence = "```"
    for stale in (
        f"{fence}console\n$ ssdlab config check greedy-8ch\ngreedy-8ch: 3 errors\n{fence}\n",
        f"{fence}console\n$ ssdlab config check no-such\n{fence}\n",
        f"{fence}sh\nssdlab absent\n{fence}\n",
        f"{fence}python\nimport ssdlab\nssdlab.absent\n{fence}\n",
        f"<!-- slow -->\n\n{fence}sh\nmake absent\n{fence}\n",
    ):
        [block] = blocks(stale)
        with pytest.raises(AssertionError):
            scratch.run(block)
    [block] = blocks(f"{fence}console\n$ echo a; echo \\\n  b\na\n...\n{fence}\n")
    scratch.run(block)
    assert unrun("Say\n\n    ssdlab run x\n")
    assert unrun(f"{fence}text\n$ ls\n{fence}\n")
    assert not unrun(f"<!-- not executed: needs a disk -->\n{fence}sh\nblktrace -d x\n{fence}\n")
    assert not blocks(f"<!-- not executed: needs a disk -->\n{fence}sh\nblktrace -d x\n{fence}\n")
