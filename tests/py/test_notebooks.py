"""In a notebook: progress, interrupts and reports are shown well, and the examples run."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernel import HOMES, Kernel, Message, started
from running import ROOT

NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
LONG = "'greedy-8ch', set={'workload.requests': 100_000_000}"


@pytest.fixture(autouse=True, scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels find the program, and write nothing to the home of whoever runs the tests."""
    home = str(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        for name in HOMES:
            patch.setenv(name, home)
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        yield


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    home = tmp_path_factory.mktemp("k")
    with started(home, home) as kernel:
        kernel.run("import sys, ssdlab")
        yield kernel


def _of(kind: str, messages: list[Message]) -> list[Message]:
    return [m["content"] for m in messages if m["msg_type"] == kind]


def test_progress_is_one_output_that_ends_empty(kernel: Kernel) -> None:
    code = "c = ssdlab.compare('greedy-8ch', vary={'gc.victim': ['greedy', 'fifo']})"
    seen = kernel.run(code)
    assert not _of("error", seen)
    assert not _of("stream", seen)
    [made] = _of("display_data", seen)
    *shown, last = _of("update_display_data", seen)
    ids = {m["transient"]["display_id"] for m in [made, *shown, last]}
    assert len(ids) == 1
    texts = [m["data"]["text/plain"] for m in shown]
    assert any("greedy: workload" in t and "%" in t for t in texts), texts
    assert any("fifo: " in t for t in texts), texts
    assert last["data"] == {"text/plain": "", "text/html": ""}


@pytest.mark.parametrize(
    ("call", "held"),
    [
        (f"ssdlab.run({LONG})", "report"),
        (f"ssdlab.compare({LONG}, vary={{'gc.victim': ['greedy', 'fifo']}})", "comparison"),
    ],
)
def test_interrupt_shows_one_line_and_keeps_what_was_done(
    kernel: Kernel, call: str, held: str
) -> None:
    interrupted = False

    def when_it_runs(message: Message) -> None:
        nonlocal interrupted
        if message["msg_type"] == "update_display_data" and not interrupted:
            interrupted = True
            kernel.manager.interrupt_kernel()

    seen = kernel.run(call, when_it_runs)
    assert interrupted
    assert not _of("stream", seen)
    [error] = _of("error", seen)
    assert error["ename"] == "Interrupted"
    assert error["traceback"] == [f"Interrupted: sys.last_value.{held} has the partial results"]
    [done] = _of("execute_result", kernel.run(f"sys.last_value.{held}"))
    assert "NOT COMPLETED" in done["data"]["text/plain"]


def test_report_is_a_table(kernel: Kernel) -> None:
    code = "ssdlab.run('greedy-8ch', set={'workload.requests': 1000}, progress=False)"
    [shown] = _of("execute_result", kernel.run(code))
    assert shown["data"]["text/html"].startswith("<b>greedy-8ch</b><table><tr><th")
    assert shown["data"]["text/plain"].startswith("<Report greedy-8ch: requests 1,000,")


def _cells(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_example_has_no_outputs(path: Path) -> None:
    assert not [cell for cell in _cells(path) if cell.get("outputs")], "strip the outputs"


@pytest.mark.skipif(
    sys.version_info >= (3, 11), reason="the site, which test_site.py builds, has run them"
)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_example_runs(path: Path, tmp_path: Path) -> None:
    # Beside the real folder, so that what a notebook leaves is not left there.
    here = tmp_path / "examples" / "notebooks"
    here.mkdir(parents=True)
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    with started(tmp_path, here) as kernel:
        for cell in _cells(path):
            if cell["cell_type"] == "code":
                seen = kernel.run("".join(cell["source"]))
                assert not _of("error", seen), _of("error", seen)
                assert "stderr" not in [stream["name"] for stream in _of("stream", seen)]


def test_there_are_examples() -> None:
    assert len(NOTEBOOKS) >= 4
