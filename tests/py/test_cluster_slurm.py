"""Jobs of SLURM: a real sweep on real daemons where these can be started, and the settings."""

import signal
import subprocess
from pathlib import Path

import pytest

import ssdlab
from clusters import until
from running import COMMAND, HANG_S, SMALL, sets
from slurm import missing, slurm
from ssdlab.errors import ConfigError
from ssdlab.results.sweep import Sweep
from ssdlab.running.cluster.slurm import settings

RESERVE = "gc.reserve"
FILE = """
jobs = 2
cores = 1
memory = "1 GB"
partition = "quick"
walltime = "00:10:00"
host = "127.0.0.1"
logs = "logs"
cache = "cache"
cache_size = "1GiB"
directives = ["--comment=sweep"]
before = ["echo begun"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "least_jobs = 1\n"], ids=["fixed", "adaptive"])
def test_a_sweep_on_jobs_of_slurm(more: str, tmp_path: Path) -> None:
    reason = missing()
    if reason:
        pytest.skip(reason)
    (tmp_path / "slurm.toml").write_text(FILE + more)
    words = ["sweep", "greedy-8ch", "--vary", f"{RESERVE}=1,2,3", "--seeds", "6", "--out", "s"]
    words += ["--on", "slurm:slurm.toml", *sets(SMALL)]
    with slurm(tmp_path) as environment:
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr

        def jobs() -> str:
            said = subprocess.run(
                ["squeue", "--noheader"], env=environment, capture_output=True, check=True
            )
            return said.stdout.decode().strip()

        until(lambda: not jobs())
    here = ssdlab.sweep(
        "greedy-8ch", set=SMALL, vary={RESERVE: [1, 2, 3]}, seeds=6, progress=False, html=False
    )
    assert Sweep.read(tmp_path / "s").rows == here.rows
    logs = [one.read_text() for one in (tmp_path / "logs").iterdir()]
    assert any("begun" in text for text in logs)


def test_the_job_script_has_the_settings(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    jobqueue = pytest.importorskip("dask_jobqueue")
    signal.signal(signal.SIGINT, before)  # Its import makes Ctrl-C an exit of the process.
    (tmp_path / "slurm.toml").write_text(FILE)
    found = settings(str(tmp_path / "slurm.toml"))
    options = {**found.options, "log_directory": str(tmp_path)}
    with jobqueue.SLURMCluster(**options) as cluster:
        script = cluster.job_script()
    for line in (
        "#SBATCH -p quick",
        "#SBATCH --cpus-per-task=1",
        "#SBATCH --mem=954M",
        "#SBATCH -t 00:10:00",
        "#SBATCH --comment=sweep",
        "export SSDLAB_CACHE='cache'",
        "export SSDLAB_CACHE_SIZE='1GiB'",
        "echo begun",
    ):
        assert line in script
    assert "127.0.0.1" in script


def test_bad_settings_are_told_together(tmp_path: Path) -> None:
    file = tmp_path / "slurm.toml"
    file.write_text('jobs = 0\ncores = "8"\nmemry = "1 GB"\ndirectives = [3]\n')
    with pytest.raises(ConfigError) as refusal:
        settings(str(file))
    assert [message.removeprefix(f"{file}: ") for message in refusal.value.messages] == [
        "jobs: found 0, expected at least 1",
        "cores: found '8', expected a number: cores of a job; each executes one run at a time",
        "memry: no such key; did you mean memory?",
        "directives: found [3], expected a list of texts",
        'memory is missing: memory of a job, such as "32 GB"',
    ]
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        settings(str(tmp_path / "nowhere.toml"))
    file.write_text("jobs = [")
    with pytest.raises(ConfigError, match="not a TOML file"):
        settings(str(file))
    file.write_text('jobs = 1\nleast_jobs = 2\ncores = 1\nmemory = "1 GB"\n')
    with pytest.raises(ConfigError, match="least_jobs: 2 are more than the jobs"):
        settings(str(file))
