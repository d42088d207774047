"""Intervals that are wider than their numbers, and areas that a plot does not have."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ssdlab.html import repeated, spare_page
from ssdlab.results import repeated_text
from ssdlab.results.comparison import Comparison
from ssdlab.results.intervals import Ratio, estimate
from ssdlab.results.lifetime import Interval
from ssdlab.results.spare_plan import Bound, Outcome, Step
from test_plan import an_answer
from test_try_answer import a_trial, row


@pytest.mark.parametrize(("values", "is_wide"), [((1.0, 1.1), False), ((1.0, 2.0), True)])
def test_an_interval_that_is_wider_than_its_number_is_undecided(
    values: tuple[float, float], is_wide: bool
) -> None:
    known = estimate(values)
    assert known.ci95 is not None
    assert known.is_wide == (known.ci95 > known.mean) == is_wide
    _, width, _ = repeated_text._cells("waf", known)
    assert (width == "undecided") == is_wide
    cell = repeated._cell("a", "waf", known)
    assert ("undecided" in cell) == is_wide
    assert ("±" in cell) == (not is_wide)
    assert Ratio(2, 1.2, 0.08, 19.2).is_wide
    assert not Ratio(2, 1.2, 0.9, 1.6).is_wide
    assert not Ratio(2, 1.2, None, None).is_wide


def test_a_latency_with_so_wide_an_interval_has_its_seeds_on_the_first_screen() -> None:
    reports = {
        seed: SimpleNamespace(
            latency=SimpleNamespace(
                write=SimpleNamespace(p99_9=value), read=SimpleNamespace(p99_9=1e5)
            ),
            device=SimpleNamespace(utilisation=SimpleNamespace(chip=(0.5,), channel=(0.1,))),
            config={"host.mode": "open"},
        )
        for seed, value in ((1, 2e5), (2, 6e5))
    }
    done = a_trial()
    by_seed = {label: cast("dict[int, Any]", reports) for label in done.policies}
    firsts = {label: one[1] for label, one in by_seed.items()}
    done = replace(done, latency=Comparison(firsts, repetitions=by_seed), latency_doubts={})
    text = row(done, "write p99.9")
    assert "undecided (200 us to 600 us in 2 seeds), as one application" in text
    assert "+-" not in text


@pytest.mark.parametrize("answer", [0.2, 0.4])
def test_the_legend_has_an_area_only_if_the_plot_has_one(answer: float) -> None:
    steps = tuple(
        Step(at, 1, (Outcome("a", {"waf": Interval(1.5, 2.0 if at >= answer else 3.0)}),))
        for at in (0.1, 0.2, 0.4)
    )
    plan = an_answer(steps=steps, bounds=(Bound("waf", 2.5),))
    assert plan.answer is not None
    assert plan.answer[0].provision == answer
    (figure,) = spare_page.spare_figures(plan)
    drawn: Any = figure
    names = [curve.name for curve in drawn.curves]
    assert ("feasible" in names) == (answer < 0.4) == ("shaded area" in drawn.caption)


def test_a_table_that_goes_on_behind_the_edge_is_shaded_there() -> None:
    style = files("ssdlab.html").joinpath("page.css").read_text(encoding="utf-8")
    rule = style.partition("\n.scroll {")[2].partition("}")[0]
    # What scrolls with the table covers the shades, which stay at the edges.
    layers = [line.split()[-1].strip(",;") for line in rule.splitlines() if "gradient" in line]
    assert layers == ["local", "local", "scroll", "scroll"]
