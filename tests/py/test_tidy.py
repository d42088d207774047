"""House rules that no compiler checks: arrows, bans, sources, sizes, leftovers, links.

Every rule is a function that returns its complaints, so that one run shows them all, and every rule
that reads text is tried on a text that breaks it (`test_rules_bite`).
"""

import ast
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from rust_paths import code_of, crate_paths, line_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
CORE = "crates/ssd-core/src"
KV = "crates/ssd-kv/src"

# ---------------------------------------------------------------- what there is


def _ignored() -> list[str]:
    return [line.strip("/") for line in (ROOT / ".gitignore").read_text().split() if line]


def _all_files() -> Iterator[str]:
    """Every file that is ours, as a path below ROOT: what .gitignore names is not."""
    skip = [".git", *_ignored()]
    for folder, folders, files in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        folders[:] = [f for f in folders if not any(fnmatch(f, s) for s in skip)]
        yield from ((here / f).as_posix() for f in files if not any(fnmatch(f, s) for s in skip))


FILES = sorted(_all_files())


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _named(*patterns: str) -> list[str]:
    return [f for f in FILES if any(fnmatch(f, p) for p in patterns)]


RUST = _named("*.rs")
PYTHON = _named("*.py", "*.pyi")
CODE = [*RUST, *PYTHON, "Makefile"]
TEXT = [
    *CODE,
    *_named("*.md", "*.css", "*.js", "*.toml", "*.lock", ".ci/*", ".gitignore", "LICENSE-*"),
]


# ---------------------------------------------------------------- arrows between crates

CRATE_ARROWS = {
    "ssd-core": set[str](),
    "ssd-trace": {"ssd-core"},
    "ssd-kv": {"ssd-core"},
    "ssd-run": {"ssd-core", "ssd-trace"},
    "ssd-host": {"ssd-core", "ssd-trace", "ssd-kv", "ssd-run"},
    "ssd-serve": {"ssd-core", "ssd-trace", "ssd-run"},
    "ssd-py": {"ssd-core", "ssd-trace", "ssd-kv", "ssd-run", "ssd-host", "ssd-serve"},
}


def _crate_complaints() -> Iterator[str]:
    for manifest in _named("crates/*/Cargo.toml"):
        text = tomllib.loads(_read(manifest))
        name = text["package"]["name"]
        if name not in CRATE_ARROWS:
            yield f"{manifest}: crate {name} is not in CRATE_ARROWS"
            continue
        kinds = ["dependencies", "dev-dependencies", "build-dependencies"]
        used = {crate for kind in kinds for crate in text.get(kind, {})} & set(CRATE_ARROWS)
        for crate in sorted(used - CRATE_ARROWS[name]):
            yield f"{manifest}: {name} must not depend on {crate}"


# ---------------------------------------------------------------- arrows inside ssd-trace

TRACE = "crates/ssd-trace/src"
# Module tree of ssd-trace -> what its `crate::` paths may begin with. Itself always.
TRACE_ARROWS = {
    # Words of `workload.format` are those of formats, requests of a stand-in those of its week.
    "config": {"read::formats", "week"},
    "read": {"device", "config"},
    "generate": {"device", "config", "read", "papers", "week"},
    "write": {"config", "read"},
    "snapshots": {"write"},
    "device": set[str](),
    "papers": set[str](),
    "week": {"papers"},
    "whole_pages": set[str](),
}


def _trace_complaints(name: str, text: str) -> Iterator[str]:
    module = name.removeprefix(TRACE + "/").removesuffix(".rs").split("/")[0]
    if not name.startswith(TRACE + "/") or module == "lib":
        return
    if module not in TRACE_ARROWS:
        yield f"{name}: module {module} is not in TRACE_ARROWS"
        return
    for line, path in crate_paths(text):
        if not any(_begins(path, prefix) for prefix in {module, "cases", *TRACE_ARROWS[module]}):
            yield f"{name}:{line}: {module} must not use crate::{path}"


# ---------------------------------------------------------------- arrows inside ssd-core

