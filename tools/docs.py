"""Write the generated pages of docs/ and the types of reports, or say which are stale (`--check`).

A page is one entry of PAGES: its path and the function that returns its text.
"""

import argparse
import ast
import difflib
import inspect
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import manual
import report_types
import ssdlab
import ssdlab.sqlite
from mutation import page as mutants
from ssdlab import _core
from ssdlab.config.resolve import DRIVE
from ssdlab.display import form

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/ssdlab"
HEAD = "<!-- Written by `make docs`: change the source, not this page. -->\n\n"


FORMATS_HEAD = """# Trace formats

`workload.format` (`--format`) sets the format. `auto` detects it from the first 64 lines of a text
file or the first record of a binary file, and refuses a file that fits several formats. If a file
has several likely readings, the message ends with commands to paste, one per reading, each with the
numbers that it would give. Files may be plain, compressed with gzip, zstd, bzip2, xz or lz4, or the
only file in a tar or zip archive. Text may be UTF-16 and may have a byte order mark. ssdlab reads
the first 64 MiB at any compression ratio. Beyond that, it refuses a file that expands to more than
250 times its compressed size, which may be an archive bomb, and prints the command that unpacks it.
If there is no file `NAME`, ssdlab reads `NAME.blktrace.0`.

A malformed or impossible line is an error with its line number and byte. A bad record is an error
with its number and offset. `workload.skip_bad` skips and counts them instead. Nothing is corrected
or rounded. A discard of 2 TiB or more is split into pieces of 1 TiB. A trace with several volumes
needs `workload.volume`, a number or "all"; the error lists the volumes. With "all", each volume is
a tenant. Their address ranges follow each other on the drive, in the order of their first requests.
`ssdlab trace merge A B --out OUT` merges several traces into one: each becomes a volume with its
own addresses, and all begin at time 0. A record that repeats an identical one of the same volume
less than 1 ms later is counted, and a warning reports the count; `workload.dedup` drops such
records. If time 0 is the first record, `workload.from` and `workload.until` count from there.

Files of one format may differ in the unit of addresses and lengths. The formats of DiskSim, SSDSim,
MQSim and Tencent define sectors of 512 bytes, but there are files with the same columns in bytes or
pages. `--unit bytes|sectors|pages` (`workload.unit`) sets the unit, and `--page-size`
(`workload.page_size`, 4 KiB) the size of a page. By default ssdlab reads sectors. If another unit
is as likely, it refuses the file and prints the numbers of both readings. Bytes are as likely if
addresses and lengths are multiples of 512 and the mean length is above 2048. Pages are as likely if
many lengths are below 8, few are multiples of 8, and addresses are spread evenly modulo 8. Other
formats define their unit. `--time-unit ns|100ns|us|ms|s` (`workload.time_unit`) sets the unit of
times in formats whose files differ in it. `trace info` prints the units.

Addresses above 1 PiB, which no device has, are an error if the format was detected, and cause a
warning if it was set. Requests of more than 32 MiB on average, and rates above 256 GiB/s, also
cause a warning, in traces of any length.

Any other table can be read if `--columns` (`workload.columns`) names its columns, as in
`--columns time=2:us,op=3,offset=5:512B,size=4`:

- `time=COLUMN:UNIT` is the arrival, in ns, 100ns, us, ms or s. A calendar date
  (`2016-02-22 17:03:00.123`, or with `T`) and a time with its own units (`1.46s`, `2m3.5s`; h, m,
  s, ms, us or ns) need no UNIT. A date is UTC unless an offset such as `+01:00` follows it. Without
  a time, every request arrives at time 0, in the order of the file.
- `op=COLUMN` is the operation. `op=read`, `op=write` or `op=discard` applies to all requests.
- `offset=COLUMN:UNIT` and `size=COLUMN:UNIT` are in `B` (the default), `sectors`, or a size such as
  `512B` or `4KiB`. `size=4KiB` applies to all requests.
- `volume=COLUMN` is the number or the name of the volume.
- `event=COLUMN:WORD`: only lines with this word in that column are requests. The others are only
  counted.
- `read=A|B`, `write=...`, `discard=...`, `flush=...` and `ignore=...` define words for operations
  in addition to the usual ones. Numeric codes need them, as in `read=0,write=1`. A Write Zeroes
  command counts as a write; `discard=write_zeroes` makes it a discard.
- `separator=WORD` is comma, semicolon, tab, bar, colon, blanks, or a character such as `~` or
  `\\x01`. By default, one of the first six is detected in the first line; a file with another
  separator is refused, with commands that set it. `skip=N` skips the first N lines.
- `record=N` is the length of a binary record.

A COLUMN is a number, counted from 1, or from -1 backwards from the last column. It may also be a
name in the header that no other column has, in quotes if it contains `,`, `:` or `=`. In a binary
record it is a type and a byte offset, as in `u64@4` (`u8` to `u64`, `i8` to `i64`, followed by `be`
if the highest byte comes first).

If a table matches no known format, but its header allows exactly one reading of time, operation,
offset and size, ssdlab uses that reading and says so in a warning. If units, words, the time or the
event that marks a request remain open, it refuses the table and lists all readings. It also refuses
a table with two columns of times, for different steps of a request such as `submit_us` and
`dispatch_us`, or of addresses in two spaces, such as `sector` and `abs_sector`. `--unit` and
`--time-unit` choose among units that the names leave open. Some unknown words, such as `READ_AHEAD`
or `sys_exit_read`, contain known ones. ssdlab lists readings with their possible meanings, and
names the words that a reading ignores. If several columns may each be a part of the volume, such as
host, target and LUN, or major and minor number, ssdlab refuses the table, and lists the command
that joins them and the readings with one of them. It also refuses a table without such a header,
and lists the readings that its values allow, the likeliest first. If no column has the length,
these readings assume and state 4 KiB for every request. If no column has the operation, there is
one reading with writes only and one with reads only. If no line fits the format or the columns that
are set, the message lists the commands that read the file, if there are any.

ssdlab compares the numbers of a file with the units that its format or its header states. It
refuses a file whose numbers are more likely in other units. Examples are sector numbers that are
all multiples of 512, as byte addresses are, FIU times that would be less than 5 us apart, and times
in seconds that would be minutes apart. The message lists the readings in each of these units. One
or two requests are too few to contradict a header.

Addresses and lengths in bytes must be whole sectors. ssdlab refuses a file with other requests, and
prints the command that extends them to whole sectors. If most requests are whole sectors,
`workload.skip_bad` skips the others, up to the share in `workload.max_bad`.

In a column such as `zone`, `object` or `inode`, a value may name a part of the device, and
addresses may count from the start of that part. Unless the address has a name of the whole device,
such as `lba` or `sector`, or determines the part, ssdlab refuses the table. The message lists the
readings with each part as a volume, and those with the addresses of the whole device.

ssdlab refuses the following, with a command that converts the file to a table or records the
requests:

- times in minutes, hours, jiffies, picoseconds, processor cycles or multiples of a unit
  (`time_10us`), or in two columns such as `time_s` and `time_us`
- times that are negative, written as `MM:SS` or `HH:MM:SS`, in brackets, as in the log of the
  kernel, with a blank before their unit, or of a clock that wraps around; intervals
- dates with slashes or without separators, with names of months, with the abbreviation of a time
  zone, or with the day or the month first (with a command for each, if both fit), and dates and
  times of day in two columns
- ends of requests instead of lengths; zero-based lengths, such as NVMe's NLB and `length_minus_1`;
  fractions of MB; blocks of several sizes; cylinders and heads; addresses in two halves
- columns in addition to the operation that mark requests as discards
- known formats in which every length is 0 (without a command, because the lengths are lost)
- devices such as `(8,0)` in tables with commas as separators
- numbers with thousands separators, with a decimal comma, or in hexadecimal without `0x`
- JSON (also as data frames), SQL, HTML, pairs of names and values, and tables as databases print
  them, in Markdown or in boxes
- lines with numbers, colours or the prefix of a log; lines with zero bytes, as a crash leaves them;
  cells in single quotes, or with `::` or `->` between them; output of `head` or `tail` for several
  files; lines that end with a carriage return only; text that is neither UTF-8 nor UTF-16
- logs that name operations, addresses and lengths, such as those of spdk_trace, LTTng, QEMU, SCSI,
  NVMe, UFS and MMC commands in ftrace, and calls of `pread64` and `pwrite64` on a device by strace
  or `perf trace`
- output of tools that record no requests

A file that consists only of numbers is read in the format that it fits, and a warning states the
assumed meaning of its columns and codes.

Every verb reads a Parquet file (`pip install pyarrow`) as such a table, by its column names. ssdlab
keeps a compressed CSV copy below `~/.cache/ssdlab/parquet` and writes it again when the file has
changed.

Requests must be in order of time. `--sort` (`workload.sort`) puts them in order with a stable merge
sort in at most 64 MiB of memory. Beyond a million requests, it needs a temporary file below
`TMPDIR`, with 40 bytes per request (80 beyond 67 million), which is removed however the program
ends. A clock that wrapped around, or joined recordings, show as a few long steps back in time and
cause a warning: split such a file at these steps. `workload.skip_bad` drops late requests like bad
lines. A trace that loses more than `workload.max_bad` of its lines (1 % by default) is refused. A
smaller loss is reported before all results, in `trace_lines` of the report and on the page.

`ssdlab trace convert FILE OUT --to FORMAT` converts a trace, in constant memory, to any of the
formats below that has a *written with* line. `ssdlab trace split FILE --out DIR` writes one file
per volume. The result has one volume, number 0, and its time 0 is `workload.from`. If the format
cannot represent a request, the conversion stops with the number of that request. With `--allow`, it
accepts and counts the loss. Convert a trace to `ssdtrace` if you read it repeatedly.

To add a format, write one file in `crates/ssd-trace/src/read/formats`, one line in the list of its
`mod.rs`, and one sample in `crates/ssd-trace/tests/suite/samples/mod.rs`. A format that is a table
needs only a constant mapping (`mapping/known.rs`).
"""
TRACE_INFO_HEAD = """# Trace statistics

`ssdlab trace info FILE [FILE2]`, and `ssdlab.Trace(path).info()` in Python. The names
are those of the JSON (`--json`). "The papers" are those of the presets: statistics that
they publish for their workloads are defined as in the papers.

Statistics describe the file as it is, before it is fitted to a device. Pages are
4 KiB. Memory: 16 bytes for each page of every 64 KiB area that the trace reads or
writes (and at most 4.2 of index, 6.2 while it grows), 16 bytes for each separate run of
discarded pages, and a constant for the rest; a trace that needs more than `--memory` is
refused."""
ANSWERS_HEAD = """# The decisions of each preset

One table per device, with the value of every decision in its presets. *decision* marks a value that
the source does not state; it can be changed like any other. The complete files, with
the source of each number, are in [Presets](../reference/presets.md), those of
[named drives](../drives.md) too. Apart from TRIM, no preset uses a mechanism that avoids writes."""
QUESTIONS = [
    ("when", "gc.trigger"),
    ("at the reserve", "gc.reserve"),
    ("which block", "gc.victim"),
    ("how many blocks", "gc.amount"),
    ("how many at once", "gc.concurrency"),
    ("over which path", "gc.path"),
    ("copies in flight", "gc.window"),
    ("what is blocked", "gc.blocking"),
    ("who goes first", "sched.order"),
    ("where writes go", "alloc.placement"),
    ("open blocks", "alloc.frontiers"),
    ("pool", "alloc.pool"),
    ("busy unit", "timing.busy_unit"),
    ("user capacity", "device.user_capacity"),
    ("fill", "precondition.fill"),
    ("overwrite", "precondition.overwrite"),
    ("arrival time factor", "workload.time_scale"),
]
REPORT_HEAD = """# Report fields

`report.json` in the folder of a run, `--json` on standard output, and `ssdlab.Report` in Python:
the same names, so `report.latency.read.p99` is `"latency": {"read": {"p99": ...}}`. In Python
`config` is an `ssdlab.Config`, and `series` the time series itself.

Integers are bytes, pages, blocks or nanoseconds; means and ratios are floating point; missing
values are null (None in Python)."""
PYTHON_HEAD = """# Python

What `import ssdlab` offers. The parts of a report are in [What a report holds](report.md), the
statistics of a trace in [Trace statistics](../trace-info.md), how policies are written in
[Policies in Python](../python-policies.md), and stores in [The store](../store.md)."""
WORDS_HEAD = """# Words of other tools

What keys of other tools, and terms of the field, are called here. A configuration or `--set` with
one of these words is refused; the message has the key, and the setting to paste where the value is
the same. Case, blanks, `-` and `_` do not count. `ssdlab list words` prints the same table.
"""
FIELDS_HEAD = "\n| field | unit | definition |\n|---|---|---|"
UNITS = {
    "duration": "ns",
    "size": "bytes",
    "bandwidth": "bytes/s",
    "rate": "1/s",
    "percent": "0 to 1",
    "ratio": "",
    "number": "",
}
BAR = "\\|"
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
    process = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    usage = r"\*\*Usage\*\*:\n\n```console\n\$ (.*)\n```"
    text = re.sub(usage, r"**Usage**: `\1`", process.stdout.strip())
    # Examples are commands, not text.
    text = re.sub(r"^(ssdlab .*)$", r"`\1`", text, flags=re.MULTILINE)
    return text.replace("# `ssdlab`", "# Command line", 1) + "\n"


