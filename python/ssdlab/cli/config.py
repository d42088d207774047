"""`ssdlab config`: inspect configurations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import ssdlab
from ssdlab import _core
from ssdlab.cli.arguments import set_values
from ssdlab.cli.options import ConfigArgument, ForceFiles, Json, Sets, Trace
from ssdlab.cli.terminal import put, put_result
from ssdlab.results import outputs

app = typer.Typer(name="config", no_args_is_help=True, help="Inspect configurations.")


@app.command("show")
def config_show(
    config: ConfigArgument, trace: Trace = None, sets: Sets = None, json_: Json = None
) -> None:
    """Print the resolved configuration: every key and its value."""
    resolved = ssdlab.load_config(config, trace=trace, set=set_values(sets))
    put_result(json_, False, lambda: json.dumps(resolved.values, indent=2) + "\n", resolved.toml)


@app.command("check")
def config_check(config: ConfigArgument, trace: Trace = None, sets: Sets = None) -> None:
    """Report all errors in a configuration."""
    resolved = ssdlab.load_config(config, trace=trace, set=set_values(sets))
    put(f"{config}: no errors\n{resolved!r}\n")


SCHEMA = "ssdlab.schema.json"
"""The file next to a new configuration with which editors complete and check its keys."""


@app.command("init")
def config_init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML file to write.")],
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="Preset to start from.")
    ] = "greedy-8ch",
    force: ForceFiles = False,
) -> None:
    """Write a configuration to start from, and the JSON Schema that it names, for editors."""
    ssdlab.load_config(None, preset=preset)
    presets = {
        preset_["name"]: preset_["text"] for preset_ in json.loads(_core.registry())["presets"]
    }
    # The published figures of a drive are not keys.
    text = presets[preset].partition("\n[published]")[0].strip()
    schema = file.parent / SCHEMA
    files = {
        file: outputs.text(f"#:schema {SCHEMA}\n\n{text}\n"),
        schema: outputs.text(_schema()),
    }
    for written_file in outputs.write_all(files, force=force, ours=lambda path: path == schema):
        put(f"{written_file}\n")


@app.command("schema")
def config_schema() -> None:
    """Print the JSON Schema of configurations, for editors."""
    put(_schema())


def _schema() -> str:
    return json.dumps(json.loads(_core.config_schema()), indent=2) + "\n"


@app.command("reference")
def config_reference() -> None:
    """Print every key and policy as a Markdown page."""
    put(_core.config_reference())
