"""No circle of uses between the files of a crate, and none of calls between those of the machine.

A file and the files in its folder are one thing in two sizes: the folder's file names its rooms,
and the rooms use its types, so arrows between them do not count. A name that a file only passes
on is looked up where it is declared. Methods of the machine are looked up by their names, and every
call between two files counts.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rust_paths import code_of, expand, tree_at

ROOT = Path(__file__).resolve().parents[2]
# Its methods are in files named after the steps (docs/adr/0011): `_calls` has their arrows.
MACHINE = ("sim", "ssd", "Ssd")

Module = tuple[str, ...]
Arrows = dict[Module, set[Module]]


class Crate:
    """The modules of a crate and the names that they pass on."""

    def __init__(self, files: dict[Module, str]) -> None:
        self.code = {module: _shipped(text) for module, text in files.items()}
        self.passed_on: dict[Module, dict[str, Module]] = {}
        self.wholes: dict[Module, list[Module]] = {}
        for module, code in self.code.items():
            passed, wholes = {}, []
            for found in re.finditer(r"\bpub(?:\([^)]*\))? use ([\w:]*)", code):
                for path in expand(found[1] + tree_at(code, found[1], found.end())):
                    parts = _absolute(module, path.split("::"), self.code)
                    if parts[-1] == "*":
                        wholes += [parts[:-1]] if parts[:-1] in self.code else []
                    else:
                        passed[parts[-1]] = parts
            self.passed_on[module], self.wholes[module] = passed, wholes

    def declares(self, path: Module) -> Module:
        """The module in which the last name of `path` is declared."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.code:
                module, rest = path[:length], path[length:]
                passed = self._passed(module, rest[0]) if rest and rest[0] != "*" else None
                return self.declares(passed) if passed and passed != path else module
        raise AssertionError(path)

    def _passed(self, module: Module, name: str) -> Module | None:
        """Where `module` has `name` from, if it passes it on."""
        if name in self.passed_on[module]:
            return self.passed_on[module][name]
        for whole in self.wholes[module]:
            item = rf"\b(?:struct|enum|trait|type|fn|const|static) {name}\b"
            if self._passed(whole, name) or re.search(item, self.code[whole]):
                return (*whole, name)
        return None

    def arrows(self) -> Arrows:
        """What each module uses, but for those that it is in and those in it."""
        found: Arrows = {module: set() for module in self.code}
        for module in self.code:
            for path in self._paths(module):
                if path[: len(MACHINE)] == MACHINE:
                    continue
                used = self.declares(path)
                shorter = min(len(used), len(module))
                if used[:shorter] != module[:shorter]:
                    found[module].add(used)
        return found

    def _paths(self, module: Module) -> Iterator[Module]:
        code = self.code[module]
        for found in re.finditer(r"(?<![\w:$])(crate|self|super)::([\w:]*)", code):
            if code[found.end() : found.end() + 1] == "!":
                continue
            for path in expand(found[2] + tree_at(code, found[2], found.end())):
                parts = [part for part in [found[1], *path.split("::")] if part]
                yield _absolute(module, parts, self.code)
        # `child::name` in the folder's own file needs no arrow: it is in the folder.


