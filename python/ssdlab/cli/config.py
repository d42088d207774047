"""`ssdlab config`: inspect configurations."""

from __future__ import annotations

import json

import typer

import ssdlab
from ssdlab import _core
from ssdlab.cli.arguments import set_values
from ssdlab.cli.options import ConfigArgument, Json, Sets, Trace
from ssdlab.cli.terminal import put

app = typer.Typer(name="config", no_args_is_help=True, help="Inspect configurations.")


@app.command("show")
def config_show(
    config: ConfigArgument, trace: Trace = None, sets: Sets = None, json_: Json = False
) -> None:
    """Print the resolved configuration: every key and its value."""
    loaded = ssdlab.load_config(config, trace=trace, set=set_values(sets))
    put(json.dumps(loaded.values, indent=2) + "\n" if json_ else loaded.toml())


@app.command("check")
def config_check(config: ConfigArgument, trace: Trace = None, sets: Sets = None) -> None:
    """Report all errors in a configuration."""
    loaded = ssdlab.load_config(config, trace=trace, set=set_values(sets))
    put(f"{config}: no errors\n{loaded!r}\n")


@app.command("schema")
def config_schema() -> None:
    """Print the JSON Schema of configurations, for editors."""
    put(json.dumps(json.loads(_core.config_schema()), indent=2) + "\n")


@app.command("reference")
def config_reference() -> None:
    """Print every key and policy as a Markdown page."""
    put(_core.config_reference())
