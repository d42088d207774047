"""How Sphinx makes the site (`make site`).

The whole repository is the source folder, so that the links between README, ARCHITECTURE and
docs/ hold in both places. What only the site needs stands here: the order of the pages.
"""

import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

project = "ssdlab"
copyright = "the ssdlab authors. Apache-2.0 OR MIT"
extensions = ["myst_parser", "names", "notebooks"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "examples/notebooks/*.ipynb", "traces/README.md"]
exclude_patterns = [".*", "site", "target", "runs"]
myst_heading_anchors = 6
nitpicky = True
smartquotes = False  # "timed" is what has to be typed
# An indented block is a layout or a formula; only a fence names a language.
highlight_language = "none"

html_theme = "furo"
html_title = "ssdlab"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))

NAVIGATION = {
    "Tutorials": [
        "docs/tutorials/ten-minutes",
        "docs/tutorials/first-result",
        "docs/tutorials/own-policy",
        "docs/tutorials/from-blktrace-to-report",
    ],
    "Notebooks": ["examples/notebooks/*"],
    "How to": [
        "docs/try",
        "docs/plan",
        "docs/lifetime",
        "docs/python-policies",
        "docs/devices",
        "docs/sweeps",
        "docs/cluster",
        "docs/results-store",
        "docs/serve",
        "docs/serve-recipes",
        "docs/sqlite",
        "docs/slc",
        "docs/zones",
        "docs/fleet",
        "docs/search",
        "docs/exports",
        "docs/store",
        "docs/simulate",
        "docs/plyvel",
        "docs/adding-a-policy",
        "CONTRIBUTING",
    ],
    "What is simulated": [
        "docs/model",
        "docs/validation",
        "docs/separation",
        "docs/drives",
        "docs/scale",
        "docs/fdp",
        "docs/recovery",
        "docs/logs",
        "docs/statistics",
        "docs/glossary",
    ],
    "Policies": ["docs/policies/index"],
    "Papers": ["docs/papers/*"],
    "Traces": [
        "docs/workloads",
        "docs/fio",
        "docs/formats",
        "docs/trace-info",
        "docs/trace-file",
        "traces/README",
    ],
    "Reference": ["docs/reference/*"],
    "How it is built": ["ARCHITECTURE", "docs/mutants", "docs/adr/*", "CHANGELOG"],
}


BELOW = {
    root_doc: NAVIGATION,
    "docs/policies/index": {"": ["docs/policies/*"]},
}
"""Which pages have others below them, under which captions."""


def add_navigation(_app: Sphinx, page: str, source: list[str]) -> None:
    """Give such a page the tree of the others; in the repository it stays plain Markdown."""
    for caption, pages in BELOW.get(page, {}).items():
        lines = ["", "```{toctree}", ":hidden:", ":glob:"]
        lines += [f":caption: {caption}"] * bool(caption)
        lines += ["", *(f"/{page}" for page in pages)]
        source[0] += "\n".join([*lines, "```", ""])


def add_index(app: Sphinx, error: Exception | None) -> None:
    """Let the folder open with the first page."""
    if error is None:
        shutil.copyfile(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", add_index)