def _shipped(text: str) -> str:
    """The code without the tests in it."""
    return re.split(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)?(?:pub )?mod \w+ \{", code_of(text))[0]


def _absolute(module: Module, parts: list[str], modules: dict[Module, str]) -> Module:
    """The path `parts`, written in `module`, from the root of the crate."""
    if parts[0] == "crate":
        return tuple(parts[1:])
    here = module
    if parts[0] == "self":
        parts = parts[1:]
    elif parts[0] != "super":
        # A child, or another crate: then it is no module of this one.
        return (*here, *parts) if (*here, parts[0]) in modules else tuple(parts)
    while parts and parts[0] == "super":
        here, parts = here[:-1], parts[1:]
    return (*here, *parts)


def _calls(files: dict[Module, str], owner: str) -> Arrows:
    """The files with the methods of `owner` that its methods in each file call."""
    impl = rf"^(?:unsafe )?impl\b[^{{;]*\b{owner}\b[^{{;]*\{{$(.*?)^\}}$"
    bodies = {
        module: "".join(re.findall(impl, _shipped(text), re.MULTILINE | re.DOTALL))
        for module, text in files.items()
    }
    declared: dict[str, set[Module]] = {}
    for module, body in bodies.items():
        for name in re.findall(r"\bfn (\w+)", body):
            declared.setdefault(name, set()).add(module)
    # Whatever the receiver is called, and whether the method is called or passed on.
    call = rf"\b(?:self|Self|{owner}|{owner.lower()})\s*(?:\.|::)\s*(\w+)\b"
    return {
        module: {callee for name in re.findall(call, body) for callee in declared.get(name, ())}
        - {module}
        for module, body in bodies.items()
        if body
    }


def _circles(arrows: Arrows) -> list[list[str]]:
    """Groups of modules each of which reaches all others of its group."""
    reach: Arrows = {}
    for start in arrows:
        seen, todo = set[Module](), [start]
        while todo:
            for used in arrows[todo.pop()] - seen:
                seen.add(used)
                todo.append(used)
        reach[start] = seen
    groups = {
        frozenset(other for other in reach[one] if one in reach[other])
        for one in arrows
        if one in reach[one]
    }
    return sorted(sorted("::".join(module) for module in group) for group in groups)


def _modules(source: Path) -> dict[Module, str]:
    found = {}
    for file in sorted(source.rglob("*.rs")):
        module = file.relative_to(source).with_suffix("").parts
        module = module[:-1] if module[-1] in {"mod", "lib"} else module
        found[module] = file.read_text(encoding="utf-8")
    return found


def test_no_files_use_each_other_in_a_circle() -> None:
    sources = sorted((ROOT / "crates").glob("*/src"))
    assert len(sources) > 5, "the crates are not found"
    found = {source.parent.name: _circles(Crate(_modules(source)).arrows()) for source in sources}
    circles = {crate: circles for crate, circles in found.items() if circles}
    assert circles == {}, circles


@pytest.mark.parametrize("owner", ["Ssd", "Core"])
def test_no_files_of_the_machine_call_each_other_in_a_circle(owner: str) -> None:
    calls = _calls(_modules(ROOT / "crates" / "ssd-core" / "src"), owner)
    assert len(calls) > 10, "the methods are not found"
    assert _circles(calls) == []
    assert not calls.get(("sim", "finish")), "it calls back into the route"


def test_only_methods_get_the_machine() -> None:
    """A free function that gets it could call anything without being seen."""
    files = _modules(ROOT / "crates" / "ssd-core" / "src")
    free = r"^(?:pub(?:\([^)]*\))? )?fn \w+[^{;]*&(?:mut )?Ssd\b"
    shipped = {
        module: _shipped(text) for module, text in files.items() if module[-1:] != ("tests",)
    }
    found = [module for module, text in shipped.items() if re.search(free, text, re.MULTILINE)]
    assert found == []


def test_circles_of_calls_are_found() -> None:
    def method(head: str, call: str) -> str:
        return f"impl {head} {{\n    fn {call}\n    }}\n}}\n"

    files: dict[Module, str] = {
        ("admit",): method("Ssd", "admit(&mut self) {\n        self.start::<true>();"),
        ("start",): method("Ssd", "start(&mut self) {\n        self\n            .end();"),
        ("end",): method("Core", "start(&self) {") + method("Device for Ssd", "end(&self) {"),
    }
    assert _circles(_calls(files, "Ssd")) == []
    for call in (
        "self.admit();",
        "Self::admit(self);",
        "let f = Ssd::admit;",
        "|ssd| ssd.admit();",
    ):
        files["end",] = method("a::Device<u8> for Ssd", f"end(&self) {{\n        {call}")
        assert _circles(_calls(files, "Ssd")) == [["admit", "end", "start"]]


def test_circles_are_found() -> None:
    files = {
        (): "pub mod a; pub mod b;",
        ("a",): "mod inner; pub use inner::Thing; use crate::b;",
        ("a", "inner"): "pub struct Thing; use super::Other;",
        ("b",): "#[cfg(test)] mod tests { use crate::a; }",
    }
    assert _circles(Crate(files).arrows()) == [], "a folder, and a test"
    files["b",] = "use super::{a::{Thing}, c};"
    files["a", "inner"] = "pub struct Thing;"
    assert _circles(Crate(files).arrows()) == [], "Thing is declared where b is not used"
    files["a",] = "mod inner; pub use inner::*; use crate::b;"
    assert _circles(Crate(files).arrows()) == [], "nor is it if everything is passed on"
    files["a", "inner"] = "pub struct Thing; use crate::b::Name; // crate::c"
    assert _circles(Crate(files).arrows()) == [["a::inner", "b"]]
