"""One run: policies in Python, the simulator, the files of the results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ssdlab import _core, policy
from ssdlab.config import memory
from ssdlab.config.resolve import Config
from ssdlab.display.progress import Callback
from ssdlab.errors import ConfigError, Interrupted, OutputError, RunError, translate_errors
from ssdlab.policy import Policies
from ssdlab.results.folder import Draft, draft, keep_with_page, write_error
from ssdlab.results.names import CONFIG, DISTRIBUTIONS, LOGS, REPORT, SERIES, SUMMARY
from ssdlab.results.report import Report
from ssdlab.running.fitted import fitted
from ssdlab.running.moved import NOTHING, LocalPaths

if TYPE_CHECKING:
    from ssdlab.running.device import Device

KEYS = {
    "victim": "gc.victim",
    "trigger": "gc.trigger",
    "concurrency": "gc.concurrency",
    "placement": "alloc.placement",
    "separation": "alloc.separation",
}
NONE = Policies({})


class Plugs(NamedTuple):
    """Policies in Python: the arguments of `run`, `compare` and `Device` that take one."""

    victim: policy.VictimLike | None = None
    trigger: policy.Wants | None = None
    concurrency: policy.Limits | None = None
    placement: policy.Places | None = None
    separation: policy.Separates | None = None


def merge_plugs(
    set: Mapping[str, object] | None, plugs: Plugs
) -> tuple[dict[str, object], Policies]:
    """Keys to set, and the policies in Python given among them or as separate arguments."""
    values, policies = policy.split(set)
    for name, plug in plugs._asdict().items():
        key = KEYS[name]
        if plug is None:
            continue
        if key in values or key in policies:
            raise ConfigError([f"{key}: given twice, by set and by {name}="])
        policies[key] = plug
    return values, Policies(policies)


def run_loaded(
    config: Config,
    callback: Callback | None,
    *,
    out: str | Path | None = None,
    force: bool = False,
    html: bool = True,
    policies: Policies = NONE,
    device: Device | None = None,
    moved: LocalPaths = NOTHING,
    traces: _core.Traces | None = None,
    start: _core.Start | None = None,
) -> Report:
    """Simulate a resolved configuration; as `run`, without any output on the terminal.

    `moved`: where its files are here, if elsewhere; `traces`: where its trace is kept for others;
    `start`: its preconditioned device, if there is one, which it uses up.
    """
    config = fitted(config, callback, moved)
    memory.check([config])
    policy.check_policies(config, policies)
    reads = [config.file] if config.file else []
    config = policies.name_in(config)
    simulator = partial(run_simulator, device=device, traces=traces, start=start)
    if out is None:
        requested = [key for key in ("op_log", "request_log") if config.values["metrics"][key]]
        if requested:
            raise ConfigError(
                [f"metrics.{key}: a log needs a folder to go to (out)" for key in requested]
            )
        finished = simulator(moved.config(config), callback, None, policies)
        report = _report(finished, config, moved, None)
    else:
        with draft(Path(out), force, reads) as staging:
            local_config = moved.config(config)
            finished = simulator(local_config, callback, staging.path, policies)
            staging.settle(finished.ending == "completed")
            report = _report(finished, config, moved, staging)
            try:
                if finished.ending == "unwritable":
                    raise OutputError(moved.text(finished.message, config))
                _write(staging, report, html)
            except OSError as error:
                text = str(write_error(error, staging.target))
                output_error = OutputError(text.replace(str(staging.path), str(staging.target)))
                output_error.report = replace(report, folder=None)
                raise output_error from error
    if finished.ending == "interrupted":
        raise Interrupted(report, report.folder)
    if finished.ending == "failed":
        message = moved.text(finished.message, config)
        raise RunError(message, report, report.folder) from finished.error
    return report


def run_simulator(
    config: Config,
    callback: Callback | None,
    folder: Path | None,
    policies: Policies,
    device: Device | None = None,
    traces: _core.Traces | None = None,
    start: _core.Start | None = None,
) -> _core.Finished:
    """Run the simulator, with its errors as those of `ssdlab.errors`."""
    with translate_errors():
        return _core.run(
            config.text,
            progress=callback,
            folder=folder,
            commit=_core.__commit__,
            policies=policies.core_arguments(),
            device=None if device is None else device.core,
            traces=traces,
            start=start,
        )


def _report(
    finished: _core.Finished, config: Config, moved: LocalPaths, staging: Draft | None
) -> Report:
    """The report, with the names of the files that `staging` holds."""
    values = moved.report(finished.report, config)
    if staging is not None:
        metrics = values["config"]["metrics"]
        requested = {"ops": metrics["op_log"], "state": metrics["op_log"]}
        requested["requests"] = metrics["request_log"]
        # Written from the first cut, or reclaim unit, on.
        requested |= {name: (staging.path / LOGS[name]).exists() for name in ("power", "units")}
        values["series"] = _files(name for name in LOGS if requested[name])
    trace = json.loads(moved.json(finished.trace, config)) if finished.trace else None
    folder = None if staging is None else staging.target
    tables = finished.series, finished.distributions
    return Report.of(json.dumps(values), *tables, trace=trace, folder=folder)


def _files(logs: Iterable[str] = ()) -> dict[str, str]:
    """The tables in the folder of a run, by content, with these logs."""
    return {
        "intervals": SERIES,
        "distributions": DISTRIBUTIONS,
        **{name: LOGS[name] for name in logs},
    }


def store_files(report: Report, folder: Path, *, html: bool = True, force: bool = False) -> Report:
    """Write the folder of a run without logs, as the run itself would have. Raises `OutputError`.

    Returns the report with that folder.
    """
    with draft(folder, force) as staging:
        staging.settle(report.completed)
        values = {**report.json, "series": _files()}
        tables = report.series_csv, report.distributions_csv
        stored = Report.of_values(values, *tables, trace=report.trace, folder=staging.target)
        _write(staging, stored, html)
    return stored


def _write(staging: Draft, report: Report, html: bool) -> None:
    staging.write(CONFIG, report.config.file_text())
    staging.write(SERIES, report.series_csv)
    staging.write(DISTRIBUTIONS, report.distributions_csv)
    staging.write(SUMMARY, report.summary())
    staging.write(REPORT, report.to_json())
    keep_with_page(staging, (lambda: _page(report, staging)) if html else None)


def _page(report: Report, staging: Draft) -> str:
    from ssdlab.html.run_page import run_page  # needs numpy, which is slow to import

    return run_page(report, staging.path)
