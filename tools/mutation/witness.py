"""The test that caught a mutant: its text, so that a result falls with the test that it rests on.

A result says `SUITE: TEST` of the crates, `tests/py/FILE.py::TEST` of Python. What has no test of
its own (a crash, no end, a test that a macro writes) rests on the whole suite.
"""

from __future__ import annotations

import ast
import hashlib
import re
from functools import cache
from pathlib import Path

from mutation.schemata import body


def witness(root: Path, crate: str, test: str) -> str:
    """A digest of the test that `test` names; "" if it is gone."""
    if test.startswith("tests/py/"):
        # Of what hangs the files are known, and not the test.
        parts = [name.partition("::") for name in ([test] if "::" in test else test.split())]
        texts = [_python(root / file, test) for file, _, test in parts]
        text = "".join(texts) if all(texts) else ""
    else:
        text = _rust(root, crate, test)
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""


@cache
def _python(path: Path, test: str) -> str:
    """A test function, or one of a class; a file that has none of that name counts as a whole."""
    if not path.exists():
        return ""
    text = path.read_text(encoding="utf-8")
    name = re.sub(r"\[.*", "", test, flags=re.DOTALL).rpartition("::")[2]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    return "" if name else text


@cache
def _rust(root: Path, crate: str, failed_test: str) -> str:
    suite, _, test = failed_test.partition(": ")
    # A suite of another crate may have caught it: see `ALSO_TESTED_BY`.
    homes = [root / "crates" / crate, *sorted((root / "crates").iterdir())]
    files = [home / "tests" / "suite" / f"{suite}.rs" for home in homes]
    sources = [path for path in files if path.exists()][:1]
    if not sources:
        homes_of_suite = [home for home in homes if home.name == suite.replace("_", "-")]
        sources = sorted(homes_of_suite[0].rglob("src/**/*.rs")) if homes_of_suite else []
    texts = [path.read_text(encoding="utf-8") for path in sources]
    name = test.rpartition("::")[2]
    if not re.fullmatch(r"\w+", name):
        return "".join(texts)
    functions = [
        text[match_.start() : braces[1]]
        for text in texts
        for match_ in re.finditer(rf"\bfn {name}\b", text)
        if (braces := body(text, (match_.start(), _end(text, match_.start()))))
    ]
    if functions or f"fn {name}" in "".join(texts):
        return "".join(functions)
    # Not spelled out: a macro writes it.
    return "".join(texts) if any(re.search(rf"\b{name}\b", text) for text in texts) else ""


def _end(text: str, start: int) -> int:
    """Where a function ends: at the brace that stands as far left as its own line."""
    indent = re.match(r"[ \t]*", text[text.rfind("\n", 0, start) + 1 :])
    assert indent
    closing = re.compile(rf"^{indent[0]}\}}", re.MULTILINE).search(text, start)
    line_end = text.find("\n", start)
    if text[start:line_end].rstrip().endswith("}"):
        return line_end
    return closing.end() if closing else len(text)
