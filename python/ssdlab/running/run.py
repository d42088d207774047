"""A run from Python, once or with several seeds: `ssdlab.run`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, overload

from ssdlab import policy
from ssdlab.config.given import typed
from ssdlab.config.resolve import ConfigLike, load_config
from ssdlab.display.progress import Callback, show_progress, warn_before_run
from ssdlab.errors import ConfigError
from ssdlab.results.comparison import Comparison
from ssdlab.results.report import Report
from ssdlab.running.compare_runs import plan, run_comparison
from ssdlab.running.execution import Execution
from ssdlab.running.simulate import Plugs, merge_plugs, run_loaded
from ssdlab.store.store import Store

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    from ssdlab.running.device import Device

    class Arguments(TypedDict, total=False):
        """The arguments of `run`, with or without seeds."""

        trace: str | Path | None
        set: Mapping[str, object] | None
        preset: str | None
        out: str | Path | None
        force: bool
        seed: int | None
        html: bool
        victim: policy.VictimLike | None
        trigger: policy.Wants | None
        concurrency: policy.Limits | None
        placement: policy.Places | None
        separation: policy.Separates | None


@overload
def run(
    config: ConfigLike | None = None,
    *,
    seeds: None = None,
    progress: bool | Callback = True,
    device: Device | None = None,
    **arguments: Unpack[Arguments],
) -> Report: ...


@overload
def run(
    config: ConfigLike | None = None,
    *,
    seeds: int,
    jobs: int | None = None,
    on: str | None = None,
    progress: bool = True,
    store: str | Path | Store | None = None,
    **arguments: Unpack[Arguments],
) -> Comparison: ...


@typed
def run(
    config: ConfigLike | None = None,
    *,
    trace: str | Path | None = None,
    set: Mapping[str, object] | None = None,
    preset: str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    seed: int | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: bool | Callback = True,
    html: bool = True,
    store: str | Path | Store | None = None,
    device: Device | None = None,
    victim: policy.VictimLike | None = None,
    trigger: policy.Wants | None = None,
    concurrency: policy.Limits | None = None,
    placement: policy.Places | None = None,
    separation: policy.Separates | None = None,
) -> Report | Comparison:
    """Simulate one run and return its report, or with `seeds` a comparison of repetitions.

    `config` is the name of a preset, the path of a TOML file, or a loaded `Config`; `set` maps
    dotted keys to values over it; `trace` is the path of a trace; `seed` replaces `run.seed`.

    With `out` the report, resolved configuration, series, distributions, summary, HTML page (unless
    `html` is False) and requested logs go to that folder. `force` replaces an existing run; but an
    incomplete run never replaces a complete one: it goes to `out`-partial, and `Report.folder` is
    that folder.

    `progress` shows a bar on stderr, or lines in a notebook; a function is called with the stage
    ("precondition", "workload"), the pages or requests done, and their total.

    `victim`, `trigger`, `concurrency`, `placement` and `separation` are policies in Python
    (`ssdlab.policy`) that replace those of the configuration; `set` accepts them, too, by their
    keys.
    With `device` the run starts from the state of that idle device instead of preconditioning one;
    without `config` it uses the device's configuration. The device itself does not change.

    With `seeds` the run is repeated with that many seeds, starting at `seed`; the `Comparison` has
    means with confidence intervals. `jobs`, `on`, `store` and `out` are those of `ssdlab.compare`.

    Raises `ConfigError`, `WorkloadError`, `OutputError` (nothing was run, or the results could not
    be written), `RunError` (the run could not finish) and `Interrupted` (Ctrl-C); the last two
    carry a partial report.
    """
    plugs = Plugs(victim, trigger, concurrency, placement, separation)
    if seeds is not None:
        if device is not None:
            raise ConfigError(["seeds: a run with a device starts from its one state"])
        if not isinstance(progress, bool):
            raise ConfigError(["progress: with seeds it is True or False, not a function"])
        base = load_config(config, trace=trace, preset=preset)
        planned = plan([base], set=set, seed=seed, seeds=seeds, plugs=plugs)
        return run_comparison(planned, Execution(on, jobs, store, out, force, progress, html))
    _check_single(jobs, on, store)
    values, policies = merge_plugs(set, plugs)
    if device is not None and config is None and preset is None:
        config = device.config
    loaded = load_config(config, trace=trace, set=values, preset=preset, seed=seed)
    if progress is True and not policies:
        warn_before_run(loaded.notes)
    with show_progress(loaded.name, progress) as callback:
        return run_loaded(
            loaded, callback, out=out, force=force, html=html, policies=policies, device=device
        )


def _check_single(jobs: int | None, on: str | None, store: str | Path | Store | None) -> None:
    """Refuse what only repetitions have."""
    for name, value in (("jobs", jobs), ("on", on)):
        if value is not None:
            raise ConfigError([f"{name}: a single run uses one core; it needs seeds"])
    if store is not None:
        raise ConfigError(["store: a single run is always made; it needs seeds"])
