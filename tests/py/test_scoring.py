"""The score of a reproduction: values worked out by hand, and degenerate input."""

import math
from dataclasses import replace
from typing import Any

import pytest

from ssdlab_lab.reproduce.score_page import (
    details_html,
    details_markdown,
    grids,
    score_html,
    score_markdown,
    seeds_markdown,
    verdicts,
)
from ssdlab_lab.reproduce.scoring import (
    Count,
    Errors,
    Gain,
    Order,
    OutcomeMatches,
    as_factor,
    centre,
    change,
    correlation,
    count,
    errors,
    gains_of,
    is_near,
    met,
    order,
    score,
    trivial,
    typical,
    verdict,
)
from ssdlab_lab.reproduce.tables import Number, Row, Table


def gains(*pairs: tuple[float, float]) -> list[Gain]:
    return [Gain("t", f"w{i}", *pair) for i, pair in enumerate(pairs)]


def ours(several: list[Gain]) -> Count:
    return count(several, lambda one: one.ours)


@pytest.mark.parametrize(
    ("gain", "expected"),
    [(2.0, 1), (1.031, 1), (1.03, 0), (1.0, 0), (1 / 1.03, 0), (0.97, -1), (0.1, -1)],
)
def test_gains_within_three_percent_are_no_change(gain: float, expected: int) -> None:
    assert change(gain) == expected


@pytest.mark.parametrize(
    ("published", "found", "expected"),
    [
        (4.0, 2.0, True),  # half of the logarithm
        (4.0, 16.0, True),  # twice of it
        (4.0, 1.99, False),
        (4.0, 16.1, False),
        (0.25, 0.5, True),
        (0.25, 0.0625, True),
        (0.25, 4.0, False),  # as far on the other side
        (4.0, 1.0, False),
        (1.02, 0.98, True),  # both no change
        (1.02, 1.04, False),  # the logarithm is nearly twice, but published is no change
        (1.04, 1.02, True),  # half of the logarithm
    ],
)
def test_what_is_near(published: float, found: float, expected: bool) -> None:
    assert is_near(published, found) is expected


@pytest.mark.parametrize(
    ("improvement", "neutral", "expected"),
    [
        (50.0, 0.0, 2.0),
        (0.0, 0.0, 1.0),
        (-100.0, 0.0, 0.5),
        (100.0, 0.0, None),  # no time at all
        (2.5, 1.0, 2.5),
        (0.0, 1.0, None),
        (None, 0.0, None),
        (math.nan, 1.0, None),
        (50.0, None, None),  # not an improvement
    ],
)
def test_improvements_as_factors(
    improvement: Number, neutral: float | None, expected: Number
) -> None:
    assert as_factor(improvement, neutral) == expected


@pytest.mark.parametrize(
    ("published", "found", "neutral", "expected"),
    [
        (75.0, 50.0, 0.0, "near"),
        (75.0, 10.0, 0.0, "same direction"),
        (75.0, 1.0, 0.0, "no change"),
        (75.0, -20.0, 0.0, "other direction"),
        (1.0, 20.0, 0.0, "other direction"),
        (1.0, -1.0, 0.0, "near"),
        (0.5, 0.6, 1.0, "near"),
        (None, 5.0, 0.0, None),
        (5.0, None, 0.0, None),
        (5.0, 5.0, None, None),
    ],
)
def test_words_of_cells(
    published: Number, found: Number, neutral: float | None, expected: str | None
) -> None:
    assert verdict(published, found, neutral) == expected


FOUR = gains((4.0, 2.0), (4.0, 1.0), (1.0, 1.02), (0.25, 2.0))


def about(value: float) -> Any:  # noqa: ANN401 - equal to any number near it
    return pytest.approx(value)


def test_a_count_by_hand() -> None:
    found = ours(FOUR)
    assert (found.cells, found.direction, found.near) == (4, 2, 2)
    # Distances: 2, 4, 1.02, 8.
    assert found.error == about((2 * 4 * 1.02 * 8) ** 0.25)


def test_predictions_that_need_no_simulator() -> None:
    found = trivial(FOUR)
    assert found["always better"] == Count(4, 2, None, None)
    # No change meets the third alone; distances 4, 4, 1, 4.
    assert found["no change"] == Count(4, 1, 1, about(4**0.75))
    # The geometric mean of 4, 4, 1 and 1/4 is 2^0.5: near 4 (a quarter of its logarithm)? No.
    assert found["all alike"].direction == 2
    assert found["all alike"].near == 0
    root = math.sqrt(2)
    assert found["all alike"].error == about(((4 / root) ** 2 * root * (4 * root)) ** 0.25)
    assert met(FOUR) == {
        "gain": OutcomeMatches(2, 1),
        "no change": OutcomeMatches(1, 1),
        "loss": OutcomeMatches(1, 0),
    }


