"""Mutants of Python sources: mutmut's operators, one change of the text for each.

mutmut itself holds all mutants of a function in one file and selects one while the tests run. That
reaches neither constants of modules nor decorated functions, so only its operators are used, and
each mutant is a file. Texts (their wording is no behaviour), annotations, decorators and imports
stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string

OPERATORS = [(kind, make) for kind, make in mutation_operators if make is not operator_string]
SKIPPED = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom)


@dataclass(frozen=True)
class Change:
    """Some text of a source, replaced."""

    line: int
    """Where it begins, from 1."""
    first: int
    """Offset of the text that is replaced."""
    last: int
    """Offset of its end."""
    text: str
    """What replaces it."""
    in_function: bool
    """Runs when something is called, not when the module is imported."""

    def made(self, source: str) -> str:
        """The source with it."""
        return source[: self.first] + self.text + source[self.last :]


class _Visitor(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, module: cst.Module, starts: list[int]) -> None:
        super().__init__()
        self.module, self.starts = module, starts
        self.depth = 0
        self.found: list[Change] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, SKIPPED) or _is_alias(node):
            return False
        self.depth += isinstance(node, cst.FunctionDef | cst.Lambda)
        for kind, make in OPERATORS:
            if isinstance(node, kind):
                for changed in make(node):
                    self._add(node, changed)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if not isinstance(original_node, SKIPPED) and not _is_alias(original_node):
            self.depth -= isinstance(original_node, cst.FunctionDef | cst.Lambda)

    def _add(self, node: cst.CSTNode, changed: cst.CSTNode) -> None:
        place = self.get_metadata(PositionProvider, node, None)
        if place is None:
            return
        first = self.starts[place.start.line - 1] + place.start.column
        last = self.starts[place.end.line - 1] + place.end.column
        text = self.module.code_for_node(changed).strip()
        self.found.append(Change(place.start.line, first, last, text, self.depth > 0))


def _is_alias(node: cst.CSTNode) -> bool:
    """The name of a type, which nothing computes."""
    if isinstance(node, cst.AnnAssign) and isinstance(node.annotation.annotation, cst.Name):
        return bool(node.annotation.annotation.value == "TypeAlias")
    return False


def changes(source: str) -> Iterator[Change]:
    """Every mutant of a source; some are no Python."""
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    visitor = _Visitor(wrapper.module, starts)
    wrapper.visit(visitor)
    yield from visitor.found


def compiles(text: str) -> bool:
    """Whether a source is Python at all."""
    try:
        compile(text, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
