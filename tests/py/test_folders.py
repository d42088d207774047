"""Folders of results: nothing complete is lost to a mistake, an interrupt or an ended process."""

import errno
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from policies import GreedyByScore
from running import (
    COMMAND,
    HANG_S,
    SMALL,
    SMALL_TOML,
    nothing_left,
    refused,
    report_of,
    signalled_at,
    ssdlab_command,
    ssdlab_process,
)
from ssdlab import cli
from ssdlab.html.compare_page import comparison_page
from ssdlab.results.folder import Draft
from ssdlab.running import compare_runs, runner, simulate
from ssdlab.running.batch import Batch


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    return tmp_path


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_the_current_folder_is_no_place_for_results(verb: str, small: Path) -> None:
    assert ssdlab_command("run", "small.toml", "--out", "o", cwd=small).returncode == 0
    before = (small / "o/report.json").read_text()
    for out in (".", "../o", "..", "sub/..", small / "o"):
        (small / "o/sub").mkdir(exist_ok=True)
        done = ssdlab_command(verb, "../small.toml", "--out", out, "--force", cwd=small / "o")
        refused(
            done, 2, "the current folder and cannot be replaced; choose another folder with --out"
        )
    (small / "empty").mkdir()
    done = ssdlab_command(verb, "../small.toml", "--out", ".", cwd=small / "empty")
    refused(done, 2, "empty: is the current folder")
    assert (small / "o/report.json").read_text() == before
    nothing_left(small, "empty", "o", "small.toml")


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_the_folder_of_the_configuration_is_kept(verb: str, small: Path) -> None:
    ssdlab_command("run", "small.toml", "--out", "o", cwd=small)
    done = ssdlab_command(verb, "o/config.toml", "--out", "o", "--force", cwd=small)
    refused(
        done,
        2,
        "o: contains o/config.toml, the configuration of this run; choose another folder",
    )


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_what_is_interrupted_replaces_nothing_complete(verb: str, small: Path) -> None:
    assert ssdlab_command(verb, "small.toml", "--out", "o", cwd=small).returncode == 0
    file = "report.json" if verb == "run" else "compare.json"
    before = (small / "o" / file).read_text()
    long = ["--set", "workload.requests=200000000", "--out", "o", "--force"]
    for i, name in enumerate(("o-partial", "o-partial-2")):
        done = signalled_at("workload", [verb, "small.toml", *long], small)
        assert done.returncode == 130, done.stderr
        assert f"results in {name}; the complete results in o are unchanged\n" in done.stderr
        assert not json.loads((small / name / file).read_text())["completed"]
        assert len(list(small.glob("o-partial*"))) == i + 1
    assert (small / "o" / file).read_text() == before


def test_what_is_interrupted_takes_the_place_of_what_was(small: Path) -> None:
    long = ["run", "small.toml", "--set", "workload.requests=200000000", "--out", "o", "--force"]
    for _ in range(2):
        assert signalled_at("workload", long, small).stderr.startswith("results in o\n")
    nothing_left(small, "o", "small.toml")