def test_always_winning_shows_no_skill() -> None:
    """What `same sign` counted as 3 of 4 is no more than a prediction without a simulator."""
    wins = gains((1.5, 9.0), (2.0, 9.0), (3.0, 9.0), (0.5, 9.0))
    assert ours(wins).direction == trivial(wins)["always better"].direction == 3
    assert ours(wins).near == 1  # 9 is the square of 3
    assert met(wins)["loss"] == OutcomeMatches(1, 0)
    assert correlation(wins) is None


def test_no_losses_and_no_cells() -> None:
    assert met(gains((2.0, 2.0)))["loss"] == OutcomeMatches(0, 0)
    assert ours([]) == Count(0, 0, 0, None)
    assert trivial([])["all alike"] == Count(0, 0, 0, None)
    assert trivial([])["always better"] == Count(0, 0, None, None)
    assert correlation([]) is None
    assert (typical([]), centre([])) == (None, None)


def test_one_workload_shows_no_skill() -> None:
    """The mean of one published gain is that gain: no result can be better than it."""
    one = gains((2.0, 1.9))
    assert trivial(one)["all alike"] == Count(1, 1, 1, about(1.0))
    assert correlation(one) is None


def test_ties_have_their_mean_rank() -> None:
    assert correlation(gains((1, 1), (2, 2), (3, 3))) == about(1.0)
    assert correlation(gains((1, 3), (2, 2), (3, 1))) == about(-1.0)
    assert correlation(gains((1, 5), (2, 5), (3, 5))) is None
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 over the root of 4.5 times 5.
    tied = gains((1, 1), (2, 2), (2, 3), (4, 4))
    assert correlation(tied) == about(4.5 / math.sqrt(4.5 * 5))


PUBLISHED = {"A": (4.0, 1.0, None), "B": (2.0, 1.01, 1.0), "P": (1.0, 2.0, 1.0)}
FOUND = {"A": (5.0, 3.0, 1.0), "B": (6.0, 3.0, 1.0), "P": (4.0, 2.0, None)}


def test_order_of_pairs() -> None:
    # A to P: 4 and 0.5 published, 1.25 and 1.5 here. B to P: 2 and 0.505; 1.5 and 1.5.
    assert order(PUBLISHED, FOUND, "P", True) == Order(pairs=4, agree=2, tied=0, first=2)
    # A to B: 2 and a tie published; 0.83 and a tie here. The third workload lacks A.
    assert order(PUBLISHED, FOUND, "P", False) == Order(pairs=2, agree=1, tied=1, first=None)
    assert order({"P": (1.0,)}, {"P": (1.0,)}, "P", True) == Order(0, 0, 0, 0)
    # The order of the rows does not matter.
    turned = {name: PUBLISHED[name] for name in ("P", "B", "A")}
    assert order(turned, FOUND, "P", True) == order(PUBLISHED, FOUND, "P", True)


def test_absolute_errors() -> None:
    found = errors("baselines", "mean", [(1.0, 2.0), (4.0, 1.0), (None, 1.0), (1.0, None)])
    # Ratios 2 and 1/4: centre 2^-0.5, typical distance 2^1.5, largest 4.
    assert found == Errors("baselines", "mean", 2, about(2**-0.5), about(2**1.5), about(4.0))
    assert errors("proposed", "mean", []) == Errors("proposed", "mean", 0, None, None, None)


def table(kind: str = "mean", published: tuple[Number, ...] = (50.0, -100.0, None)) -> Table:
    assert kind in ("mean", "longest", "")
    rows = (
        Row("Base", (2.0, 1.0, 3.0), {"synthetic": (4.0, 1.0, 3.0)}),
        Row("Other", (None,) * 3, {"synthetic": (9.0, 9.0, 9.0)}),
        Row("Proposed", (1.0, 2.0, 3.0), {"synthetic": (1.0, 1.0, 3.0)}),
        Row("improvement", published, {"synthetic": (75.0, 0.0, 0.0)}, 0.0),
        Row("improvement, otherwise", (None,) * 3, {"synthetic": (1.0, 1.0, 1.0)}, 0.0),
    )
    return Table("t", "Table 1", "ms", ("x", "y", "z"), rows, kind=kind)  # type: ignore[arg-type]


