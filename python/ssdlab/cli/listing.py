"""`ssdlab list`."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from ssdlab import _core
from ssdlab.cli.options import Json
from ssdlab.cli.terminal import put

app = typer.Typer()


@app.command("list")
def list_command(
    what: Annotated[
        Literal["policies", "presets", "drives", "formats", "papers"],
        typer.Argument(show_default=False),
    ],
    json_: Json = False,
) -> None:
    """List policies, presets, named drives with their errors, trace formats or papers."""
    if what == "papers":
        from ssdlab.reproduce import PAPERS  # needs numpy, which is slow to import
        from ssdlab.reproduce.remapcom import choices

        known: Any = [{"name": one.name, "summary": one.title} for one in PAPERS.values()]
        known.append({"name": choices.NAME, "summary": choices.TITLE})
    elif what == "drives":
        from ssdlab.reproduce.drives.errors import listed  # needs numpy, which is slow to import

        known = listed()
    else:
        known = json.loads(_core.registry())[what]
    if json_:
        put(json.dumps(known, indent=2, ensure_ascii=False) + "\n")
        return
    groups = known if isinstance(known, dict) else {"": known}
    for i, (title, entries) in enumerate(groups.items()):
        if title:
            put(("\n" if i else "") + f"{title}\n")
        width = max(len(entry["name"]) for entry in entries)
        for entry in entries:
            params = ", ".join(
                p["name"] + ("" if p["default"] is None else f" = {p['default']}")
                for p in entry.get("params", ())
            )
            line = f"{'  ' * bool(title)}{entry['name']:<{width}}  {entry['summary'].rstrip('.')}"
            put(line + (f"  ({params})" if params else "") + "\n")
