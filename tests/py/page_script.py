"""Runs the scripts of a page in node, where there is one, on the page as it was built."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from running import HANG_S

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node: the page's scripts were not run")

Tree: TypeAlias = "tuple[str, dict[str, str], list[Tree | str]]"
VOID = {"meta", "link", "br", "wbr", "img", "input", "hr"}
# HTML has no capitals in names of attributes; SVG has this one.
CAPITALS = {"viewbox": "viewBox"}


class Builder(HTMLParser):
    """The elements of a page as a tree, and its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tree: Tree = ("document", {}, [])
        self.above: list[Tree] = [self.tree]
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node: Tree = (tag, {CAPITALS.get(name, name): value or "" for name, value in attrs}, [])
        self.above[-1][2].append(node)
        if tag not in VOID:
            self.above.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.above.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.above.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.above[-1][2].append(data)


def scripts_of(tree: Tree) -> list[str]:
    """The texts of the scripts that a browser would run."""
    tag, attributes, children = tree
    if tag == "script" and "type" not in attributes:
        return ["".join(child for child in children if isinstance(child, str))]
    return [text for child in children if not isinstance(child, str) for text in scripts_of(child)]


def used(page: str, use: str) -> Any:  # noqa: ANN401 - what the script returns
    """Run the scripts of `page`, then `use`, the body of a function; returns its value."""
    assert NODE is not None
    tree = Builder(page).tree
    request = json.dumps({"tree": tree, "scripts": scripts_of(tree), "use": use})
    tool = Path(__file__).with_name("dom.mjs")
    process = subprocess.run(
        [NODE, tool], input=request, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)
