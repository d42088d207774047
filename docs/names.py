"""The usual names of things, as index entries of the site: what its search finds first.

Sphinx searches words, titles and the index. Words are those of our pages: who types "copy-back" or
"TBW" uses other ones. So keys, policies and terms get entries with the spellings that are in use,
at the place that explains them; the pages themselves stay plain Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import sphinx.search
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

PAGES = {
    "docs/lifetime": ("endurance", "lifetime", "TBW", "DWPD", "drive writes per day", "wear-out"),
    "docs/cluster": ("cluster", "Dask", "SLURM", "distributed"),
    "docs/fleet": ("fleet", "volumes", "Alibaba", "Tencent", "cloud block storage", "distribution"),
    "docs/sweeps": ("sweep", "parameter study", "grid", "latin hypercube", "Pareto front"),
    "docs/results-store": ("store of results", "cache of runs", "SQL", "DuckDB", "Parquet"),
    "docs/search": ("search", "optimization", "Optuna", "tuning", "Bayesian optimization"),
    "docs/plan": ("capacity planning", "sizing", "overprovisioning", "spare", "rated endurance"),
    "docs/try": ("try", "which policy", "own trace"),
    "docs/model": ("garbage collection", "GC", "model", "FTL", "trim", "discard"),
    "docs/separation": ("separation", "hot and cold data", "hot data", "cold data"),
    "docs/validation": ("accuracy", "closed form", "mean field"),
    "docs/statistics": ("confidence interval", "significance", "warm-up", "steady state"),
    "docs/fdp": ("FDP", "flexible data placement", "reclaim unit", "streams"),
    "docs/recovery": ("power loss", "power cut", "mount", "recovery"),
    "docs/drives": ("calibration", "named drive", "real drives"),
    "docs/workloads": ("synthetic workload", "zipf", "MSR", "workload"),
    "docs/fio": ("fio", "job file", "bssplit", "iodepth", "stonewall"),
    "docs/formats": ("trace format", "blktrace", "MSR Cambridge", "CSV"),
    "docs/sqlite": ("SQLite", "apsw", "VFS", "write-ahead log", "journal mode", "commit latency"),
    "docs/store": ("key-value store", "LevelDB", "LSM tree", "compaction"),
    "docs/python-policies": ("own policy", "custom policy", "policy in Python"),
    "docs/exports": ("export", "Perfetto", "fio-plot", "pandas"),
    "docs/policies/index": ("policy", "policies", "algorithm"),
    "docs/policies/path-copyback": ("copy-back", "copy back", "internal data move"),
    "docs/policies/path-selective": ("selective copy-back",),
    "docs/policies/wear-static": ("wear levelling", "wear leveling", "static wear leveling"),
    "docs/policies/wear-dynamic": ("dynamic wear leveling",),
    "docs/policies/victim-random": ("random victim",),
    "docs/policies/trigger-idle": ("idle-time collection", "background GC"),
    "docs/policies/trigger-free-blocks": ("threshold", "watermark", "low watermark"),
    "docs/policies/redirect-deferred-gc": ("deferred GC", "RAID"),
    "docs/reference/report": ("report fields", "metrics", "report.json"),
}
"""Names that no page has in its own words, or that should lead to this page first."""


MOST_WORDS = 3
"""Of a term: what is longer is a sentence."""


def spellings(name: str) -> Iterator[str]:
    """A name with its hyphens and underscores as they may be typed."""
    yield name
    for old, new in (("_", "-"), ("_", " "), ("-", " "), ("-", "")):
        if old in name:
            yield name.replace(old, new)


class Words(SearchEnglish):
    """Words of the index: those with underscores in their parts, too."""

    def split(self, input: str) -> list[str]:
        """The words of a text."""
        words = super().split(input)
        return [
            *words,
            *(part for word in words if "_" in word for part in word.split("_") if part),
        ]


def names_of(page: str, doctree: nodes.document) -> Iterator[tuple[nodes.Element, Sequence[str]]]:
    """Places of a page, and what they are called: the name that is shown first."""
    if page in PAGES:
        yield doctree, PAGES[page]
    if page == "docs/glossary":
        yield from _terms(doctree)
    elif page == "docs/reference/config":
        yield from _keys(doctree)
    elif found := re.fullmatch(r"docs/policies/[a-z]+-(.+)", page):
        yield doctree, [found[1]]


def _terms(doctree: nodes.document) -> Iterator[tuple[nodes.Element, list[str]]]:
    """Terms of the glossary: the head of a paragraph that begins in bold."""
    for paragraph in doctree.findall(nodes.paragraph):
        first = next((one for one in paragraph.children if one.astext()), None)
        if isinstance(first, nodes.strong):
            head = paragraph.astext().partition(".")[0]
            inside = re.findall(r"\(([^)]*)\)", head)
            parts = re.split(r", or |, | or ", re.sub(r" ?\([^)]*\)", "", head))
            names = [part.strip() for part in [*parts, *inside]]
            if short := [name for name in names if 0 < len(name.split()) <= MOST_WORDS]:
                yield paragraph, short


def _keys(doctree: nodes.document) -> Iterator[tuple[nodes.Element, list[str]]]:
    """Keys of the configuration: the rows of the tables below `[table]`."""
    for section in doctree.findall(nodes.section):
        title = section.children[0].astext()
        if not (found := re.fullmatch(r"\[(\w+)\]", title)):
            continue
        for row in section.findall(nodes.row):
            key = row.children[0].astext()
            if re.fullmatch(r"\w+", key) and key != "key":
                yield row, [f"{found[1]}.{key}", key]


def add_names(app: Sphinx, doctree: nodes.document) -> None:
    """Give places of a page their entries in the index."""
    page = app.env.current_document.docname
    for place, names in [*names_of(page, doctree)]:
        told = dict.fromkeys(one for name in names for one in spellings(name))
        if place is doctree:
            section = next(iter(doctree.findall(nodes.section)), None)
            if section is None:
                continue
            anchor = section["ids"][0]
            where: nodes.Element = section
        else:
            # The search shows it (scorer.js).
            anchor = f"name-{names[0].replace(' ', '+')}"
            where = place if isinstance(place, nodes.paragraph) else _inside(place)
            where["ids"].append(anchor)
        entries = [("single", name.replace(";", ","), anchor, "main", None) for name in told]
        index = addnodes.index(entries=entries)
        if place is doctree:
            where.insert(1, index)
        else:
            where.insert(0, index)


def _inside(row: nodes.Element) -> nodes.Element:
    """The first paragraph of a row: an index entry may not stand between cells."""
    return next(iter(row.findall(nodes.paragraph)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    sphinx.search.languages["en"] = Words
    app.connect("doctree-read", add_names)
    return {"parallel_read_safe": True}
