"""Runs on a real scheduler with worker processes: equal results, and what goes wrong."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from clusters import BLIND, OTHER, WITHOUT, Dask, dask, until
from policies import GreedyByScore
from running import COMMAND, HANG_S, SMALL, sets
from ssdlab.errors import ClusterError, ConfigError
from ssdlab.results.comparison import Comparison
from ssdlab.results.sweep import Sweep
from ssdlab.running.cluster import connection
from ssdlab.running.cluster.runner import Cluster
from ssdlab.running.compare_runs import plan, run_all
from ssdlab.running.execution import Execution
from ssdlab.running.on import runner_of

RESERVE = "gc.reserve"
VARY: dict[str, Any] = {RESERVE: [1, 2, 3], "gc.victim": ["greedy", "fifo"]}
LONG = {**SMALL, "workload.requests": 100_000}
ENDLESS = {**SMALL, "workload.requests": 200_000_000_000}
QUIET: dict[str, Any] = {"progress": False, "html": False}

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def swept(**more: Any) -> Sweep:  # noqa: ANN401
    return ssdlab.sweep("greedy-8ch", **{"set": SMALL, "vary": VARY, **QUIET, **more})


def trace_in(folder: Path, requests: int = 2000) -> Path:
    """A small trace there."""
    trace = folder / "traces" / "small.csv"
    trace.parent.mkdir(parents=True)
    ssdlab.generate(
        "zipf", trace, bytes=1 << 20, requests=requests, to="msr", allow=["round-times"]
    )
    return trace


def same(one: Any) -> Any:  # noqa: ANN401
    """A report without what differs between two runs on one machine."""
    values = json.loads(json.dumps(one))
    del values["speed"], values["time"]["wall"], values["time"]["cpu"]
    return values


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    """A scheduler with two workers, of which one sees no file of this machine."""
    with dask(tmp_path_factory.mktemp("dask")) as made:
        made.work()
        made.work(BLIND)
        made.wait_for(2)
        yield made


@pytest.fixture(scope="module")
def long_rows() -> list[dict[str, Any]]:
    """The rows of the long sweep, made on threads."""
    return swept(set=LONG, seeds=3).rows


def test_a_sweep_on_a_cluster_is_the_one_on_threads(two: Dask) -> None:
    assert swept(seeds=3, on=two.address).rows == swept(seeds=3).rows


# ---------------------------------------------------------------- equal results


def compared(trace: Path, out: Path, **more: Any) -> Comparison:  # noqa: ANN401
    sizes = {**SMALL, "workload.fit": "wrap", "metrics.op_log": True}
    return ssdlab.compare(
        ["greedy-8ch"], traces=[trace], set=sizes, vary=VARY, progress=False, out=out, **more
    )


def test_a_trace_that_a_worker_lacks_is_sent_and_its_path_stays_out_of_the_results(
    two: Dask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace_in(tmp_path)
    monkeypatch.chdir(tmp_path)  # The path of the trace means nothing where the workers are.
    here = compared(Path("traces/small.csv"), tmp_path / "here")
    there = compared(Path("traces/small.csv"), tmp_path / "there", on=two.address)
    assert list(there.reports) == list(here.reports)
    for label, report in here.reports.items():
        other = there.reports[label]
        assert same(other.json) == same(report.json)
        assert other.trace == report.trace
        assert other.series_csv == report.series_csv
        assert other.folder is not None
        assert report.folder is not None
        names = {file.name for file in report.folder.iterdir()}
        assert {file.name for file in other.folder.iterdir()} == names
        for name in names - {"report.json", "report.html", "summary.txt"}:
            assert (other.folder / name).read_bytes() == (report.folder / name).read_bytes()
        page = (other.folder / "report.html").read_text()
        assert "cache" not in page.partition("<body")[0]
        assert str(two.folder) not in page
        assert f'"{tmp_path}/traces/small.csv"' in (other.folder / "config.toml").read_text()
    cached = [*two.folder.glob("worker-*/cache/*/small.csv")]
    assert [one.read_bytes() for one in cached] == [Path("traces/small.csv").read_bytes()]


def test_policies_in_python_run_on_workers(two: Dask) -> None:
    vary = {"gc.victim": ["greedy", GreedyByScore()]}
    here, there = (
        ssdlab.compare(["greedy-8ch"], set=SMALL, vary=vary, **QUIET, on=on)
        for on in (None, two.address)
    )
    for label, report in here.reports.items():
        assert same(there.reports[label].json) == same(report.json)


def test_a_fleet_worker_gets_a_file_from_another_one(tmp_path: Path) -> None:
    trace = trace_in(tmp_path, requests=300_000)
    planned = plan(["greedy-8ch"], traces=[trace], set={**SMALL, "workload.fit": "wrap"}, seeds=8)
    with dask(tmp_path) as made:
        made.work(BLIND)
        made.work(BLIND)
        made.wait_for(2)
        with runner_of(made.address, None) as runner:
            done = run_all(planned, runner, Execution(**QUIET))
            assert isinstance(runner, Cluster)
            assert runner.connection.sender.sent_bytes == trace.stat().st_size
        assert done.completed
        cached = [*tmp_path.glob("worker-*/cache/*/small.csv")]
        assert len(cached) == 2


# ---------------------------------------------------------------- workers that cannot be used


def test_workers_of_another_version_or_without_ssdlab_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with dask(tmp_path) as made:
        made.work(OTHER)
        made.work(WITHOUT)
        made.wait_for(2)
        with pytest.raises(ConfigError) as refusal:
            swept(on=made.address)
        message = str(refusal.value)
        assert "has ssdlab 0.0.9, results 0" in message
        assert "has no ssdlab" in message
        assert ssdlab.__version__ in message
        made.work()
        made.wait_for(3)
        assert swept(on=made.address).completed
        assert "0.0.9" in capfd.readouterr().err


def test_a_run_that_no_worker_holds_fails_with_the_numbers(tmp_path: Path) -> None:
    with dask(tmp_path) as made:
        made.work("", "--memory-limit", "200 MiB")
        made.wait_for(1)
        vary = {"device.blocks_per_plane": [32, 400_000]}
        fixed = {key: value for key, value in SMALL.items() if key not in vary}
        done = ssdlab.sweep("greedy-8ch", set=fixed, vary=vary, **QUIET, on=made.address)
        (why,) = done.failures.values()
        assert len(done.outcomes) == 2
        assert "takes about" in why
        assert "200 MiB" in why


POLICY = """
from ssdlab.policy import Victim
class Mine(Victim):
    name = "mine"
    def score(self, view):
        return view.valid
