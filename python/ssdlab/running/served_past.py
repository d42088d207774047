"""The status and the requests of a served drive, from its folder of `--state` or `--record`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab.config.resolve import load_config
from ssdlab.display.progress import Callback
from ssdlab.errors import ConfigError, OutputError, translate_errors
from ssdlab.running.served_socket import read_summary, request_summary

CURRENT = "current"
"""Name of the file with the number of the generation, in a folder of `--state`."""


def status(folder: Path) -> dict[str, Any]:
    """The summary so far of the server of `folder`, or the last one if no server runs.

    `is_running` and `was_killed` tell whether the server runs, was stopped or was killed. Raises
    `ConfigError` if the folder is not one of a served drive, or has no summary.
    """
    _check(folder)
    if (summary := request_summary(folder)) is not None:
        return {"is_running": True, "was_killed": False, **summary}
    if (last_summary := read_summary(folder)) is None:
        message = (
            f"{folder}: no server answers, and the last one was killed before it wrote a summary"
        )
        raise ConfigError([message])
    is_over, summary = last_summary
    if not is_over and (generation := _generation(folder)) is not None:
        summary["space"]["log_bytes"] = (folder / f"{generation}.log").stat().st_size
    return {"is_running": False, "was_killed": not is_over, **summary}


def explain(folder: Path, number: int, progress: Callback | None) -> dict[str, Any]:
    """Why request `number` of the drive in `folder` took as long as it did.

    The requests in the folder are replayed up to that one. Raises `ConfigError` if there is no such
    request, and `OutputError` if a file cannot be read.
    """
    _check(folder)
    while True:
        generation = _generation(folder)
        if generation is None:
            return _of_recording(folder, number, progress)
        try:
            return _of_state(folder, generation, number, progress)
        except (ConfigError, OutputError):
            # If a running server has folded the log meanwhile, try the new one.
            if _generation(folder) == generation:
                raise


def _check(folder: Path) -> None:
    if not any((folder / name).exists() for name in (CURRENT, _core.SERVED_START)):
        message = f"{folder}: expected the state of a served drive, or a recording of one"
        raise ConfigError([message])


def _generation(folder: Path) -> int | None:
    """The generation of a folder of `--state`; `None` for a recording."""
    path = folder / CURRENT
    return int(path.read_text(encoding="utf-8")) if path.exists() else None


def _of_state(
    folder: Path, generation: int, number: int, progress: Callback | None
) -> dict[str, Any]:
    config = load_config(folder / f"{generation}.toml")
    with translate_errors():
        return _parsed(_core.served_why(config.text, folder, generation, number, progress))


def _of_recording(folder: Path, number: int, progress: Callback | None) -> dict[str, Any]:
    path = folder / "run.toml"
    if not path.exists():
        message = (
            f"{folder}: expected run.toml, which the server writes when it is stopped with Ctrl-C,"
            " but it still runs, or it was killed. If the drive has a state, give its folder:"
            f" ssdlab serve why {number} STATE. Otherwise stop the server with Ctrl-C, or record"
            " another session"
        )
        raise ConfigError([message])
    # The folder may have been moved.
    moved = {
        "workload.trace": str(folder / _core.SERVED_REQUESTS),
        "precondition.snapshot": str(folder / _core.SERVED_START),
    }
    config = load_config(path, set=moved)
    with translate_errors():
        return _parsed(_core.served_why(config.text, folder, None, number, progress))


def _parsed(answer: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(answer)
    return values