def test_the_score_of_tables() -> None:
    found = score([table()], "synthetic", "Proposed")
    assert gains_of(table(), "synthetic") == [
        Gain("Table 1", "x", 2.0, 4.0),
        Gain("Table 1", "y", 0.5, 1.0),
    ]
    # 4 is the square of 2: near.
    assert (found.ours.cells, found.ours.direction, found.ours.near) == (2, 1, 1)
    assert found.met == {
        "gain": OutcomeMatches(1, 1),
        "no change": OutcomeMatches(0, 0),
        "loss": OutcomeMatches(1, 0),
    }
    assert [(one.title, one.count) for one in found.measures] == [("Table 1", found.ours)]
    # Base to Proposed: 2, 0.5, 1 published; 4, 1, 1 here. "Other" has no published values.
    assert found.with_proposed == Order(pairs=3, agree=2, tied=1, first=1)
    assert found.among_baselines == Order(0, 0, 0, None)
    base, proposed = found.errors
    assert (base.schemes, base.kind, base.cells) == ("baselines", "mean", 3)
    assert base.centre == about(2 ** (1 / 3))
    assert (proposed.cells, proposed.largest) == (3, about(2.0))


def test_tables_without_latencies_are_scored_by_their_gains_alone() -> None:
    found = score([table(kind="")], "synthetic", "Proposed")
    assert found.ours.cells == 2
    assert (found.with_proposed.pairs, found.errors) == (0, ())


def test_kinds_are_kept_apart() -> None:
    found = score([table("mean"), table("longest")], "synthetic", "Proposed")
    assert [(one.schemes, one.kind) for one in found.errors] == [
        ("baselines", "mean"),
        ("baselines", "longest"),
        ("proposed", "mean"),
        ("proposed", "longest"),
    ]
    assert found.with_proposed.pairs == 6


def test_a_source_without_results_has_no_score_to_show() -> None:
    empty = score([table()], "recorded", "Proposed")
    assert empty.ours == Count(0, 0, 0, None)
    assert empty.with_proposed.pairs == 0
    assert not grids({"recorded": empty})
    assert "Table 1" not in score_html({"recorded": empty})


def test_the_section_of_the_page() -> None:
    scores = {"synthetic": score([table()], "synthetic", "Proposed")}
    lines = score_markdown(scores)  # type: ignore[arg-type]
    assert lines[0] == "## Score"
    assert "| loss | 0 of 1 |" not in lines, "half a page of result first"
    assert lines[2] == (
        "On synthetic requests 1 of 2 gains have the published direction, 1 are near, and the"
        " typical error is a factor of 2.000; the best predictions without a simulator have 1, 0"
        " and 2.000. The simulator is better in near gains, not in the rest."
    )
    lines += details_markdown(scores)  # type: ignore[arg-type]
    assert "| **here, synthetic requests** | 1 of 2 | 1 of 2 | 2.000 | – |" in lines
    assert "| always better | 1 of 2 | – | – | – |" in lines
    assert "| no change | 0 of 2 | 0 of 2 | 2.000 | – |" in lines
    assert "| loss | 0 of 1 |" in lines
    assert "| Table 1 | 1 of 2, 1 of 2, – |" in lines
    assert "| proposed scheme and a baseline, synthetic requests | 3 | 2 | 1 | 1 |" in lines
    assert "| proposed, mean, synthetic requests | 3 | 0.794 | 1.260 | 2.000 |" in lines
    html = score_html(scores)  # type: ignore[arg-type]
    assert "here, synthetic requests" in html
    assert "proposed scheme and a baseline" in details_html(scores)  # type: ignore[arg-type]
    assert "*" not in html


def test_the_verdict_does_not_flatter() -> None:
    found = score([table()], "synthetic", "Proposed")
    far = replace(found.errors[0], typical=153.3)
    (told,) = verdicts({"recorded": replace(found, errors=(far, *found.errors[1:]))})
    assert told.endswith(
        "The mean latencies of the baselines are off by a factor of 153.3, so agreement of the"
        " gains means little here."
    )
    better = replace(found.ours, direction=2, near=2, error=1.1)
    (told,) = verdicts({"synthetic": replace(found, ours=better)})
    assert told.endswith("The simulator is better in all three.")
    worse = replace(found.ours, direction=0, near=0, error=9.0)
    (told,) = verdicts({"synthetic": replace(found, ours=worse)})
    assert told.endswith("The simulator is better in none of the three.")


def test_seeds_one_by_one() -> None:
    one = score([table()], "synthetic", "Proposed")
    assert seeds_markdown([one]) == []
    lines = seeds_markdown([one, one, one])
    assert lines[0] == "## Each seed alone"
    assert "| near of 2 | 1.00 | 0.00 | 1.00 to 1.00 |" in lines
    assert "| rank correlation | – | – | – |" in lines
