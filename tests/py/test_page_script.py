"""What the page's scripts compute, in node: ratios, values under the pointer, zoom, operations."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ssdlab
from page_script import needs_node, used
from running import SMALL
from ssdlab.html.compare_page import RATIOS, comparison_page, ratio_interval
from ssdlab.repeated_text import ratio_text

pytestmark = needs_node
VICTIMS = ["greedy", "fifo", "random"]

CELLS = """
const choice = document.getElementById("baseline");
const cells = () => document.querySelectorAll("#ratio-table tbody tr").map((row) => ({
  base: row.classList.contains("base"),
  texts: row.querySelectorAll(".ratio").map((cell) => cell.textContent),
}));
const found = [cells()];
for (const option of choice.querySelectorAll("option")) {
  choice.value = option.getAttribute("value");
  choice.dispatch("change");
  found.push(cells());
}
return found;
"""


def compared(seeds: int | None = None) -> ssdlab.Comparison:
    config = ssdlab.load_config("greedy-8ch", set=SMALL)
    return ssdlab.compare(config, vary={"gc.victim": VICTIMS}, seeds=seeds, progress=False)


def check_repeated(done: ssdlab.Comparison) -> None:
    """The ratios to every baseline are those of `Comparison.ratios`."""
    labels = list(done.repetitions)
    first, *others = used(comparison_page(done), CELLS)
    assert first == others[0]
    for base, rows in zip(labels, others, strict=True):
        assert [row["base"] for row in rows] == [label == base for label in labels]
        for label, row in zip(labels, rows, strict=True):
            known = done.ratios(label, base)
            columns = [key for key in RATIOS if any(r[key] is not None for r in done.rows)]
            texts = [
                "1" if label == base else ratio_text(known.get(key)).replace("-", "–")
                for key in columns
            ]
            assert row["texts"] == texts, (label, base)


def test_ratios_of_repetitions_are_paired_by_seed_and_the_right_way_up() -> None:
    done = compared(seeds=4)
    check_repeated(done)
    # Some seeds are missing, in each configuration others.
    kept = {"greedy": (4, 1, 2), "fifo": (1, 3, 4), "random": (2, 3, 4)}
    part = {
        label: {seed: done.repetitions[label][seed] for seed in seeds}
        for label, seeds in kept.items()
    }
    check_repeated(replace(done, repetitions=part))


def test_ratios_of_single_runs_are_the_right_way_up() -> None:
    done = compared()
    rows = list(done.rows)
    columns = [key for key in RATIOS if any(row[key] is not None for row in rows)]
    first, *others = used(comparison_page(done), CELLS)
    assert first == others[0]
    for at, found in enumerate(others):
        assert [row["base"] for row in found] == [i == at for i in range(len(rows))]
        for i, row in enumerate(found):
            for key, text in zip(columns, row["texts"], strict=True):
                value, base = rows[i][key], rows[at][key]
                if not isinstance(value, int | float) or not isinstance(base, int | float):
                    assert text == "–", key
                    continue
                ratio, _, width = text.partition(" ±\u00a0")
                assert float(ratio) == pytest.approx(value / base, abs=0.0005001), key
                halves = [half(done.reports[VICTIMS[j]], key) for j in (i, at)]
                known = None if i == at else ratio_interval(value, halves[0], base, halves[1])
                assert width == ("" if known is None else f"{known:.3f}"), key


def half(report: ssdlab.Report, key: str) -> float | None:
    """The half width of the interval of a column, where the report has one."""
    op = {"write_mean_ns": "write", "read_mean_ns": "read"}.get(key)
    return None if op is None else getattr(report.latency, op).ci95
