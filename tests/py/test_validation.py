"""The simulator meets the closed forms: every line of `ssdlab validate`."""

from collections.abc import Sequence

import pytest

from ssdlab_lab.validation.check import Check, Line, Outcome, carry_out
from ssdlab_lab.validation.command import all_checks, quick_checks
from ssdlab_lab.validation.page import markdown


def _outside(checks: Sequence[Check]) -> list[Line]:
    return [line for line in carry_out(checks, 2, lambda _: None).lines if not line.ok]


def test_quick_lines_are_within_their_bounds() -> None:
    assert not _outside(quick_checks())


@pytest.mark.slow
def test_all_lines_are_within_their_bounds() -> None:
    assert not _outside(all_checks())


def test_a_line_outside_its_bound_is_told() -> None:
    assert Line("", 100.0, 100.9, 0.01).ok
    assert not Line("", 100.0, 101.1, 0.01).ok
    assert not Line("", 0.0, 1.0, 0.0).ok
    assert Line("", 0.0, 0.0, 0.0).ok


def test_the_page_has_its_topics_and_nothing_else() -> None:
    outcome = Outcome({"A law": [Line("a line", 2.0, 2.0, 0.0)]})
    before = "# Validation\n\n## Gone\n\nold\n\n## Kept\n\nread\n\n## A law\n\nold\n"
    page = markdown(outcome, ["A law", "Kept"], before)
    assert page.count("## ") == 2
    assert page.endswith("| a line | 2 | 2 | 0 | equal | yes |\n\n## Kept\n\nread\n")