BASE = {"units", "rng", "plug", "memory", "id_set"}
# Module of ssd-core -> what its `crate::` paths may begin with. Itself always.
MODULE_ARROWS = {
    **dict.fromkeys(BASE, BASE),
    # Geometry and timing are computed from the resolved config.
    "nand": BASE | {"config"},
    # The registries of policies: names, parameters and defaults live in the policy files.
    "config": BASE
    | {"ftl::gc", "ftl::place", "ftl::raid::redirect", "ftl::separation", "sched::order"},
    "ftl": BASE | {"nand", "config"},
    "sched": BASE | {"config"},
    # What a request is: its words count and time by it.
    "metrics": BASE | {"host::request"},
    "host": BASE | {"config"},
    "sim": BASE | {"nand", "config", "ftl", "sched", "metrics", "host"},
    # Drivers feed a device through the Device trait in `host`; the device knows none of them.
    "drivers": BASE | {"config", "host", "metrics"},
    # The driver of the functional machine: the only module above the device and its drivers.
    "functional_run": BASE | {"config", "ftl", "metrics", "host", "sim", "drivers"},
}
DRIVERS = ("drivers", "host::drive")


def _begins(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix + "::")


def _arrow_complaints(name: str, text: str) -> Iterator[str]:
    module = name.removeprefix(CORE + "/").removesuffix(".rs").split("/")[0]
    if not name.startswith(CORE) or module == "lib":
        return
    if module not in MODULE_ARROWS:
        yield f"{name}: module {module} is not in MODULE_ARROWS"
        return
    for line, path in crate_paths(text):
        # `cases` is what property tests draw from.
        allowed = {module, "cases", *MODULE_ARROWS[module]}
        upwards = module == "sim" and any(_begins(path, driver) for driver in DRIVERS)
        if upwards or not any(_begins(path, prefix) for prefix in allowed):
            yield f"{name}:{line}: {module} must not use crate::{path}"


# ---------------------------------------------------------------- stages of the configuration

CONFIG = f"{CORE}/config"
# A stage uses those before it, never what stands beside it or after it.
CONFIG_STAGES = [
    {"text", "words"},
    {"draft"},
    {"keys"},
    {"tables", "presets"},
    {"checks"},
    {"terms"},
    {"composed"},
    {"load", "print", "reference", "schema"},
]


def _paths_within(module: str, name: str, text: str) -> Iterator[tuple[int, str]]:
    """What a file of `module`, at the root of the crate, uses of that module, with its line."""
    for line, path in crate_paths(text):
        if _begins(path, module):
            yield line, path.removeprefix(module).removeprefix("::")
    here = Path(name).relative_to(f"{CORE}/{module}").with_suffix("").parts
    here = here[:-1] if here[-1] == "mod" else here
    code = code_of(text)
    for found in re.finditer(r"\b((?:super::)+)([\w:]*)", code):
        above = found[1].count("super")
        if above == len(here):
            yield line_of(code, found.start()), found[2]


def _stage_complaints(name: str, text: str) -> Iterator[str]:
    if not name.startswith(f"{CONFIG}/") or name == f"{CONFIG}/mod.rs":
        return
    own = name.removeprefix(f"{CONFIG}/").removesuffix(".rs").split("/")[0]
    at = next((i for i, stage in enumerate(CONFIG_STAGES) if own in stage), None)
    if at is None:
        yield f"{name}: {own} is not in CONFIG_STAGES"
        return
    allowed = {own}.union(*CONFIG_STAGES[:at])
    for line, path in _paths_within("config", name, text):
        if path.split("::")[0] not in allowed:
            yield f"{name}:{line}: {own} must not use config::{path}, which is no earlier stage"


# Part of the timed machine, the core of all, or a feature -> what it may use of `sim`. None of them
# knows the machine, and the core knows no feature.
SIM = f"{CORE}/sim"
SIM_PARTS: dict[str, set[str]] = {
    "join": set(),
    "array": set(),
    "front": {"join"},
    "collector": {"array", "join"},
    "ledger": {"front"},
    "core": {"array", "front", "collector", "ledger"},
    "contents": {"array", "front", "core"},
    "copies": {"array", "front", "core"},
    "logs": {"array", "front", "core"},
}