def config() -> str:
    """Every configuration key and policy, from the tables that the program itself uses."""
    return _core.config_reference().strip() + "\n"


def presets() -> str:
    """Every preset as it is written, with the source of each number."""
    entries = json.loads(_core.registry())["presets"]
    parts = [f"## {p['name']}\n\n```toml\n{p['text'].strip()}\n```\n" for p in entries]
    return "\n".join(["# Presets\n", *parts])


def answers() -> str:
    """The decisions of the presets, side by side per device."""
    presets = json.loads(_core.registry())["presets"]
    unlisted_drives = [p for p in presets if not p["name"].startswith(DRIVE)]
    names = [p["name"] for p in unlisted_drives]
    answers_by_preset = {p["name"]: _answers(p["name"], p["text"]) for p in unlisted_drives}
    lines = [ANSWERS_HEAD]
    for name in names:
        if any(name.startswith(f"{candidate}-") for candidate in names):
            continue
        variants = [
            candidate
            for candidate in names
            if candidate == name or candidate.startswith(f"{name}-")
        ]
        lines += [
            f"\n## {name}\n",
            "| | " + " | ".join(f"`{variant}`" for variant in variants) + " |",
        ]
        lines.append("|---" * (len(variants) + 1) + "|")
        for question, key in QUESTIONS:
            row = [answers_by_preset[variant][key] for variant in variants]
            lines.append(f"| {question} (`{key}`) | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _answers(name: str, text: str) -> dict[str, str]:
    """Every key of a preset with its value as written, marked where it is a decision or default."""
    answer_of_key, table = {}, ""
    configuration = ssdlab.load_config(preset=name).toml()
    for line in [*configuration.splitlines(), *text.splitlines()]:
        if head := re.fullmatch(r"\[(\w+)\]", line):
            table = head[1]
        if assignment := re.fullmatch(r"(\w+) = (.+?)(?: +# (.+))?", line):
            mark = ", decision" if (assignment[3] or "default").startswith("decision") else ""
            mark = mark if assignment[3] else ", default"
            answer_of_key[f"{table}.{assignment[1]}"] = f"`{assignment[2]}`{mark}"
    return answer_of_key


def _classes(*modules: str) -> dict[str, ast.ClassDef]:
    """The classes of some modules of the package, by name."""
    trees = [ast.parse((PACKAGE / name).read_text(encoding="utf-8")) for name in modules]
    return {node.name: node for t in trees for node in t.body if isinstance(node, ast.ClassDef)}


def _told(node: ast.ClassDef | ast.FunctionDef) -> str:
    return ast.get_docstring(node) or ""


def _fields(body: list[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    """Name, type and definition of every field: the text below it."""
    for field, docstring in itertools.pairwise(body):
        match field, docstring:
            case ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str(text))):
                kind = ast.unparse(field.annotation)
                yield ast.unparse(field.target), kind, " ".join(text.split())


def _form(classes: dict[str, ast.ClassDef], root: str) -> list[str]:
    """A table for each class that `root` is made of."""
    # Breadth first from the whole, so that the parts come in the order of its fields.
    names, lines = [root], []
    for name in names:
        summary = " ".join(_told(classes[name]).split())
        lines += [f"\n## {name}\n", summary, "\n| field | definition and unit |", "|---|---|"]
        for field, kind, text in _fields(classes[name].body):
            lines.append(f"| `{field}` | {text} |")
            inner = [word for word in re.findall(r"\w+", kind) if word in classes]
            names += [word for word in inner if word not in names]
    return lines


def trace_info() -> str:
    """Every statistic of `ssdlab trace info`, from the texts below its fields."""
    lines = [TRACE_INFO_HEAD, *_form(_classes("traces/info.py"), "Info")]
    return "\n".join(lines) + "\n"


def report() -> str:
    """Every field of a report, from its declaration in the simulator."""
    lines = [REPORT_HEAD]
    for section in form.sections():
        summary = " ".join(section["doc"].split())
        lines += [f"\n## {section['name']}\n", summary, FIELDS_HEAD]
        for field in section["fields"]:
            unit, text = UNITS[field["unit"]], " ".join(field["doc"].split())
            lines.append(f"| `{field['name']}` | {unit} | {text} |")
    return "\n".join(lines) + "\n"


def python() -> str:
    """Everything in `__all__` of `ssdlab` and of its parts, as it describes itself."""
    lines = [PYTHON_HEAD]
    for module in (ssdlab, ssdlab.policy, ssdlab.kv, ssdlab.sqlite):
        lines += [f"\n## {module.__name__}\n", inspect.getdoc(module) or ""]
        for name in sorted(module.__all__, key=lambda name: (name[0].isupper(), name)):
            member = getattr(module, name)
            if hasattr(member, "__module__"):
                lines += _described(f"{module.__name__}.{name}", _definition(member))
    return "\n".join(lines) + "\n"


def _definition(member: type | Callable[..., object]) -> ast.ClassDef | ast.FunctionDef:
    """Where a class or a function of the package is defined."""
    file = PACKAGE / member.__module__.removeprefix("ssdlab.").replace(".", "/")
    file = next(f for f in (file.with_suffix(".py"), file.with_suffix(".pyi")) if f.exists())
    # Overloads come before the definition.
    for node in reversed(ast.parse(file.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == member.__name__:
            return node
    raise SystemExit(f"{file}: no {member.__name__}")


def _described(name: str, node: ast.ClassDef | ast.FunctionDef) -> list[str]:
    """A function, or a class with its fields and methods."""
    if isinstance(node, ast.FunctionDef):
        return [f"\n### {name}\n", _signature(node), "", _told(node)]
    lines = [f"\n### {name}\n", _told(node)]
    methods = [*_methods(node), *_methods_of_rows(node)]
    properties = [
        method
        for method in methods
        if "property" in "".join(map(ast.unparse, method.decorator_list))
    ]
    rows = [*_inherited(node), *_fields(node.body)]
    for method in properties:
        kind = ast.unparse(method.returns) if method.returns else ""
        rows.append((method.name, kind, " ".join(_told(method).split())))
    if rows:
        lines += ["\n| attribute | type | meaning |", "|---|---|---|"]
        lines += [f"| `{a}` | `{kind.replace('|', BAR)}` | {text} |" for a, kind, text in rows]
    for method in methods:
        if method not in properties:
            owner = f"{node.name}." if method.decorator_list else ""
            lines += ["", _signature(method, owner), "", _told(method)]
    return lines


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    methods = [node_ for node_ in node.body if isinstance(node_, ast.FunctionDef) and _told(node_)]
    return [method for method in methods if not method.name.startswith("_")]


def _methods_of_rows(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """The methods that a class has because its results are rows."""
    classes = _classes("results/frames.py")
    for base in map(ast.unparse, node.bases):
        if base in classes:
            yield from (method for method in _methods(classes[base]) if not method.decorator_list)


def _inherited(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """The fields that a class has from the declared parts of a report."""
    classes = _classes("results/measures.py")
    for base in node.bases:
        module, _, name = ast.unparse(base).rpartition(".")
        if module == "measures":
            yield from _fields(classes[name].body)


def _signature(node: ast.FunctionDef, owner: str = "") -> str:
    """How a function is called, without `self`; after its class, if it is a static method."""
    words = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
    # unparse leaves no blanks around `=`, even behind a type.
    parts = [re.sub(r"^(\w+: [^=]+)=", r"\1 = ", part) for part in _split(words)]
    annotation_of_return = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = ", ".join(parts)
    if len(arguments) > 80:
        arguments = "\n" + "".join(f"    {part},\n" for part in parts)
    return f"```py\n{owner}{node.name}({arguments}){annotation_of_return}\n```"


def _split(words: str) -> list[str]:
    """Arguments at the commas that are in no bracket."""
    parts, depth = [""], 0
    for letter in words:
        depth += (letter in "[(") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def formats() -> str:
    """Every trace format, as its plug describes itself."""
    parts = [FORMATS_HEAD]
    registry = json.loads(_core.registry())
    carries = {target["name"]: target["carries"] for target in registry["targets"]}
    for f in registry["formats"]:
        rows = ["| | |", "|---|---|"]
        rows += [
            f"| {label} | {f[key].replace('|', chr(92) + '|')} |" for key, label in FORMAT_ROWS
        ]
        if f["name"] in carries:
            rows.append(f"| written with | {carries[f['name']]} |")
        parts.append(f"## {f['name']}\n\n{f['summary']}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def words() -> str:
    """Words of other tools, from the table that messages and completions use."""
    parts = [WORDS_HEAD]
    for tool, terms in json.loads(_core.registry())["words"].items():
        rows = ["| word | here |", "|---|---|"]
        for term in terms:
            spellings = ", ".join(f"`{word}`" for word in term["spellings"])
            key, colon, note = term["summary"].partition(": ") if term["key"] else ("", "", "")
            meaning = f"`{key}`{colon}{note}" if key else f"no key: {term['summary']}"
            rows.append(f"| {spellings} | {meaning.replace('|', BAR)} |")
        parts.append(f"## {tool}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


FIO_HEAD = """# Job files of fio

`workload.job = "a.fio"` (`--set workload.job=a.fio`, `ssdlab trace generate a.fio`) runs a job file
of fio on the simulated device. Every option is of one of three classes: *modelled* has its effect;
*host* concerns the host, fio's files or its output, is ignored, and is listed in one warning;
*refused* would change what the device sees and is not simulated. A refused option that is 0 asks
for nothing. The list is that of fio 3.33 with its engines for block devices; an option that is not
in it is an error with the nearest right name.

Jobs reach the device as fio's loop submits them: each instance of a job has its own depth, rates,
pauses and end, and begins after the jobs that it waits for (`stonewall`, `wait_for`). Times are
those of the device. What a manual does not say was taken from fio 3.33 as it runs:

- Rounds of a job (`loops`, or more `io_size` than `size`) repeat the requests of the first one in
  the same order, unless `randrepeat=0`. That costs a device little collection. Under `time_based`
  the order is new each time, except with `random_generator=lfsr`.
- `k`, `m` and `g` are powers of 1024, `kib`, `mib` and `gib` powers of 1000, unless `kb_base=1000`.
- `bssplit` overrides `bsrange`, and `bsrange` overrides `bs`, whatever their order. If percentages
  add up to less than 100, the rest goes to the most frequent size.
- A rate of requests (`rate_iops`) counts requests of the smallest size. A job that is ahead of its
  rate waits for all that is outstanding, unless `io_submit_mode=offload`. With that, latencies
  count from when a request was due by its rate, at the earliest from the last arrival of any job.
- If only one direction of a mix has a rate, the other direction takes its turn when it is ahead.
- A file without a name follows the previous file on the device; a single named file is the whole
  device. `direct` and the page cache make no difference: requests reach the device.

A job that ends by the clock alone has no end on a device without time: `run.mode = "functional"`
and `trace generate` refuse it.
"""


def fio() -> str:
    """What becomes of every option of fio."""
    registry = json.loads(_core.registry())
    parts = [FIO_HEAD]
    heads = {
        "modelled": "## Modelled\n",
        "host": "## Host: ignored\n",
    }
    for option_class, head in heads.items():
        of_class = [
            option_ for option_ in registry["fio_options"] if option_["class"] == option_class
        ]
        names = (
            f"`{option_['name']}`" + (f" (`{option_['alias']}`)" if option_["alias"] else "")
            for option_ in of_class
        )
        parts.append(f"{head}\n{', '.join(names)}.\n")
    parts.append("## Refused\n")
    reasons: dict[str, list[str]] = {}
    for option in registry["fio_options"]:
        if option["class"] == "refused":
            reasons.setdefault(option["why"], []).append(f"`{option['name']}`")
    rows = [f"| {', '.join(names)} | {reason} |" for reason, names in reasons.items()]
    parts.append("\n".join(["| options | why |", "|---|---|", *rows]) + "\n")
    parts.append("## Engines without a block device\n\nA job with one of them is refused.\n")
    engines: dict[str, list[str]] = {}
    for name, reason in registry["fio_engines"]:
        engines.setdefault(reason, []).append(f"`{name}`")
    rows = [f"| {', '.join(names)} | {reason} |" for reason, names in engines.items()]
    parts.append("\n".join(["| engines | why |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/config.md": config,
    "docs/reference/presets.md": presets,
    "docs/papers/presets.md": answers,
    "docs/formats.md": formats,
    "docs/fio.md": fio,
    "docs/reference/command-line.md": command_line,
    "docs/reference/words.md": words,
    "docs/reference/python.md": python,
    "docs/reference/report.md": report,
    "docs/trace-info.md": trace_info,
    "docs/mutants.md": mutants.text,
    "python/ssdlab/results/measures.py": report_types.module,
    "packaging/data/share/man/man1/ssdlab.1": manual.manual,
}


def main() -> int:
    """Write or check all pages; 1 if a page is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a stale page")
    check = parser.parse_args().check
    is_stale = False
    for name, text in PAGES.items():
        path = ROOT / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        new_text = HEAD + text() if path.suffix == ".md" else text()
        if old == new_text:
            continue
        is_stale = True
        if check:
            lines = difflib.unified_diff(
                old.splitlines(), new_text.splitlines(), name, "new", lineterm=""
            )
            sys.stdout.write("\n".join(lines) + "\n")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new_text, encoding="utf-8")
        sys.stdout.write(f"wrote {name}\n")
    if check and is_stale:
        sys.stderr.write("generated pages are stale: run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