def test_drafts_of_ended_processes_are_removed(small: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here = f".o.unfinished-{socket.gethostname()}"
    stale = small / f"{here}-{ended.pid}-abc"
    others = [f"{here}-{os.getpid()}-abc", f".o.unfinished-elsewhere-{ended.pid}-abc"]
    for name in (stale.name, *others):
        (small / name).mkdir()
        (small / name / "ops.csv.zst").write_text("half")
    assert ssdlab_command("run", "small.toml", "--out", "o", cwd=small).returncode == 0
    nothing_left(small, "o", "small.toml", *others)


def test_a_folder_taken_away_by_an_ended_process_is_put_back(small: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    ssdlab_command("run", "small.toml", "--out", "o", cwd=small)
    (small / "o").rename(small / f".o.unfinished-{socket.gethostname()}-{ended.pid}-abc-replaced")
    refused(
        ssdlab_command("run", "small.toml", "--out", "o", cwd=small), 2, "contains a run; --force"
    )
    assert report_of(small / "o")["completed"]
    nothing_left(small, "o", "small.toml")


def test_an_interrupted_comparison_lists_what_was_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, begun = simulate.run_loaded, []

    def stopped(config: ssdlab.Config, told: Any, **more: Any) -> ssdlab.Report:  # noqa: ANN401
        begun.append(config)
        if len(begun) < 2:
            return real(config, told, **more)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        while True:
            try:
                told("workload", 0, None)
            except KeyboardInterrupt:
                raise ssdlab.Interrupted(None) from None
            time.sleep(0.01)

    monkeypatch.setattr(runner, "run_loaded", stopped)
    with pytest.raises(ssdlab.Interrupted) as caught:
        ssdlab.compare(
            ssdlab.load_config("greedy-8ch", set=SMALL),
            vary={"gc.victim": ["greedy", "fifo", "random"]},
            out=tmp_path / "c",
            jobs=1,
            progress=False,
        )
    assert caught.value.comparison
    for done in (caught.value.comparison, ssdlab.Comparison.read(tmp_path / "c")):
        assert done.interrupted
        assert (list(done.reports), done.not_run) == (["greedy"], ("fifo", "random"))
        assert "one run of 4,000 requests" in done.summary()
        assert "not run: fifo, random\n" in done.summary()
        assert done.json["not_run"] == ("fifo", "random")
        assert "Not run: fifo, random." in comparison_page(done)


@pytest.mark.parametrize("name", ["series.csv", "report.html"])
def test_a_full_disk_costs_no_run_that_is_done(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Draft.write

    def full(made: Draft, file: str, text: str) -> None:
        if made.target.name == "fifo" and file == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(made.path / file))
        write(made, file, text)

    monkeypatch.setattr(Draft, "write", full)
    out, vary = tmp_path / "out", {"gc.victim": ["greedy", "fifo", "random"]}
    how: dict[str, Any] = {"progress": False, "set": SMALL, "jobs": 1, "out": out}
    done = ssdlab.compare("greedy-8ch", vary=vary, **how)
    assert set(done.reports) == {"greedy"}
    assert set(done.failures) == {"fifo", "random"}
    assert all("No space left on device" in why for why in done.failures.values())
    assert all(f"{out / 'fifo'}" in why for why in done.failures.values())
    assert done.summary().count("No space left on device") == 1, "one disk, one error"
    assert "fifo; random could not finish: " in done.summary()
    assert comparison_page(done).count("No space left on device") == 1
    assert report_of(out / "greedy")["completed"]
    assert (out / "fifo/report.json").exists() == (name == "report.html")
    assert not (out / "fifo" / name).exists()
    assert set(json.loads((out / "compare.json").read_text())["failures"]) == {"fifo", "random"}


def test_a_page_that_does_not_fit_costs_no_results(small: Path) -> None:
    def little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    done = ssdlab_process("run", "small.toml", "--out", "o", cwd=small, limit=little)
    why = "o contains the results, but not their page: File too large"
    refused(done, 2, why, out_is_empty=False)
    assert report_of(small / "o")["completed"]
    assert not (small / "o/report.html").exists()


@pytest.mark.parametrize(
    "values",
    ["greedy", {"policy": "d-choices", "d": 3}, 3, GreedyByScore()],
    ids=["text", "table", "number", "policy"],
)
def test_one_value_is_not_varied(values: Any) -> None:  # noqa: ANN401
    with pytest.raises(ssdlab.ConfigError, match=r"vary: gc\.victim: expected a list"):
        ssdlab.compare("greedy-8ch", vary={"gc.victim": values}, progress=False)


def test_interrupt_while_the_command_is_imported(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    command = Path(sys.executable).with_name("ssdlab")
    for words in ([str(command)], COMMAND):
        done = subprocess.run(
            [*words, "--version"],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_an_interrupt_while_runs_are_submitted_stops_those_that_have_begun(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    class ShownProgress:
        def run(self, label: str) -> Callable[[str, int, int | None], object]:
            del label

            def report(stage: str, done: int, total: int | None) -> None:
                del total
                if stage == "workload" and done > 0:
                    begun.set()

            return report

        def end(self, title: str, how: str) -> None:
            del title, how

        def note(self, label: str, text: str) -> None:
            del label, text

    class Interrupted(ThreadPoolExecutor):
        def submit(self, *call: object) -> Future[None]:  # type: ignore[override]
            super().submit(*call)  # type: ignore[arg-type]
            assert begun.wait(HANG_S)
            raise KeyboardInterrupt

    monkeypatch.setattr(runner, "ThreadPoolExecutor", Interrupted)
    endless = {"workload.requests": 200_000_000_000}
    planned = compare_runs.plan([small / "small.toml"], set=endless)
    done = compare_runs.FinishedRuns(planned)
    batch = Batch(planned, done.take)
    batch.display = ShownProgress()
    runner.Threads(1).run(batch)
    assert batch.interrupted
    assert [report.completed for report in done.reports.values()] == [False]


def test_an_interrupt_that_no_verb_expects_is_reported(small: Path) -> None:
    program = (
        "import sys\nfrom ssdlab.cli import main, run\n"
        "def interrupted(*_: object, **__: object) -> None: raise KeyboardInterrupt\n"
        "run.plan = interrupted\nsys.argv = ['ssdlab', 'compare', 'small.toml']\nmain()\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=small, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_a_signal_that_is_sent_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    stop = cli.StopHandler()
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGTERM, None)
    # As `timeout` does: its child, then the group, to which the child belongs.
    stop(signal.SIGTERM, None)
    # Another signal is another wish, and so is the same one later.
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGINT, None)
    now += 0.1
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGINT, None)
