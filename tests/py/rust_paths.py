"""Rust sources as text: their code without comments, and the paths in it."""

import re
from collections.abc import Iterator


def code_of(rust: str) -> str:
    """Rust without its comments and without the insides of its strings, line by line."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\\\'])\''

    def blank(match_: re.Match[str]) -> str:
        return ('""' if match_[0][0] == '"' else "") + "\n" * match_[0].count("\n")

    return re.sub(pattern, blank, rust, flags=re.DOTALL)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def expand(tree: str) -> Iterator[str]:
    """`a::{b, c::{d, e}}` -> `a::b`, `a::c::d`, `a::c::e`."""
    head, brace, remainder = tree.partition("{")
    if not brace:
        yield tree.split(" as ")[0].strip()
        return
    depth, start = 0, 0
    branches = remainder[: remainder.rindex("}")] + ","
    for i, letter in enumerate(branches):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            part = branches[start:i].strip()
            start = i + 1
            if part:
                yield from (head.strip() + leaf for leaf in expand(part))


def tree_at(code: str, path: str, end: int) -> str:
    """What follows `path`, which ends at `end`: a tree in braces, or nothing."""
    if path and not path.endswith("::"):
        return ""
    depth, index = 0, end
    while index < len(code):
        depth += (code[index] == "{") - (code[index] == "}")
        index += 1
        if depth == 0:
            break
    return code[end:index]


def crate_paths(rust: str) -> Iterator[tuple[int, str]]:
    """Every `crate::` path in the code, use trees expanded, with its line."""
    code = code_of(rust)
    for match_ in re.finditer(r"\bcrate::([\w:]*)", code):
        if code[match_.end() : match_.end() + 1] == "!":
            continue  # Macros stand at the root, wherever they are declared.
        for path in expand(match_[1] + tree_at(code, match_[1], match_.end())):
            yield line_of(code, match_.start()), path
