"""Write the generated pages of docs/, or say which are stale (`--check`).

A page is one entry of PAGES: its path and the function that returns its text.
"""

import argparse
import ast
import difflib
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ssdlab import _core

ROOT = Path(__file__).resolve().parent.parent
HEAD = "<!-- Written by `make docs`: change the source, not this page. -->\n\n"


FORMATS_HEAD = """# Trace formats

`workload.format` names the format; `auto` finds it out from the first 64 lines of the file (of a
binary one from the first record) and asks where several fit. Files may be plain, `.gz` or `.zst`.
A line that is not of the format, or says what cannot be, is an error with its number and byte, a
record one with its number and offset; `workload.skip_bad` counts and skips such ones instead.
Nothing is corrected, rounded or guessed. A trace with several volumes needs `workload.volume`; the
error lists them. Records that repeat an identical one of the same volume less than 1 ms earlier are
counted and warned of; `workload.dedup` drops them. Where time 0 is the first record,
`workload.from` and `workload.until` count from there.

`ssdlab trace convert FILE OUT --to FORMAT` writes a trace in one of the formats below that say
what they are written with, in constant memory; `ssdlab trace split FILE --out DIR` writes a file
for each volume. The result has one volume, number 0, and its time 0 is that of `workload.from`.
What a format has no place for is refused with the number of the request, unless `--allow` permits
that loss; then it is counted. A trace that is read more than once is best kept as `ssdtrace`.

A new format is one file in `crates/ssd-trace/src/formats`, one line in the list of its
`mod.rs`, one word in `TraceFormat` of the config, and one sample in
`crates/ssd-trace/tests/samples/mod.rs`.
"""
FORMAT_ROWS = [
    ("form", "a line or record"),
    ("units", "units"),
    ("clock", "time 0"),
    ("volume", "volume number"),
    ("order", "order of times"),
    ("traps", "traps"),
    ("source", "source"),
]


def command_line() -> str:
    """Every verb and option of the `ssdlab` command, as it describes itself."""
    command = [sys.executable, "-m", "typer", "ssdlab.cli", "utils", "docs", "--name", "ssdlab"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip() + "\n"


def config() -> str:
    """Every configuration key and policy, from the tables that the program itself uses."""
    return _core.config_reference().strip() + "\n"


def presets() -> str:
    """Every preset as it is written, with the source of each number."""
    listed = json.loads(_core.registry())["presets"]
    parts = [f"## {p['name']}\n\n```toml\n{p['text'].strip()}\n```\n" for p in listed]
    return "\n".join(["# Presets\n", *parts])


def trace_info() -> str:
    """Every statistic of `ssdlab trace info`, from the texts below its fields."""
    module = ast.parse((ROOT / "python/ssdlab/trace_info.py").read_text(encoding="utf-8"))
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    lines = [
        "# What a trace is like\n",
        "`ssdlab trace info FILE [FILE2]`, and `ssdlab.Trace(path).info()` in Python. The names",
        'are those of the JSON (`--json`). "The papers" are those of the presets: a statistic that',
        "they publish for their workloads is defined as they use it.\n",
        "A statistic is of the file as it stands, before anything is fitted to a device. Pages are",
        "4 KiB. Memory: 16 bytes for each page of every 128 KiB area that the trace reads or",
        "writes (and at most 2 of index), 16 bytes for each separate run of discarded pages, and",
        "a constant for the rest; a trace that needs more than `--memory` is refused.",
    ]
    # Breadth first from the whole, so that the parts come in the order of its fields.
    names = ["Info"]
    for name in names:
        body = classes[name].body
        about = " ".join((ast.get_docstring(classes[name]) or "").split())
        lines += [f"\n## {name}\n", about, "\n| field | definition and unit |", "|---|---|"]
        for one, after in itertools.pairwise(body):
            if not (isinstance(one, ast.AnnAssign) and isinstance(after, ast.Expr)):
                continue
            kind, text = ast.unparse(one.annotation), ast.literal_eval(after.value)
            lines.append(f"| `{ast.unparse(one.target)}` | {' '.join(text.split())} |")
            inner = [word for word in re.findall(r"\w+", kind) if word in classes]
            names += [word for word in inner if word not in names]
    return "\n".join(lines) + "\n"


def formats() -> str:
    """Every trace format, as its plug describes itself."""
    parts = [FORMATS_HEAD]
    known = json.loads(_core.registry())
    carries = {target["name"]: target["carries"] for target in known["targets"]}
    for f in known["formats"]:
        rows = ["| | |", "|---|---|"]
        rows += [
            f"| {label} | {f[key].replace('|', chr(92) + '|')} |" for key, label in FORMAT_ROWS
        ]
        if f["name"] in carries:
            rows.append(f"| written with | {carries[f['name']]} |")
        parts.append(f"## {f['name']}\n\n{f['summary']}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/config.md": config,
    "docs/reference/presets.md": presets,
    "docs/formats.md": formats,
    "docs/reference/command-line.md": command_line,
    "docs/trace-info.md": trace_info,
}


def main() -> int:
    """Write or check all pages; 1 if a page is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a stale page")
    check = parser.parse_args().check
    stale = False
    for name, text in PAGES.items():
        path = ROOT / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        new = HEAD + text()
        if old == new:
            continue
        stale = True
        if check:
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), name, "new", lineterm=""
            )
            sys.stdout.write("\n".join(lines) + "\n")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new, encoding="utf-8")
        sys.stdout.write(f"wrote {name}\n")
    if check and stale:
        sys.stderr.write("generated pages are stale: run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