def _part_complaints(name: str, text: str) -> Iterator[str]:
    part = name.removeprefix(f"{SIM}/").removesuffix(".rs").split("/")[0]
    if not name.startswith(f"{SIM}/") or part not in SIM_PARTS:
        return
    code = text.partition("#[cfg(test)]\nmod tests")[0]
    for line, path in _paths_within("sim", name, code):
        if path.split("::")[0] not in {part, *SIM_PARTS[part]}:
            yield f"{name}:{line}: {part} must not use sim::{path}"


# ---------------------------------------------------------------- arrows inside the Python packages

PACKAGE = "python/ssdlab"
# Everything at the top of the package; it may import what stands above it in this list, in
# functions and for types, too. So there is no cycle between them.
PACKAGES = [
    "errors",
    "versions",
    "display",
    "config",
    "results",
    "policy",
    "traces",
    "store",
    "html",
    "export",
    "running",
    "searching",
    "fleets",
    "kv",
    "sqlite",
    "drives",
    "ssdlab",  # __init__.py, the public interface: those below it use the package as anybody does.
    "cli",
    "__main__",
]
LAB = "lab/ssdlab_lab"
# The same of the lab, which may use all of ssdlab.
LAB_PACKAGES = ["ssdlab_lab", "oracles", "kv", "bench", "reproduce", "validation", "cli"]
FLAT = {"__init__", "__main__", "errors", "policy", "versions"}
# An error carries the results so far: for type checkers only.
FOR_TYPES = {("errors", "results"), ("errors", "fleets")}


