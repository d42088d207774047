"""Checks a store: every part against its manifest, every key against its configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssdlab.config.files import FILES
from ssdlab.errors import OutputError
from ssdlab.store import rows
from ssdlab.store.collect import leftovers
from ssdlab.store.files import CHECKS, Entry, Files
from ssdlab.store.keys import key_of, key_text

MOST_NAMED = 3
"""Rows of a part whose problems are reported."""
OF_THE_MAKER = (
    "speed",
    "provenance",
    "config",
    "warnings",
    "invalidating",
    "trace_lines",
    "series",
)
"""Parts of a report in which equal runs may differ: speed, user, names."""


@dataclass
class Verified:
    """What was found."""

    parts: int = 0
    rows: int = 0
    repeated: int = 0
    """Rows that are redundant because another row with the same key equals them."""
    problems: dict[str, list[str]] = field(default_factory=dict)
    """What is wrong, by file."""
    leftovers: list[Path] = field(default_factory=list)
    """Files that no manifest names: of writers that were killed, or are active."""

    def add(self, file: Path, *texts: str) -> None:
        """Note what is wrong with a file."""
        self.problems.setdefault(str(file), []).extend(texts)


def verify(files: Files) -> Verified:
    """Check all parts that count, which reads all of them."""
    found = Verified()
    entries = {name: one for name in sorted(files.names()) if (one := _entry(files, name, found))}
    gone = {one for entry in entries.values() for one in entry.replaces}
    seen: dict[str, tuple[Path, str]] = {}
    for name, entry in entries.items():
        if name not in gone:
            found.parts += 1
            for text in _of_part(files, entry, seen, found):
                found.add(files.part(name), text)
    found.leftovers = leftovers(files)
    return found


def _entry(files: Files, name: str, found: Verified) -> Entry | None:
    try:
        return files.read(name)
    except FileNotFoundError:
        return None  # another process has replaced it
    except OutputError as error:
        file = files.entry(name)
        found.add(file, str(error).removeprefix(f"{file}: ").partition(f"; {CHECKS}")[0])
        return None


def _of_part(
    files: Files, entry: Entry, seen: dict[str, tuple[Path, str]], found: Verified
) -> Iterator[str]:
    """What is wrong with a part."""
    why = files.fault(entry)
    if why:
        yield why
        return
    with rows.parquet().ParquetFile(files.part(entry.name)) as file:
        yield from _of_schema(file.schema_arrow)
        if file.metadata.num_rows != len(entry.rows):
            yield f"has {file.metadata.num_rows} rows; its manifest has {len(entry.rows)}"
            return
        bad = [*_of_rows(files, entry, file, seen, found)]
    yield from bad[:MOST_NAMED]
    if len(bad) > MOST_NAMED:
        yield f"and {len(bad) - MOST_NAMED:,} more rows"


def _of_rows(
    files: Files,
    entry: Entry,
    file: Any,  # noqa: ANN401 - of a library
    seen: dict[str, tuple[Path, str]],
    found: Verified,
) -> Iterator[str]:
    """What is wrong with the rows of a part."""
    at = 0
    for number in range(file.num_row_groups):
        for row in file.read_row_group(number).to_pylist():
            found.rows += 1
            why = "another key than its manifest" if row["key"] != entry.rows[at][0] else ""
            part = files.part(entry.name)
            why = why or _of_row(row, files.results) or _twice(part, row, seen, found)
            at += 1
            if why:
                yield f"row {at} ({row['key'][:12]}): {why}"


def _of_schema(schema: Any) -> Iterator[str]:  # noqa: ANN401 - of a library
    """What is wrong with the columns of a part; it may have more than this ssdlab knows."""
    for one in rows.schema():
        at = schema.get_field_index(one.name)
        if at >= 0 and schema.field(at).type != one.type:
            yield f"column {one.name}: {schema.field(at).type}; expected {one.type}"
    needed = ("key", "created", "job", *rows.REPORT_TEXTS)
    lacks = [name for name in needed if schema.get_field_index(name) < 0]
    if lacks:
        yield f"lacks columns: {', '.join(lacks)}"


def _of_row(row: Mapping[str, Any], results: int) -> str:
    """What is wrong with a row, if anything is."""
    if key_of(row["job"]) != row["key"]:
        return "its key is not the digest of its job"
    try:
        version, job, sources = json.loads(row["job"])
        report = json.loads(row["report"])
        config = report["config"]
    except (ValueError, KeyError, TypeError):
        return "its texts are not JSON of a run"
    if version != results or report["provenance"]["results"] != results:
        return f"its results are not of version {results}"
    digests = {f"{part}.{name}": job.get(part, {}).get(name) for part, name in FILES}
    again = json.loads(key_text(config, digests, sources, results))[1]
    # If a device follows its trace, the report has the fitted device.
    fitted = job["device"].get("fit", "none") != "none"
    apart = [part for part in {*again, *job} if again.get(part) != job.get(part)]
    if [part for part in apart if not (fitted and part == "device")]:
        return f"its key is of another configuration than its report ({', '.join(sorted(apart))})"
    if row["config"] is not None and json.loads(row["config"]) != config:
        return "its column config is not the configuration of its report"
    return ""


def _twice(
    part: Path, row: Mapping[str, Any], seen: dict[str, tuple[Path, str]], found: Verified
) -> str:
    """Whether another row with this key has other results."""
    report = json.loads(row["report"])
    plain = {name: one for name, one in report.items() if name not in OF_THE_MAKER}
    plain["time"] = {**report["time"], "wall": None, "cpu": None}
    plain["events"] = report["provenance"]["event_digest"]
    tables = [plain, row["series"], row["distributions"], row["why"] is None]
    mine = key_of(json.dumps(tables, sort_keys=True))
    where, other = seen.setdefault(row["key"], (part, mine))
    if mine != other:
        return f"its results differ from those of the same key in {where}: one of the two is wrong"
    found.repeated += where != part
    return ""
