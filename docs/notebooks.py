"""Notebooks as pages of the site: executed when it is built, with what they show.

A notebook is a source file for Sphinx as a Markdown page is one. Its cells are run in order by one
kernel, beside a link to the recorded traces, so that nothing is left in the checkout. A cell that
raises or writes to standard error is an error of the build.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/py"))

from kernel import HOMES, Kernel, Message, started  # noqa: E402

SHOWN = ("text/html", "image/svg+xml", "text/plain")
"""Of an output that comes in several forms the first that there is."""


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown page that it is when it has been run."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Called by Sphinx with the text of the file."""
        super().parse(as_markdown(json.loads(inputstring)["cells"]), document)


def as_markdown(cells: list[dict[str, Any]]) -> str:
    """The cells with what they show, as Markdown."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        here = home / "examples/notebooks"
        here.mkdir(parents=True)
        (home / "traces").symlink_to(ROOT / "traces")
        kept = {key: os.environ.get(key) for key in (*HOMES, "PATH")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        os.environ.update(dict.fromkeys(HOMES, name) | {"PATH": path})
        try:
            with started(home, here) as kernel:
                return "\n\n".join(part for cell in cells for part in _cell(cell, kernel))
        finally:
            for key, value in kept.items():
                os.environ.pop(key, None)
                os.environ.update({} if value is None else {key: value})


def _cell(cell: dict[str, Any], kernel: Kernel) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        yield source
        return
    yield _fence("python", source)
    yield from outputs(kernel.run(source))


def outputs(messages: list[Message]) -> Iterator[str]:
    """What a cell shows at its end: a display that is updated counts as it was last."""
    shown: list[tuple[str | None, str]] = []
    for message in messages:
        kind, content = message["msg_type"], message["content"]
        if kind == "error":
            raise ExtensionError(f"a notebook failed: {content['ename']}: {content['evalue']}")
        if kind == "stream" and content["name"] == "stderr":
            raise ExtensionError(f"a notebook warns: {content['text']}")
        if kind == "stream":
            shown.append((None, _fence("text", content["text"])))
        elif kind in ("display_data", "execute_result"):
            shown.append((content.get("transient", {}).get("display_id"), _formed(content)))
        elif kind == "update_display_data":
            mine = content["transient"]["display_id"]
            shown = [(i, _formed(content) if i == mine else text) for i, text in shown]
    yield from (text for _, text in shown if text)


def _formed(content: dict[str, Any]) -> str:
    data = content["data"]
    form = next(one for one in SHOWN if one in data)
    text = str(data[form])
    if not text.strip():
        return ""
    if form == "text/plain":
        return _fence("text", text)
    return _fence("{raw} html", f'<div class="output">\n{text}\n</div>')


def _fence(kind: str, text: str) -> str:
    """A fence that is longer than any inside of it."""
    marks = "`" * (3 + text.count("```"))
    end = "" if text.endswith("\n") else "\n"
    return f"{marks}{kind}\n{text}{end}{marks}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": False}
