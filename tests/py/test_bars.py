"""Bars: a number of configurations that differ in no key with numbers."""

from typing import Any

import pytest

import ssdlab
from running import SMALL
from ssdlab.html.plot import StackedBars
from ssdlab.html.sweep_page import sweep_page


def test_where_no_key_has_numbers_each_point_gets_a_bar() -> None:
    how: dict[str, Any] = {"set": SMALL, "progress": False}
    vary = {"gc.victim": ["greedy", "fifo", "random"]}
    found = ssdlab.sweep("greedy-8ch", vary=vary, html=False, **how)
    with pytest.raises(ssdlab.ConfigError, match="no key with several numbers"):
        found.plot("waf", "gc.victim")
    repeated = ssdlab.compare("greedy-8ch", vary=vary, seeds=3, **how)
    several = ssdlab.compare(["greedy-8ch", "greedy-8ch"], vary=vary, **how)
    for done in (found, repeated, several):
        drawing: Any = done.plot("waf")
        [plot] = drawing.plots
        assert isinstance(plot, StackedBars)
        labels = [
            label + " (invalid)" * done.points.is_invalid(point)
            for point, label in enumerate(done.points.labels)
        ]
        assert [label for label, _ in plot.rows] == labels
        values = [done.points.summary(i, "waf") for i in range(len(plot.rows))]
        assert [parts for _, parts in plot.rows] == [(one.mean,) for one in values if one]
        text = drawing._repr_svg_() or ""
        assert text.count('class="bar mark') == len(plot.rows)
        assert "(100 %)" not in text
        for one in values:
            assert one
            assert f">{one.mean:.3f}</text>" in text
    bars: Any = repeated.plot("waf")
    intervals = bars.plots[0].intervals
    assert [one is not None for one in intervals] == [
        s.high > s.low for i in range(3) if (s := repeated.points.summary(i, "waf"))
    ]
    assert "95 % confidence intervals" in bars.plots[0].caption
    times: Any = repeated.plot("write_mean_ns")
    assert times.plots[0].quantity == "duration"
    assert "A plot needs a key with several numbers" in sweep_page(found)
    with pytest.raises(ssdlab.ConfigError, match="names: no wave"):
        ssdlab.run("greedy-8ch", set=SMALL, progress=False).plot("wave")