def _python_uses(here: list[str], tree: ast.AST) -> Iterator[tuple[ast.AST, list[str]]]:
    """The modules that a module in the package `here` uses, each as its parts."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                used = [one.name for one in node.names]
            case ast.ImportFrom():
                above = here[: len(here) - node.level + 1] if node.level else []
                module = [*above, *filter(None, [node.module])]
                used = [".".join([*module, one.name]) for one in node.names]
            case ast.Attribute(value=ast.Name(id="ssdlab")):
                used = [f"ssdlab.{node.attr}"]
            case ast.Constant(value=str(text)) if re.fullmatch(r"ssdlab(_lab)?(\.\w+)+\.?", text):
                used = [text]  # of import_module, importlib.resources, `python -m`
            case _:
                continue
        yield from ((node, one.split(".")) for one in used)


def _package_complaints(name: str, text: str) -> Iterator[str]:
    root = next((one for one in (PACKAGE, LAB) if name.startswith(f"{one}/")), None)
    if root is None or not name.endswith(".py"):
        return
    package, packages = Path(root).name, PACKAGES if root == PACKAGE else LAB_PACKAGES
    first, *rest = Path(name).relative_to(root).with_suffix("").parts
    if not rest and first not in FLAT:
        yield f"{name}: a flat module: it belongs in a package"
        return
    own = package if first == "__init__" else first
    if own not in packages:
        yield f"{name}: {own} is not among the packages of {package}"
        return
    allowed = packages[: packages.index(own) + 1]
    tree = ast.parse(text)
    guarded = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    for_types = {id(inner) for node in guarded for inner in ast.walk(node)}
    here = [package, *Path(name).relative_to(root).parts[:-1]]
    for node, (used, *parts) in _python_uses(here, tree):
        line = getattr(node, "lineno", 0)
        if used == "ssdlab_lab" and root == PACKAGE:
            yield f"{name}:{line}: ssdlab must not use its lab"
        part = parts[0] if parts else ""
        if used != package or part == "_core":
            continue
        part = part if part in packages else package
        known = (own, part) in FOR_TYPES and id(node) in for_types
        if part not in allowed and not known:
            yield f"{name}:{line}: {own} must not use {part}, which stands below it"


# ---------------------------------------------------------------- bans

FORBIDDEN_STD = "fs|net|thread|env|process|time|io"
FLOAT_METHODS = "ln|ln_1p|log|log2|log10|exp|exp2|exp_m1|powf|sin|cos|tan|tanh|cbrt"
BANS = {
    rf"\bstd::(?:{FORBIDDEN_STD})\b": "the core does no I/O and reads no clock or environment",
    rf"\bstd::\{{[^;]*\b(?:{FORBIDDEN_STD})\b": "the core does no I/O and reads no environment",
    rf"\.(?:{FLOAT_METHODS})\(": "platform-dependent: use libm",
    rf"\bf(?:32|64)::(?:{FLOAT_METHODS})\b": "platform-dependent: use libm",
}
# What the store asks of the world goes through its file layer; there is one file that asks it.
KV_BANS = {
    r"\bstd::(?:fs|net|thread|env|process|time)\b": "the store asks the world through vfs only",
    r"\bstd::\{[^;]*\b(?:fs|net|thread|env|process|time)\b": "the store asks through vfs only",
}
KV_WORLD = f"{KV}/vfs/posix.rs"
# Hints to the machine; a file as memory, a record lock. Nowhere else.
UNSAFE_HOMES = (
    f"{CORE}/memory.rs",
    "crates/ssd-trace/src/read/columnar/mapping.rs",
    f"{KV}/vfs/region.rs",
)


def _ban_complaints(name: str, text: str) -> Iterator[str]:
    code = code_of(text)
    if name not in UNSAFE_HOMES:
        for found in re.finditer(r"\bunsafe\b", code):
            yield f"{name}:{line_of(code, found.start())}: unsafe belongs in {UNSAFE_HOMES[0]}"
    bans = BANS if name.startswith(CORE) else {}
    if name.startswith(KV) and name != KV_WORLD:
        bans = KV_BANS
    for pattern, reason in bans.items():
        for found in re.finditer(pattern, code):
            yield f"{name}:{line_of(code, found.start())}: {found[0]}: {reason}"


# ---------------------------------------------------------------- seeds of tests

SEEDS_HOME = "crates/cases.rs"
FRESH_SEEDS = {
    ".rs": r"\bProptestConfig\b|\bTestRunner::(?!new\(cases\(|deterministic\()\w+\("
    r"|\bproptest! \{(?!\s*#!\[proptest_config\(cases\()",
    ".py": r"\bRandom\(\)|\bdefault_rng\(\)|(?<![.\w])random\.(?!Random\b)[a-z]\w*\(",
}


def _seed_complaints(name: str, text: str) -> Iterator[str]:
    suffix = Path(name).suffix
    code = code_of(text) if suffix == ".rs" else text
    fresh = [] if name == SEEDS_HOME else re.finditer(FRESH_SEEDS[suffix], code)
    for found in fresh:
        where = f"{name}:{line_of(code, found.start())}: {found[0]}"
        yield f"{where}: a test that draws a fresh seed ({SEEDS_HOME} says how to draw)"


# ---------------------------------------------------------------- plugs

PLUG_FOLDERS = [
    f"{CORE}/ftl/gc/victim",
    f"{CORE}/ftl/gc/trigger",
    f"{CORE}/ftl/gc/concurrency",
    f"{CORE}/ftl/place",
    f"{CORE}/ftl/raid/redirect",
    f"{CORE}/ftl/separation",
    f"{CORE}/sched/order",
    "crates/ssd-trace/src/read/formats",
]


def _is_plug(name: str, text: str) -> bool:
    """Whether it is the file of a plug; the others of these folders are shared by plugs."""
    folder, _, file = name.rpartition("/")
    described = "PolicyInfo" in text or "const INFO: FormatInfo" in text
    return folder in PLUG_FOLDERS and file != "mod.rs" and described


def _plug_complaints(name: str, text: str) -> Iterator[str]:
    if not _is_plug(name, text):
        return
    head = re.match(r"(?://![^\n]*\n)*", text)
    lines = head[0].splitlines() if head else []
    if not any(re.match(r"//! (Paper|Source): \S", line) for line in lines):
        yield f"{name}: its head names no source (`//! Paper: ...` or `//! Source: ...`)"
    if not re.search(r"\bsilent\b|\b[Dd]ecided\b", "\n".join(lines)):
        yield f"{name}: its head does not say where the source is silent and what was decided"


def _registry_complaints() -> Iterator[str]:
    """Every plug file stands in the macro line list of its folder, and the list is sorted."""
    for folder in PLUG_FOLDERS:
        inside = [f for f in RUST if f.rpartition("/")[0] == folder]
        plugs = {Path(f).stem for f in inside if _is_plug(f, _read(f))}
        if not plugs:
            continue
        listed = re.findall(r"^ +(\w+) [A-Z]\w*,$", _read(f"{folder}/mod.rs"), flags=re.MULTILINE)
        if listed != sorted(listed):
            yield f"{folder}/mod.rs: the list of policies is not sorted"
        for plug in sorted(plugs - set(listed)):
            yield f"{folder}/{plug}.rs: not in the list of {folder}/mod.rs"


# ---------------------------------------------------------------- sizes and names

MAX_FILE_LINES, MAX_LINE, MAX_FUNCTION_LINES = 800, 120, 70
MAX_SOURCE_LINES = 500
"""Of a file of a crate, its tests apart."""
GENERATED = {"python/ssdlab/results/measures.py"}
"""As long as what it is written from, which is in files of the sizes above."""
MAX_BYTES = 4 << 20
BAD_NAMES = {"utils", "util", "common", "misc", "v2", "old", "priv", "helpers"}


def _size_complaints(name: str, text: str) -> Iterator[str]:
    lines = text.split("\n")
    is_source = fnmatch(name, "crates/*/src/*.rs")
    most = MAX_SOURCE_LINES if is_source else MAX_FILE_LINES
    if len(lines) > most + 1 and name not in GENERATED:
        yield f"{name}: {len(lines)} lines, at most {most}"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            yield f"{name}:{number}: {len(line)} columns, at most {MAX_LINE}"
    if name.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MAX_FUNCTION_LINES:
                    where = f"{name}:{node.lineno}: {node.name}"
                    yield f"{where} has {length} lines, at most {MAX_FUNCTION_LINES}"


def _name_complaints(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        for part in Path(name).parts:
            if part.split(".")[0].lower() in BAD_NAMES:
                yield f"{name}: {part} says nothing about what is in it"


def _weight_complaints() -> Iterator[str]:
    for name in FILES:
        file = ROOT / name
        if not name.startswith("traces/") and file.stat().st_size > MAX_BYTES:
            yield f"{name}: {file.stat().st_size} bytes, at most {MAX_BYTES} outside traces/"
        with file.open("rb") as content:
            script = content.read(2) == b"#!"
        if script != bool(file.stat().st_mode & 0o100):
            yield f"{name}: executable if and only if it begins with #!"


# ---------------------------------------------------------------- leftovers

# Spelt in halves, so that this file does not contain what it forbids.
LEFTOVERS = {
    r"\b(?:to" r"do|unimpl" r"emented|d" r"bg)!": "unfinished code",
    r"\b(?:FIX" r"ME|XX" r"X|TO" r"DO)\b": "unfinished work: finish it or write down why not",
    r"^(?:<{7}|>{7}|={7})(?: |$)": "merge conflict",
    r"(?<![\w.:/<-])/(?:ro" r"ot|ho" r"me|Us" r"ers|wo" r"rk|o" r"pt)/": "a path of one machine",
    r"[ \t]+$": "blanks at the end of a line",
}


def _leftover_complaints(name: str, text: str) -> Iterator[str]:
    for pattern, reason in LEFTOVERS.items():
        for found in re.finditer(pattern, text, flags=re.MULTILINE):
            yield f"{name}:{line_of(text, found.start())}: {found[0]!r}: {reason}"
    if "\t" in text and name != "Makefile":
        yield f"{name}:{line_of(text, text.index(chr(9)))}: a tab"
    if text and not text.endswith("\n"):
        yield f"{name}: no newline at the end"


# ---------------------------------------------------------------- documents


def _anchors(markdown: str) -> set[str]:
    """The anchors of a page's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ +(.+?) *$", _prose(markdown), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", h.lower()) for h in headings)
    return {h.replace(" ", "-") for h in plain}


