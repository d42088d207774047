"""Mutants of the page's scripts: an operator, a number or a name replaced by its counterpart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mutation.python_sites import Change

# Comments and texts, in which nothing is changed. Of a template, what is inserted is code.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
    r"""|(?P<number>(?<![\w.$])\d+(?:\.\d+)?(?:e\d+)?)"""
    r"""|(?P<name>\b(?:Math\.(?:min|max|floor|ceil)|true|false|null|every|some)\b)"""
    r"""|(?P<operator>===|!==|=>|<=|>=|&&|\|\||\+=|-=|\+\+|--|\*\*|>>|<<|[<>+\-*/%?!])""",
    re.DOTALL,
)
COUNTERPARTS = {
    "===": ["!=="],
    "!==": ["==="],
    "<=": ["<"],
    "<": ["<=", ">"],
    ">=": [">"],
    ">": [">=", "<"],
    "&&": ["||"],
    "||": ["&&"],
    "+=": ["-=", "="],
    "-=": ["+=", "="],
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "%": ["*"],
    "**": ["*"],
    ">>": ["<<"],
    "!": [""],
    "true": ["false"],
    "false": ["true"],
    "null": ["0"],
    "every": ["some"],
    "some": ["every"],
    "Math.min": ["Math.max"],
    "Math.max": ["Math.min"],
    "Math.floor": ["Math.ceil"],
    "Math.ceil": ["Math.floor"],
}


def _code(source: str) -> str:
    """The source with the texts of its templates blanked, but for what is inserted in them."""

    def blank(match_: re.Match[str]) -> str:
        parts = re.split(r"(\$\{(?:[^{}]|\{[^{}]*\})*\})", match_[0])
        return "".join(
            part if part.startswith("${") else re.sub(r"[^\n]", " ", part) for part in parts
        )

    return re.sub(r"`(?:\\.|[^`\\])*`", blank, source)


def changes(source: str) -> Iterator[Change]:
    """Every mutant of a script."""
    code = _code(source)
    assert len(code) == len(source), "offsets stay"
    for token in TOKEN.finditer(code):
        if token["number"] is not None:
            texts = ["1" if float(token[0]) == 0 else f"(2 * {token[0]})"]
        else:
            texts = COUNTERPARTS.get(token["name"] or token["operator"] or "", [])
        # Before a value a sign is no operation of two values.
        if token[0] in ("-", "+") and re.search(r"[=(\[,:?&|!*/<>{]\s*$", code[: token.start()]):
            texts = [""]
        line = source.count("\n", 0, token.start()) + 1
        for text in texts:
            yield Change(line, token.start(), token.end(), text, True)
