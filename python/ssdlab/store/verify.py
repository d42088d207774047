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
class VerifyResult:
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


def verify(files: Files) -> VerifyResult:
    """Check all parts that count, which reads all of them."""
    result = VerifyResult()
    entries = {
        name: entry for name in sorted(files.names()) if (entry := _entry(files, name, result))
    }
    replaced = {name for entry in entries.values() for name in entry.replaces}
    seen: dict[str, tuple[Path, str]] = {}
    for name, entry in entries.items():
        if name not in replaced:
            result.parts += 1
            for text in _of_part(files, entry, seen, result):
                result.add(files.part(name), text)
    result.leftovers = leftovers(files)
    return result


def _entry(files: Files, name: str, result: VerifyResult) -> Entry | None:
    try:
        return files.read(name)
    except FileNotFoundError:
        return None  # another process has replaced it
    except OutputError as error:
        file = files.entry(name)
        result.add(file, str(error).removeprefix(f"{file}: ").partition(f"; {CHECKS}")[0])
        return None


def _of_part(
    files: Files, entry: Entry, seen: dict[str, tuple[Path, str]], result: VerifyResult
) -> Iterator[str]:
    """What is wrong with a part."""
    fault = files.fault(entry)
    if fault:
        yield fault
        return
    with rows.parquet().ParquetFile(files.part(entry.name)) as file:
        yield from _of_schema(file.schema_arrow)
        if file.metadata.num_rows != len(entry.rows):
            yield f"has {file.metadata.num_rows} rows; its manifest has {len(entry.rows)}"
            return
        bad = [*_of_rows(files, entry, file, seen, result)]
    yield from bad[:MOST_NAMED]
    if len(bad) > MOST_NAMED:
        yield f"and {len(bad) - MOST_NAMED:,} more rows"


def _of_rows(
    files: Files,
    entry: Entry,
    file: Any,  # noqa: ANN401 - of a library
    seen: dict[str, tuple[Path, str]],
    result: VerifyResult,
) -> Iterator[str]:
    """What is wrong with the rows of a part."""
    index = 0
    for number in range(file.num_row_groups):
        for row in file.read_row_group(number).to_pylist():
            result.rows += 1
            fault = "another key than its manifest" if row["key"] != entry.rows[index][0] else ""
            part = files.part(entry.name)
            fault = (
                fault or _of_row(row, files.results) or _repetition_fault(part, row, seen, result)
            )
            index += 1
            if fault:
                yield f"row {index} ({row['key'][:12]}): {fault}"


def _of_schema(schema: Any) -> Iterator[str]:  # noqa: ANN401 - of a library
    """What is wrong with the columns of a part; it may have more than this ssdlab knows."""
    for expected in rows.schema():
        index = schema.get_field_index(expected.name)
        if index >= 0 and schema.field(index).type != expected.type:
            yield f"column {expected.name}: {schema.field(index).type}; expected {expected.type}"
    required = ("key", "created", "job", *rows.REPORT_TEXTS)
    missing = [name for name in required if schema.get_field_index(name) < 0]
    if missing:
        yield f"lacks columns: {', '.join(missing)}"


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
    recomputed = json.loads(key_text(config, digests, sources, results))[1]
    # If a device follows its trace, the report has the fitted device.
    is_fitted = job["device"].get("fit", "none") != "none"
    differences = [part for part in {*recomputed, *job} if recomputed.get(part) != job.get(part)]
    if [part for part in differences if not (is_fitted and part == "device")]:
        names = ", ".join(sorted(differences))
        return f"its key is of another configuration than its report ({names})"
    if row["config"] is not None and json.loads(row["config"]) != config:
        return "its column config is not the configuration of its report"
    return ""


def _repetition_fault(
    part: Path, row: Mapping[str, Any], seen: dict[str, tuple[Path, str]], result: VerifyResult
) -> str:
    """Whether another row with this key has other results."""
    report = json.loads(row["report"])
    plain = {name: value for name, value in report.items() if name not in OF_THE_MAKER}
    plain["time"] = {**report["time"], "wall": None, "cpu": None}
    plain["events"] = report["provenance"]["event_digest"]
    tables = [plain, row["series"], row["distributions"], row["why"] is None]
    digest = key_of(json.dumps(tables, sort_keys=True))
    first_part, first_digest = seen.setdefault(row["key"], (part, digest))
    if digest != first_digest:
        return (
            f"its results differ from those of the same key in {first_part}: one of the two is"
            " wrong"
        )
    result.repeated += first_part != part
    return ""