def _prose(markdown: str) -> str:
    """A page without its code blocks and its code in lines."""
    blocks = re.sub(r"^ *```.*?^ *```", "", markdown, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", blocks)


def _link_complaints(name: str, text: str) -> Iterator[str]:
    if not name.endswith(".md"):
        return
    for target in re.findall(r"\]\(<?([^)\s>]+)", _prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        if not file.exists():
            yield f"{name}: link to {target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in _anchors(file.read_text("utf-8")):
            yield f"{name}: link to {target}: no such heading"


ADR_PARTS = ["## Context", "## Decision", "## Consequences", "## What would change our mind"]


def _adr_complaints() -> Iterator[str]:
    pages = _named("docs/adr/*.md")
    for expected, page in enumerate(pages, 1):
        number = re.match(r"docs/adr/(\d{4})-[a-z0-9-]+\.md$", page)
        if not number or int(number[1]) != expected:
            yield f"{page}: expected number {expected:04}: no gaps, none used twice"
            continue
        text = _read(page)
        if not text.startswith(f"# {number[1]}. "):
            yield f"{page}: its title does not begin with `# {number[1]}. `"
        if [line for line in text.splitlines() if line.startswith("## ")] != ADR_PARTS:
            yield f"{page}: its parts are not {', '.join(ADR_PARTS)}"


# ---------------------------------------------------------------- the tests

Rule = Callable[[str, str], Iterator[str]]
TEXT_RULES: list[tuple[Rule, list[str]]] = [
    (_arrow_complaints, RUST),
    (_part_complaints, RUST),
    (_stage_complaints, RUST),
    (_package_complaints, PYTHON),
    (_trace_complaints, RUST),
    (_ban_complaints, RUST),
    (_seed_complaints, [*RUST, *_named("tests/*.py")]),
    (_plug_complaints, RUST),
    (_size_complaints, [*CODE, *_named("*.css", "*.js")]),
    (_leftover_complaints, TEXT),
    (_link_complaints, TEXT),
]
FILE_RULES = [
    _crate_complaints,
    _registry_complaints,
    _weight_complaints,
    _adr_complaints,
]


def _title(rule: Callable[..., Iterator[str]]) -> str:
    return rule.__name__.strip("_").removesuffix("_complaints")


@pytest.mark.parametrize(
    ("rule", "names"), TEXT_RULES, ids=lambda r: _title(r) if callable(r) else ""
)
def test_text(rule: Rule, names: list[str]) -> None:
    found = [complaint for name in names for complaint in rule(name, _read(name))]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("rule", FILE_RULES, ids=_title)
def test_files(rule: Callable[[], Iterator[str]]) -> None:
    found = list(rule())
    assert not found, "\n" + "\n".join(found)


def test_names() -> None:
    assert not list(_name_complaints(FILES))


PLUG = f"{CORE}/ftl/gc/victim/p.rs"
INFO = "pub const INFO: PolicyInfo = PolicyInfo {};\n"
BREAKS: list[tuple[Rule, str, str]] = [
    (_arrow_complaints, f"{CORE}/nand/a.rs", "use crate::ftl::blocks::BlockTable;"),
    (_arrow_complaints, f"{CORE}/nand/a.rs", "use crate::{\n    sim::Ssd,\n    units::Lpn,\n};"),
    (_arrow_complaints, f"{CORE}/sched/a.rs", "fn f() { crate::nand::start(); }"),
    (_arrow_complaints, f"{CORE}/sched/order/a.rs", "use crate::ftl::place::ALL;"),
    (_arrow_complaints, f"{CORE}/ftl/a.rs", "pub use crate::sched::Order as Sequence;"),
    (_arrow_complaints, f"{CORE}/config/a.rs", "use crate::ftl::blocks::BlockTable;"),
    (_arrow_complaints, f"{CORE}/units.rs", "use crate::config::Config;"),
    (_arrow_complaints, f"{CORE}/sim/a.rs", "use crate::drivers::replay;"),
    (_arrow_complaints, f"{CORE}/novel.rs", ""),
    (_stage_complaints, f"{CONFIG}/novel.rs", ""),
    (_stage_complaints, f"{CONFIG}/draft.rs", "use super::keys::Key;"),
    (_stage_complaints, f"{CONFIG}/load.rs", "use super::print::shown;"),
    (_stage_complaints, f"{CONFIG}/tables/words/a.rs", "use super::super::super::load::load;"),
    (_stage_complaints, f"{CONFIG}/keys/mod.rs", "use crate::config::{text, checks};"),
    (_stage_complaints, f"{CONFIG}/text/a.rs", "use crate::config::Config;"),
    (_part_complaints, f"{SIM}/array/bus.rs", "use super::super::ssd::Ssd;"),
    (_part_complaints, f"{SIM}/front/mod.rs", "use super::array::Array;"),
    (_part_complaints, f"{SIM}/ledger/mod.rs", "use crate::sim::collector::Collector;"),
    (_part_complaints, f"{SIM}/core.rs", "use super::raid::Raid;"),
    (_part_complaints, f"{SIM}/core.rs", "use super::contents::Contents;"),
    (_part_complaints, f"{SIM}/contents/mod.rs", "use crate::sim::ssd::Ssd;"),
    (_part_complaints, f"{SIM}/copies/mod.rs", "use crate::sim::ssd::Ssd;"),
    (_part_complaints, f"{SIM}/logs/mod.rs", "use crate::sim::ssd::Ssd;"),
    (_package_complaints, f"{PACKAGE}/novel.py", ""),
    (_package_complaints, f"{PACKAGE}/results.py", ""),
    (_package_complaints, f"{PACKAGE}/novel/a.py", ""),
    (_package_complaints, f"{PACKAGE}/results/a.py", "from ssdlab.running import simulate"),
    (_package_complaints, f"{PACKAGE}/results/a.py", "from ssdlab import html"),
    (_package_complaints, f"{PACKAGE}/results/a.py", "from ..html.svg import draw"),
    (_package_complaints, f"{PACKAGE}/results/a.py", "def f():\n    import ssdlab.cli"),
    (_package_complaints, f"{PACKAGE}/results/a.py", "from ssdlab import run"),
    (_package_complaints, f"{PACKAGE}/results/a.py", "import_module('ssdlab.html.svg')"),
    (_package_complaints, f"{PACKAGE}/drives/a.py", "import ssdlab\nssdlab.cli.main()"),
    (_package_complaints, f"{PACKAGE}/__init__.py", "from ssdlab.cli import main"),
    (
        _package_complaints,
        f"{PACKAGE}/cli/a.py",
        "def f():\n    from ssdlab_lab.bench import cases",
    ),
    (_package_complaints, f"{PACKAGE}/cli/a.py", "import_module('ssdlab_lab.bench')"),
    (_package_complaints, f"{LAB}/novel/a.py", ""),
    (_package_complaints, f"{LAB}/bench/a.py", "from ssdlab_lab.reproduce import PAPERS"),
    (_package_complaints, f"{LAB}/bench/a.py", "from ..cli import examples"),
    (_package_complaints, f"{PACKAGE}/errors.py", "from ssdlab.results.report import Report"),
    (_package_complaints, f"{PACKAGE}/kv/a.py", "if TYPE_CHECKING:\n    import ssdlab.sqlite"),
    (_trace_complaints, f"{TRACE}/read/scan.rs", "use crate::generate::synthetic::Synthetic;"),
    (_trace_complaints, f"{TRACE}/read/scan.rs", "use crate::write::convert;"),
    (_trace_complaints, f"{TRACE}/read/scan.rs", "use crate::Synthetic;"),
    (_trace_complaints, f"{TRACE}/generate/a.rs", "use crate::write::convert;"),
    (_trace_complaints, f"{TRACE}/novel.rs", ""),
    (_ban_complaints, f"{CORE}/sim/a.rs", "use std::fs::File;"),
    (_ban_complaints, f"{CORE}/sim/a.rs", "use std::{cmp, thread};"),
    (_ban_complaints, f"{CORE}/sim/a.rs", "let y = x.ln();"),
    (_ban_complaints, f"{CORE}/sim/a.rs", "let y = f64::exp(x);"),
    (_ban_complaints, f"{CORE}/sim/a.rs", "unsafe { f() }"),
    (_ban_complaints, "crates/ssd-trace/src/lib.rs", "unsafe { f() }"),
    (_ban_complaints, f"{KV}/db/a.rs", "use std::fs::File;"),
    (_ban_complaints, f"{KV}/db/a.rs", "use std::{io, time};"),
    (_seed_complaints, "a.rs", "proptest! {\n    #[test]\n}"),
    (_seed_complaints, "a.rs", "ProptestConfig::with_cases(5)"),
    (_seed_complaints, "a.rs", "TestRunner::default()"),
    (_seed_complaints, "tests/a.py", "rng = random.Random" + "()"),
    (_seed_complaints, "tests/a.py", "x = random.randrange" + "(5)"),
    (_plug_complaints, PLUG, f"//! Greedy.\n//! Decided: ties go to the lowest id.\n{INFO}"),
    (_plug_complaints, PLUG, f"//! Greedy.\n//! Paper: Desnoyers 2012.\n{INFO}"),
    (_size_complaints, "a.rs", "// x\n" * 801),
    (_size_complaints, "crates/a/src/b/c.rs", "// x\n" * 501),
    (_size_complaints, "a.rs", "//" + "x" * 119 + "\n"),
    (_size_complaints, "a.py", "def f():\n" + "    a()\n" * 70),
    (_leftover_complaints, "a.rs", "to" + "do!()\n"),
    (_leftover_complaints, "a.md", "see /ho" + "me/someone/file\n"),
    (_leftover_complaints, "a.py", "\tx\n"),
    (_leftover_complaints, "a.py", "x"),
    (_link_complaints, "README.md", "[x](no/such/file.md)\n"),
    (_link_complaints, "README.md", "[x](README.md#no-such-heading)\n"),
]
PASSES: list[tuple[Rule, str, str]] = [
    (
        _arrow_complaints,
        f"{CORE}/config/a.rs",
        "use crate::{ftl::gc::{trigger, victim}, units::Bytes};",
    ),
    (
        _arrow_complaints,
        f"{CORE}/ftl/a.rs",
        "// not crate::sim\nuse crate::ftl::map;\nuse crate::rng::Stream;",
    ),
    (_stage_complaints, f"{CONFIG}/tables/words/a.rs", "use super::{Key, print};"),
    (_stage_complaints, f"{CONFIG}/load.rs", "use super::keys::Key;\nuse super::text::read;"),
    (_trace_complaints, f"{TRACE}/generate/a.rs", "use crate::read::fit;"),
    (
        _ban_complaints,
        f"{CORE}/sim/a.rs",
        '/// std::fs is not used, `x.ln()` neither.\nconst A: &str = "unsafe";',
    ),
    (
        _package_complaints,
        f"{PACKAGE}/running/a.py",
        "from ssdlab import _core, policy\nfrom ssdlab.html import svg\nfrom . import simulate",
    ),
    (_package_complaints, f"{PACKAGE}/cli/a.py", "import ssdlab\nssdlab.run()"),
    (
        _package_complaints,
        f"{LAB}/bench/a.py",
        "import ssdlab\nssdlab.run()\nfrom ssdlab.cli import main\nfrom ..oracles import load",
    ),
    (_package_complaints, f"{PACKAGE}/errors.py", "if TYPE_CHECKING:\n    import ssdlab.results"),
    *((_ban_complaints, home, "unsafe { f() }") for home in UNSAFE_HOMES),
    (_ban_complaints, KV_WORLD, "use std::fs::File;"),
    (_seed_complaints, "a.rs", "proptest! {\n    #![proptest_config(cases(9, 1))]\n}"),
    (_seed_complaints, "a.rs", "TestRunner::new(cases(9, 1)); TestRunner::deterministic()"),
    (_seed_complaints, "tests/a.py", "rng = random.Random(7).random()"),
    (_plug_complaints, PLUG, f"//! P.\n//!\n//! Paper: A, 2012.\n//! Decided: ties.\n\n{INFO}"),
    (_plug_complaints, PLUG, "//! A queue that policies share.\n"),
    (_size_complaints, "a.rs", "// x\n" * 800),
    (_size_complaints, "crates/a/src/b/c.rs", "// x\n" * 500),
    (_size_complaints, "a.rs", "//" + "x" * 118 + "\n"),
    (_size_complaints, "a.py", "def f():\n" + "    a()\n" * 69),
    (
        _link_complaints,
        "README.md",
        "[x](README.md#ssdlab) `[y](none)` [z](https://example.org/)\n",
    ),
]


@pytest.mark.parametrize(("rule", "name", "text"), BREAKS)
def test_rules_bite(rule: Rule, name: str, text: str) -> None:
    assert list(rule(name, text))


@pytest.mark.parametrize(("rule", "name", "text"), PASSES)
def test_rules_let_pass(rule: Rule, name: str, text: str) -> None:
    assert not list(rule(name, text))


def test_names_bite() -> None:
    assert list(_name_complaints(["python/ssdlab/utils.py"]))
    assert list(_name_complaints(["crates/ssd-core/src/common/mod.rs"]))
    assert not list(_name_complaints(["crates/ssd-core/src/older.rs"]))
