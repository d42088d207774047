"""`ssdlab list`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias, get_args

import typer

from ssdlab import _core
from ssdlab.cli.options import Json
from ssdlab.cli.terminal import put_result
from ssdlab.results.text import listed

What: TypeAlias = Literal["policies", "presets", "drives", "formats", "papers", "words"]

app = typer.Typer()


@app.command("list")
def list_command(
    what: Annotated[What, typer.Argument(metavar="WHAT", help=f"{', '.join(get_args(What))}.")],
    json_: Json = None,
) -> None:
    """List policies, presets, drives with errors, trace formats, papers, words of other tools."""
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
    text = json.dumps(known, indent=2, ensure_ascii=False) + "\n"
    put_result(json_, False, lambda: text, lambda: "\n".join([*_lines(known), ""]))


def _lines(known: Any) -> Iterator[str]:  # noqa: ANN401 - as the simulator lists it
    """Names with what they are, by group where there are groups."""
    groups = known if isinstance(known, dict) else {"": known}
    for i, (title, entries) in enumerate(groups.items()):
        if title:
            yield from [""] * bool(i) + [title]
        longest = max(len(entry["name"]) for entry in entries)
        for entry in entries:
            params = ", ".join(
                p["name"] + ("" if p["default"] is None else f" = {p['default']}")
                for p in entry.get("params", ())
            )
            said = entry["summary"].rstrip(".") + (f" ({params})" if params else "")
            yield from listed(f"{'  ' * bool(title)}{entry['name']}", longest + 4, said)
