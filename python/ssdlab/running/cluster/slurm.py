"""Settings of SLURM jobs from a TOML file, as options of `dask_jobqueue.SLURMCluster`.

`SLURMCluster` writes values into its job script unquoted, so they are quoted here: for the shell,
or for sbatch.
"""

from __future__ import annotations

import re
import shlex
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab.config.memory import TRACES
from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError
from ssdlab.running.cluster.hosted import LOOPBACK, Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Key(NamedTuple):
    """A key of the file."""

    kind: type
    means: str
    option: str | None = None
    """Its name in `SLURMCluster`, if it is one of its options."""
    needed: bool = False


KEYS = {
    "jobs": Key(int, "number of jobs; with `least_jobs` the maximum", needed=True),
    "least_jobs": Key(int, "minimum number of jobs; with it the number follows the waiting runs"),
    "cores": Key(int, "cores of a job; each executes one run at a time", "cores", needed=True),
    "memory": Key(str, 'memory of a job, such as "32 GB"', "memory", needed=True),
    "processes": Key(int, "worker processes of a job, which share its cores", "processes"),
    "partition": Key(str, "partition", "queue"),
    "account": Key(str, "account to charge", "account"),
    "walltime": Key(str, 'longest time of a job, such as "04:00:00"', "walltime"),
    "name": Key(str, "name of the jobs", "job_name"),
    "directives": Key(list, "further lines of #SBATCH", "job_extra_directives"),
    "without": Key(list, "lines of #SBATCH to leave out, by a part of them", "job_directives_skip"),
    "before": Key(list, "shell commands that a job runs first", "job_script_prologue"),
    "python": Key(str, "Python of the workers; default: this one", "python"),
    "worker_options": Key(list, "further options of `dask worker`", "worker_extra_args"),
    "scratch": Key(str, "folder of a node for temporary files", "local_directory"),
    "logs": Key(str, "folder for the output of jobs", "log_directory"),
    "interface": Key(str, "network interface of scheduler and workers, such as ib0", "interface"),
    "host": Key(str, "address at which the scheduler listens", "host"),
    "cache": Key(str, "folder of a node for traces (SSDLAB_CACHE)"),
    "cache_size": Key(str, 'how much of them is kept, such as "50GiB" (SSDLAB_CACHE_SIZE)'),
    "traces_size": Key(str, f"memory of a worker for traces that its runs share ({TRACES})"),
}
"""What the file may say."""
TO_SBATCH = ("partition", "account", "walltime", "name")
"""Keys whose values are written into #SBATCH lines."""
TO_SHELL = ("python", "scratch", "worker_options")
"""Keys whose values are words of the command that starts a worker."""
TO_BOTH = ("interface", "host")
"""Keys whose values the scheduler also uses, so that they cannot be quoted."""
ADDRESS = re.compile(r"[\w.:%\[\]-]+")
PLAIN = re.compile(r"[\w@%+=:,./-]+")


def settings(file: str) -> Settings:
    """The cluster that `file` describes. Raises `ConfigError`."""
    values = _check_values(file, _read(file))
    options = {
        key.option: _quote(name, values[name])
        for name, key in KEYS.items()
        if key.option and name in values
    }
    options.setdefault("processes", values["cores"])
    scheduler = {"dashboard_address": f"{LOOPBACK}:0"}
    if "host" in options:
        scheduler["host"] = options.pop("host")
    options["scheduler_options"] = scheduler
    exports = {"cache": "SSDLAB_CACHE", "cache_size": "SSDLAB_CACHE_SIZE", "traces_size": TRACES}
    lines = [
        f"export {name}={shlex.quote(values[key])}"
        for key, name in exports.items()
        if key in values
    ]
    if lines:
        options["job_script_prologue"] = [*lines, *options.get("job_script_prologue", ())]
    if "logs" in values:
        # SLURMCluster creates this folder, so its name is not quoted there; its lines are replaced.
        skips = options.get("job_directives_skip", ())
        options["job_directives_skip"] = [*skips, "#SBATCH -e ", "#SBATCH -o "]
        log = f"{values['logs']}/{values.get('name', 'dask-worker')}-%J"
        streams = [f"-{stream[0]} {_sbatch_word(f'{log}.{stream}')}" for stream in ("err", "out")]
        options["job_extra_directives"] = [*streams, *options.get("job_extra_directives", ())]
    return Settings(
        f"slurm:{file}", "SLURMCluster", options, values.get("least_jobs"), values["jobs"]
    )


def _quote(name: str, value: Any) -> Any:  # noqa: ANN401 - of a key
    """The value of a key, quoted as the job script needs it."""
    if name in TO_SBATCH:
        return _sbatch_word(value)
    if name in TO_SHELL:
        is_list = isinstance(value, list)
        return [*map(shlex.quote, value)] if is_list else shlex.quote(value)
    return value


def _sbatch_word(value: str) -> str:
    """A value as a word of an #SBATCH line, where a backslash escapes in every kind of quotes."""
    if PLAIN.fullmatch(value):
        return value
    return '"' + re.sub(r'([\\"])', r"\\\1", value) + '"'


def _read(file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        option, reason = argument(on=f"slurm:{file}"), error.strerror or error
        raise ConfigError([f"{option}: {file} cannot be read: {reason}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError([f"{file}: not a TOML file: {error}"]) from None


def _check_values(file: str, values: dict[str, Any]) -> dict[str, Any]:
    errors = []
    for name, value in values.items():
        if name not in KEYS:
            matches = get_close_matches(name, KEYS, 1)
            hint = f"did you mean {matches[0]}?" if matches else f"expected {', '.join(KEYS)}"
            errors.append(f"{file}: {name}: no such key; {hint}")
        elif not isinstance(value, KEYS[name].kind) or isinstance(value, bool):
            kind = {int: "a number", str: "a text", list: "a list of texts"}[KEYS[name].kind]
            errors.append(f"{file}: {name}: found {value!r}, expected {kind}: {KEYS[name].means}")
        elif expected := _requirement(name, value):
            errors.append(f"{file}: {name}: found {value!r}, expected {expected}")
    errors += [
        f"{file}: {name} is missing: {key.means}"
        for name, key in KEYS.items()
        if key.needed and name not in values
    ]
    if not errors and values.get("least_jobs", 0) > values["jobs"]:
        errors.append(f"{file}: least_jobs: {values['least_jobs']} are more than the jobs")
    if errors:
        raise ConfigError(errors)
    return values


def _requirement(name: str, value: Any) -> str:  # noqa: ANN401 - of a key
    """The requirement that a value of the right kind violates; empty if there is none."""
    if isinstance(value, int):
        return "" if value >= 1 else "at least 1"
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        return "a list of texts"
    if name in (*TO_SBATCH, "logs", "directives") and "\n" in "".join(value):
        return "no line break"
    return KEYS[name].means if name in TO_BOTH and not ADDRESS.fullmatch(value) else ""
