"""`ssdlab snapshot`: create and inspect snapshots of devices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import ssdlab
from ssdlab.cli.arguments import set_values
from ssdlab.cli.ending import INTERRUPTED
from ssdlab.cli.options import ConfigArgument, Json, Quiet, Seed, Sets
from ssdlab.cli.terminal import Form, put_result, say
from ssdlab.errors import ConfigError, Interrupted
from ssdlab.results import outputs
from ssdlab.results.text import wrapped

app = typer.Typer(
    name="snapshot", no_args_is_help=True, help="Create and inspect snapshots of devices."
)


@app.command("make")
def snapshot_make(
    config: ConfigArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Snapshot to write.")],
    sets: Sets = None,
    seed: Seed = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Precondition a device and save its state for runs with precondition.snapshot = "FILE"."""
    resolved = ssdlab.load_config(config, set=set_values(sets), seed=seed)
    if resolved["precondition.snapshot"] is not None:
        raise ConfigError(
            ["precondition.snapshot: the result would be a plain copy; leave the key out"]
        )
    # The state does not depend on the mode of the runs that start from it.
    device = ssdlab.Device(ssdlab.load_config(resolved, set={"run.mode": "timed"}))
    outputs.check([out], force)  # Before a device is preconditioned, which may take long.
    try:
        device.precondition(progress=not quiet)
        out.parent.mkdir(parents=True, exist_ok=True)
        device.save(out, force=force, progress=not quiet)
    except Interrupted:
        say("interrupted: no snapshot was written")
        raise typer.Exit(INTERRUPTED) from None
    _put_info(out, json_, quiet)
    if not quiet:
        say(f"snapshot in {out}")


@app.command("info")
def snapshot_info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Snapshot.")], json_: Json = None
) -> None:
    """Check a snapshot and print its contents and which devices can start from it."""
    _put_info(file, json_, False)


def _put_info(file: Path, json_: Form, quiet: bool) -> None:
    info = asdict(ssdlab.snapshot_info(file))
    text = json.dumps(info, indent=2, ensure_ascii=False) + "\n"
    put_result(json_, quiet, lambda: text, lambda: "".join(_lines(info)))


def _lines(info: dict[str, Any]) -> Iterator[str]:
    """The contents of a snapshot in words."""
    keys = info.pop("config")
    values = {name: json.dumps(value, ensure_ascii=False) for name, value in keys.items()}
    numbers = {
        name.replace("_", " "): f"{value:,}" for name, value in info.items() if name != "digest"
    }
    if info["extra_owners"]:
        values["remap.mode"] = '"share" or "copy"'
    for name, value in ({"digest": info["digest"]} | numbers | values).items():
        yield from (f"{line}\n" for line in wrapped(f"{name:<26}", str(value)))
