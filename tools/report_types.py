"""The Python types of a report, from its declaration in the simulator. Written by `docs.py`."""

import textwrap
from typing import Any

from ssdlab.display import form

HEAD = '''"""The parts of a report as frozen dataclasses, with the names of `report.json`.

Integers are bytes, pages, blocks or nanoseconds; means and ratios are floating point; missing
values are None. Written by `make docs` from crates/ssd-core/src/metrics/report: change that.
"""

from __future__ import annotations

from dataclasses import dataclass
'''
WIDTH = 100
INDENT = "    "
NOT_TYPED = ("config", "series")
"""Fields of the whole that `ssdlab.Report` has in another form."""
KINDS = {"count": "int", "number": "float", "text": "str", "flag": "bool"}


def module() -> str:
    """The text of `ssdlab.results.measures`."""
    return "\n\n".join([HEAD, *map(_class, form.sections())])


def annotation(kind: list[Any]) -> str:
    """The type of a field."""
    match kind:
        case ["nullable", inner]:
            return f"{annotation(inner)} | None"
        case ["list", inner]:
            return f"tuple[{annotation(inner)}, ...]"
        case ["map", inner]:
            return f"dict[str, {annotation(inner)}]"
        case ["section", name]:
            return str(name)
    return KINDS[kind[0]]


def definition(doc: str) -> str:
    """The definition of a field or section in Python: `null` is None there."""
    return doc.replace("`null`", "None")


def _class(section: dict[str, Any]) -> str:
    is_root = section["name"] == form.ROOT
    options = "frozen=True, eq=False, repr=False" if is_root else "frozen=True"
    lines = [f"@dataclass({options})", f"class {'Parts' if is_root else section['name']}:"]
    doc = "The fields of report.json." if is_root else definition(section["doc"])
    lines += [*_docstring(doc), ""]
    for field in section["fields"]:
        if is_root and field["name"] in NOT_TYPED:
            continue
        default = " = None" if field["optional"] else ""
        lines.append(f"{INDENT}{field['name']}: {annotation(field['kind'])}{default}")
        lines += _docstring(definition(" ".join(field["doc"].split())))
    return "\n".join(lines) + "\n"


def _docstring(doc: str) -> list[str]:
    """A docstring of one line, or of a summary and further paragraphs."""
    first, *paragraphs = doc.strip().split("\n\n")
    if not paragraphs:
        return _wrapped(f'"""{first}"""')
    lines = _wrapped(f'"""{first}')
    for paragraph in paragraphs:
        lines += ["", *_wrapped(paragraph)]
    return [*lines, f'{INDENT}"""']


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=INDENT,
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
