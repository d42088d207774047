"""Jobs of SLURM: a real sweep on real daemons where these can be started, and the settings."""

import json
import signal
import subprocess
import sys
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
        "export SSDLAB_CACHE=cache",
        "export SSDLAB_CACHE_SIZE=1GiB",
        "echo begun",
    ):
        assert line in script
    assert "127.0.0.1" in script


HOSTILE = """a 'b' "c" $HOME `touch hurt` $(touch hurt) \\ ; touch hurt #"""
"""Words that a shell would split, expand or execute."""


def script_of(file: Path, **more: object) -> list[str]:
    """The lines of the job script of a file with these keys."""
    before = signal.getsignal(signal.SIGINT)
    jobqueue = pytest.importorskip("dask_jobqueue")
    signal.signal(signal.SIGINT, before)
    keys: dict[str, object] = {"jobs": 1, "cores": 1, "memory": "1 GB", "host": "127.0.0.1", **more}
    file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))
    with jobqueue.SLURMCluster(**settings(str(file)).options) as cluster:
        script: str = cluster.job_script()
    return script.splitlines()


def sbatch_words(line: str) -> list[str]:
    """The words of an #SBATCH line, by the rules of sbatch.

    Both kinds of quotes join words, and a backslash takes the next character as it is, in quotes as
    well; one before a blank outside of them does not.
    """
    words, word, quote, escaped = [], "", "", False
    for letter in line.removeprefix("#SBATCH ") + " ":
        if letter == " " and not quote:
            words += [word] if word else []
            word = ""
        elif escaped:
            word, escaped = word + letter, False
        elif letter == "\\":
            escaped = True
        elif letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote = letter
        else:
            word += letter
    assert not quote
    return words


def test_values_reach_the_job_as_they_are(tmp_path: Path) -> None:
    """The script is executed by a shell, with a program in place of the worker's Python."""
    worker = tmp_path / HOSTILE.replace("/", "")
    worker.write_text(f"#!{sys.executable}\n{WORKER}")
    worker.chmod(0o755)
    lines = script_of(
        tmp_path / "slurm.toml",
        cache=f"{HOSTILE}\nmore",
        cache_size=HOSTILE,
        traces_size=HOSTILE,
        python=str(worker),
        scratch=HOSTILE,
        worker_options=["--preload", HOSTILE],
        partition=HOSTILE,
        account=HOSTILE,
        walltime=HOSTILE,
        name=HOSTILE,
        logs=str(tmp_path / f"logs {HOSTILE}"),
        directives=["--comment=sweep"],
        before=["export BEFORE=$((1 + 1))"],
    )
    found = subprocess.run(
        ["bash"], input="\n".join(lines), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    words, cache, *values = json.loads(found.stdout)
    assert (cache, values) == (f"{HOSTILE}\nmore", [HOSTILE, HOSTILE, "2"])
    assert words[words.index("--local-directory") + 1] == HOSTILE
    assert words[words.index("--preload") + 1] == HOSTILE
    assert not (tmp_path / "hurt").exists()
    directives = [sbatch_words(one) for one in lines if one.startswith("#SBATCH ")]
    for option in "pAtJ":
        assert [f"-{option}", HOSTILE] in directives
    logs = f"{tmp_path / f'logs {HOSTILE}'}/{HOSTILE}-%J"
    assert [one for one in directives if one[0] in ("-e", "-o")] == [
        ["-e", f"{logs}.err"],
        ["-o", f"{logs}.out"],
    ]
    assert (tmp_path / f"logs {HOSTILE}").is_dir()


WORKER = """
import json, os, sys
names = ("SSDLAB_CACHE", "SSDLAB_CACHE_SIZE", "SSDLAB_TRACES_SIZE", "BEFORE")
print(json.dumps([sys.argv, *(os.environ[name] for name in names)]))
"""


@pytest.mark.parametrize("key", ["partition", "account", "walltime", "name", "logs", "directives"])
def test_a_line_break_would_end_a_directive(key: str, tmp_path: Path) -> None:
    file, value = tmp_path / "slurm.toml", "a\ntouch hurt"
    given = [value] if key == "directives" else value
    keys = {"jobs": 1, "cores": 1, "memory": "1 GB", key: given}
    file.write_text("".join(f"{name} = {json.dumps(one)}\n" for name, one in keys.items()))
    with pytest.raises(ConfigError, match=rf"{key}: found .*, expected no line break"):
        settings(str(file))


def test_an_address_is_one(tmp_path: Path) -> None:
    file = tmp_path / "slurm.toml"
    file.write_text('jobs = 1\ncores = 1\nmemory = "1 GB"\ninterface = "ib0; touch hurt"\n')
    with pytest.raises(ConfigError, match="interface: found 'ib0; touch hurt', expected network"):
        settings(str(file))


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