"""


def test_a_policy_whose_module_a_worker_lacks_fails_with_the_remedy(
    two: Dask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text(POLICY)
    monkeypatch.syspath_prepend(tmp_path)
    import only_here  # type: ignore[import-not-found]

    vary = {"gc.victim": ["greedy", only_here.Mine()]}
    done = ssdlab.compare(["greedy-8ch"], set=SMALL, vary=vary, **QUIET, on=two.address)
    (why,) = done.failures.values()
    assert "worker tcp://127.0.0.1:" in why
    assert "only_here" in why
    assert "install it there" in why
    assert len(done.reports) == 1


@pytest.mark.slow
def test_a_policy_that_differs_on_a_worker_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "both_places.py").write_text(POLICY.replace("valid", "valid + 1"))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "both_places.py").write_text(POLICY)
    monkeypatch.syspath_prepend(tmp_path / "here")
    import both_places  # type: ignore[import-not-found]

    path = os.pathsep.join([str(tmp_path / "there"), os.environ.get("PYTHONPATH", "")])
    with dask(tmp_path) as made:
        made.work(environment={"PYTHONPATH": path})
        made.wait_for(1)
        done = ssdlab.compare(
            ["greedy-8ch"], set=SMALL, victim=both_places.Mine(), **QUIET, on=made.address
        )
    assert "both_places: the module is not the one of the client" in str(done.failures)


# ---------------------------------------------------------------- full disks


def little_disk() -> None:
    """Files of more than 64 KiB cannot be written, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


def test_a_run_moves_from_a_worker_with_a_full_disk(tmp_path: Path) -> None:
    trace = trace_in(tmp_path, requests=30_000)
    assert trace.stat().st_size > 1 << 16
    how: dict[str, Any] = {**QUIET, "set": {**SMALL, "workload.fit": "wrap"}, "traces": [trace]}
    with dask(tmp_path) as made:
        made.work(BLIND, limit=little_disk)
        made.wait_for(1)
        alone = ssdlab.sweep("greedy-8ch", vary=VARY, on=made.address, **how)
        made.work(BLIND)
        made.wait_for(2)
        both = ssdlab.sweep("greedy-8ch", vary=VARY, on=made.address, **how)
    assert len(alone.failures) == len(alone.outcomes) == 6
    assert all("cannot be written: File too large" in one for one in alone.failures.values())
    assert both.rows == ssdlab.sweep("greedy-8ch", vary=VARY, **how).rows


# ---------------------------------------------------------------- what dies


