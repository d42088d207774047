"""`ssdlab list`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeAlias, get_args

import typer

from ssdlab import _core
from ssdlab.cli.options import Json
from ssdlab.cli.terminal import put_result
from ssdlab.cli.verbs import load_entry_point
from ssdlab.config.drives import named_errors
from ssdlab.config.resolve import drive_presets, load_config
from ssdlab.results.text import listed

Listing: TypeAlias = Literal["policies", "presets", "drives", "formats", "papers", "words"]

app = typer.Typer()


@app.command("list")
def list_command(
    kind: Annotated[
        Listing, typer.Argument(metavar="WHAT", help=f"{', '.join(get_args(Listing))}.")
    ],
    json_: Json = None,
) -> None:
    """List policies, presets, drives with errors, trace formats, papers, words of other tools."""
    if kind == "papers":
        entries: Any = load_entry_point("list.papers")()
    elif kind == "drives":
        entries = _drives()
    else:
        entries = json.loads(_core.registry())[kind]
    text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
    put_result(json_, False, lambda: text, lambda: "\n".join([*_lines(entries), ""]))


def _drives() -> list[dict[str, object]]:
    """Every named drive, with its errors if it has been measured."""
    errors = named_errors()
    return [
        {
            "name": name,
            "summary": load_config(name)["run.drive"],
            "errors": asdict(errors[name].errors) if name in errors else None,
        }
        for name in drive_presets()
    ]


def _lines(listing: Any) -> Iterator[str]:  # noqa: ANN401 - as the simulator lists it
    """Names with their descriptions, by group if there are groups."""
    groups = listing if isinstance(listing, dict) else {"": listing}
    for i, (title, entries) in enumerate(groups.items()):
        if title:
            yield from [""] * bool(i) + [title]
        longest = max(len(entry["name"]) for entry in entries)
        for entry in entries:
            params = ", ".join(
                param["name"] + ("" if param["default"] is None else f" = {param['default']}")
                for param in entry.get("params", ())
            )
            description = entry["summary"].rstrip(".") + (f" ({params})" if params else "")
            yield from listed(f"{'  ' * bool(title)}{entry['name']}", longest + 4, description)