def test_runs_of_a_killed_worker_are_made_elsewhere(
    tmp_path: Path, long_rows: list[dict[str, Any]]
) -> None:
    out = tmp_path / "sweep"
    with dask(tmp_path) as made:
        first = made.work()
        made.work()
        made.wait_for(2)
        killer = threading.Thread(target=_when_begun, args=(out, first.kill))
        killer.start()
        done = swept(set=LONG, seeds=3, on=made.address, out=out)
        killer.join()
        assert first.wait(HANG_S) == -signal.SIGKILL
    assert done.rows == long_rows
    lines = (out / "outcomes.jsonl").read_text().splitlines()
    assert len(lines) == len(done.outcomes) == 18


def _when_begun(sweep: Path, then: Callable[[], object]) -> None:
    _some(sweep)
    then()


def _some(sweep: Path) -> None:
    """Wait for the first outcomes of a sweep."""
    file = sweep / "outcomes.jsonl"
    until(lambda: file.exists() and file.stat().st_size > 0)


@pytest.mark.slow
def test_the_only_worker_is_killed_and_another_one_comes(tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    with dask(tmp_path) as made:
        first = made.work()
        made.wait_for(1)

        def replaced() -> None:
            _some(out)
            first.kill()
            made.work()

        thread = threading.Thread(target=replaced)
        thread.start()
        done = swept(set=LONG, seeds=3, on=made.address, out=out)
        thread.join()
    assert len(done.outcomes) == 18
    assert done.completed


KILLS = """
import os, signal
from ssdlab.policy import Victim
class Kills(Victim):
    name = "kills"
    def score(self, view):
        os.kill(os.getppid(), signal.SIGKILL)
        return view.valid
"""


def test_a_run_that_kills_workers_fails_with_the_reason(tmp_path: Path) -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(KILLS, scope)
    allowed = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    with dask(tmp_path, allowed) as made:
        for _ in range(3):
            made.work()
        made.wait_for(3)
        vary = {"gc.victim": [scope["Kills"](), "greedy", "fifo"]}
        done = ssdlab.compare(["greedy-8ch"], set=SMALL, vary=vary, **QUIET, on=made.address)
    (why,) = done.failures.values()
    assert "2 workers died while making this run" in why
    assert len(done.reports) == 2


def test_a_scheduler_that_is_started_again_gets_the_runs_again(
    tmp_path: Path, long_rows: list[dict[str, Any]]
) -> None:
    out = tmp_path / "sweep"
    with dask(tmp_path) as made:
        made.work()
        made.wait_for(1)

        def restarted() -> None:
            _some(out)
            made.scheduler.kill()
            made.scheduler.wait(HANG_S)
            made.schedule()
            made.work()

        thread = threading.Thread(target=restarted)
        thread.start()
        done = swept(set=LONG, seeds=3, on=made.address, out=out)
        thread.join()
    assert done.rows == long_rows
    assert len((out / "outcomes.jsonl").read_text().splitlines()) == 18


def test_a_scheduler_that_stays_away_ends_the_sweep_and_keeps_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long_rows: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(connection, "RECONNECT_S", 1)
    out = tmp_path / "sweep"
    with dask(tmp_path) as made:
        made.work()
        made.wait_for(1)
        ended = threading.Thread(target=_when_begun, args=(out, made.scheduler.kill))
        ended.start()
        with pytest.raises(ClusterError, match=r"did not come back within 1 s .*; what is done is"):
            swept(set=LONG, seeds=3, on=made.address, out=out)
        ended.join()
    kept = Sweep.read(out)
    assert 0 < len(kept.outcomes) < 18
    assert not kept.failures
    assert swept(set=LONG, seeds=3, out=out).rows == long_rows


# ---------------------------------------------------------------- Ctrl-C


def test_ctrl_c_keeps_what_is_done_and_stops_the_workers(two: Dask, tmp_path: Path) -> None:
    from distributed import Client

    words = ["sweep", "greedy-8ch", "--vary", "workload.requests=1000,200000000000", "--seeds", "4"]
    words += ["--vary", f"{RESERVE}=1,2", "--on", two.address, "--out", "s"]
    words += sets({key: value for key, value in SMALL.items() if key != "workload.requests"})
    process = subprocess.Popen([*COMMAND, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    _some(tmp_path / "s")
    with Client(two.address, set_as_default=False) as client:
        until(lambda: any(client.processing().values()))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANG_S)
        assert process.returncode == 130, said
        assert "the completed part is kept; run the same command again to resume" in said

        def idle() -> bool:
            busy: dict[str, int] = client.run(lambda dask_worker: dask_worker.state.executing_count)
            return not any(busy.values())

        until(idle)
    short = {**SMALL, "workload.requests": 1000}
    vary: dict[str, Any] = {RESERVE: [1, 2]}
    here = ssdlab.sweep("greedy-8ch", set=short, vary=vary, seeds=4, progress=False)
    done = Sweep.read(tmp_path / "s").rows
    expected = {(row[RESERVE], row["seed"]): row["event_digest"] for row in here.rows}
    assert done
    for row in done:
        assert row["workload.requests"] == 1000
        assert row["event_digest"] == expected[row[RESERVE], row["seed"]]


def test_workers_stop_when_their_client_is_killed(two: Dask, tmp_path: Path) -> None:
    from distributed import Client

    words = ["compare", "greedy-8ch", "--on", two.address, "--seeds", "2", *sets(ENDLESS)]
    process = subprocess.Popen([*COMMAND, *words], cwd=tmp_path, stderr=subprocess.PIPE)
    with Client(two.address, set_as_default=False) as client:
        until(lambda: any(client.processing().values()))
        process.kill()
        process.communicate(timeout=HANG_S)

        def busy() -> int:
            found: dict[str, int] = client.run(
                lambda dask_worker: dask_worker.state.executing_count
            )
            return sum(found.values())

        until(lambda: not any(client.processing().values()) and not busy())


# ---------------------------------------------------------------- a cluster of our own

SCRIPT = """
import subprocess, sys, ssdlab
from ssdlab.running.on import runner_of
from ssdlab.running.compare_runs import plan, run_all
from ssdlab.running.execution import Execution
with runner_of("local:2", None) as runner:
    done = run_all(plan(["greedy-8ch"], set={SMALL}, seeds=4), runner, Execution(progress=False))
    listening = open("/proc/net/tcp").read() + open("/proc/net/tcp6").read()
    hosted = runner.connection.client.scheduler_info()["workers"]
print(done.completed, len(hosted), all(one.startswith("tcp://127.0.0.1:") for one in hosted))
"""


def test_a_script_without_a_main_guard_runs_on_workers_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("{SMALL}", repr(SMALL)))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.stdout == "True 2 True\n", done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_listens_beyond_the_loopback_and_no_process_is_left(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    words = ["compare", "greedy-8ch", "--on", "local:2", "--seeds", "2", *sets(ENDLESS)]
    process = subprocess.Popen([*COMMAND, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    parent = psutil.Process(process.pid)

    def listening() -> dict[int, list[str]]:
        """Addresses at which each child listens."""
        found: dict[int, list[str]] = {}
        for child in parent.children(recursive=True):
            with suppress(psutil.Error):
                for each in child.net_connections():
                    if each.status == psutil.CONN_LISTEN:
                        found.setdefault(child.pid, []).append(each.laddr.ip)
        return found

    until(lambda: len(listening()) == 3)  # The scheduler and two workers.
    assert {address for each in listening().values() for address in each} == {"127.0.0.1"}
    children = parent.children(recursive=True)
    process.kill()  # -9: it cannot clean up.
    process.communicate(timeout=HANG_S)
    until(lambda: not any(child.is_running() and child.status() != "zombie" for child in children))


# ---------------------------------------------------------------- bad input


def test_words_of_on_that_mean_nothing() -> None:
    for on, near in {
        "locl:2": "did you mean local[:N]?",
        "slurm": "slurm:FILE",
        "tcp:": "",
    }.items():
        with pytest.raises(ConfigError, match=f'on="{on}": expected ') as refusal:
            swept(on=on)
        assert near in str(refusal.value)
    with pytest.raises(ConfigError, match="expected a number from 1"):
        swept(on="local:many")
    with pytest.raises(ConfigError, match="jobs=3"):
        swept(on="local:2", jobs=3)


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_S", 1)
    with pytest.raises(ConfigError, match=r'tcp://127.0.0.1:9": no scheduler answered within 1 s'):
        swept(on="tcp://127.0.0.1:9", out=tmp_path / "s")
    assert not (tmp_path / "s").exists()
    with pytest.raises(ConfigError, match='on="tcp://nonsense"'):
        swept(on="tcp://nonsense")
    with pytest.raises(ConfigError, match="names no certificates for TLS"):
        swept(on="tls://127.0.0.1:9")


def test_threads_and_processes_are_words_of_on() -> None:
    rows = swept().rows
    assert swept(on="threads:2").rows == rows
    assert swept(on="processes:2").rows == rows
