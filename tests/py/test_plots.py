"""Plots by hand: where values stand, which ticks an axis has, and what a page says of a number."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import pytest

from ssdlab.html.curves import points, thin
from ssdlab.html.plot import Axis, Bars, Curve, Forest, Plot, Point, StackedBars, Unit
from ssdlab.html.scale import Scale, short
from ssdlab.html.svg import draw, scales


def floats(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, float)


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("ns", 1e9, "1 s"),
        ("ns", 999e6, "999 ms"),
        ("ns", 1500, "1.5 µs"),
        ("ns", 999, "999 ns"),
        ("ns", 0.5, "0.5 ns"),
        ("count", 12_000_000, "12 M"),
        ("count", 1000, "1 k"),
        ("count", 999, "999"),
        ("count", 2e12, "2 T"),
        ("bytes", 1536, "1.5 KiB"),
        ("bytes", 2.0**40, "1 TiB"),
        ("bytes", 5, "5 B"),
        ("share", 0.125, "12.5 %"),
        ("ratio", 1234.5, "1,234.5"),
    ],
)
def test_labels_of_ticks(unit: Unit, value: float, text: str) -> None:
    assert short(unit, value) == text


@pytest.mark.parametrize(
    ("axis", "values", "bounds", "label", "ticks"),
    [
        (Axis("t", "ns"), (0, 5e6), (0, 5e6), "t (ms)", "0 1 2 3 4 5"),
        (Axis("t", "ns"), (1e6, 3.4e6), (1e6, 3.4e6), "t (ms)", "1.0 1.5 2.0 2.5 3.0"),
        (Axis("n", "count"), (7, 7), (7, 14), "n", "7 8 9 10 11 12 13 14"),
        (Axis("n", "count"), (0, 0), (0, 1), "n", "0 1"),
        (Axis("n", "count", low=0.0), (400, 1e4), (0, 1e4), "n (k)", "0 2 4 6 8 10"),
        (Axis("s", "share", low=0.0, high=1.0), (0.2,), (0, 1), "s (%)", "0 20 40 60 80 100"),
        (Axis("r", "ratio", log=True), (0, 0.3, 7), (0.2, 10), "r", "0.2 0.5 1 2 5 10"),
        (Axis("r", "ratio", log=True), (2, 2), (1, 4), "r", "1 2"),
        (
            Axis("l", "ns", log=True),
            (3e3, 4e7),
            (2e3, 5e7),
            "l",
            "10 µs|100 µs|1 ms|10 ms",
        ),
        (
            Axis("b", "bytes", log=True),
            (512, 5000),
            (512, 8192),
            "b",
            "512 B|1 KiB|2 KiB|4 KiB|8 KiB",
        ),
        (Axis("b", "bytes", log=True), (4096, 4096), (2048, 8192), "b", "2 KiB|4 KiB|8 KiB"),
        (
            Axis("b", "bytes", log=True),
            (1, 2**20),
            (1, 2**20),
            "b",
            "1 B|8 B|64 B|512 B|4 KiB|32 KiB|256 KiB",
        ),
        (Axis("r", "ratio", log=True), (), (0.1, 1), "r", "0.1 0.2 0.5 1"),
    ],
)
def test_axes(
    axis: Axis, values: tuple[float, ...], bounds: tuple[float, float], label: str, ticks: str
) -> None:
    scale = Scale.over(axis, floats(*values, math.nan), 74.0, 542.0)
    assert (scale.low, scale.high) == pytest.approx(bounds)
    assert scale.label == label
    assert [text for _, text in scale.ticks()] == ticks.split("|" if "|" in ticks else " ")


def test_a_y_axis_has_room_above_and_fewer_ticks() -> None:
    up = Scale.over(Axis("n", "count"), floats(0, 700), 244.0, 10.0)
    assert (up.low, up.high) == pytest.approx((0, 728))
    assert [text for _, text in up.ticks()] == ["0", "200", "400", "600"]
    across = Scale.over(Axis("n", "count"), floats(0, 700), 74.0, 542.0)
    assert [text for _, text in across.ticks()] == [str(100 * i) for i in range(8)]


def test_places() -> None:
    linear = Scale(Axis("x", "ratio"), 10.0, 30.0, 100.0, 200.0)
    assert linear.at(floats(10, 15, 30)).tolist() == [100, 125, 200]
    log = Scale(Axis("x", "ratio", log=True), 1.0, 100.0, 100.0, 200.0)
    found = log.at(floats(0, 1, 10, 100)).tolist()
    assert math.isnan(found[0])
    assert found[1:] == pytest.approx([100, 150, 200])


PLOT = Plot(
    "p",
    "A title",
    "A caption.",
    Axis("x", "ratio"),
    Axis("y", "ratio", low=0.0, high=8.0),
    (
        Curve("a", floats(0, 1, 2, 3, 4), floats(0, 2, math.nan, 4, 8), 2),
        Curve("b", floats(0, 4), floats(4, 8), 8, floats(2, 6), floats(4, 8)),
        Curve("c", floats(0, 2, 4), floats(1, 2, 4), 1, step=True),
        Curve("d", floats(2), floats(4), 0),
    ),
    (Bars("e", floats(0, 3), floats(1, 4), floats(4, 16), 4),),
)


def test_a_plot_stands_where_its_values_are() -> None:
    """x: 0 to 4 on 74 to 542, 117 each. y: 0 to 8 on 262 to 28, below a line of legend."""
    x, y, height = scales(PLOT)
    assert (x.start, x.end, y.start, y.end, height) == (74, 542, 262, 28, 308)
    text = draw(PLOT)
    assert text.startswith('<svg class="plot" viewBox="0 0 560 308"')
    marks = re.findall(r'<g class="mark ([^"]+)" data-mark="(\d)">(.*?)</g>', text)
    assert [(tone, place) for tone, place, _ in marks] == [
        ("t2", "0"),
        ("t1 dashed", "1"),
        ("t1", "2"),
        ("t0", "3"),
        ("t4", "4"),
    ]
    bodies = [body for _, _, body in marks]
    # Steps from place to place: (74, 262) to (191, 203.5); (425, 145) to (542, 28).
    assert bodies[0] == (
        '<path class="line" d="M74 262l117-58.5"/><path class="line" d="M425 145l117-117"/>'
    )
    # Round the band: (74, 145), (542, 28), (542, 86.5), (74, 203.5).
    assert bodies[1] == (
        '<path class="band" d="M74 145l468-117 0 58.5-468 117z"/>'
        '<path class="line" d="M74 145l468-117"/>'
    )
    # Up at 308 and at 542.
    assert bodies[2] == '<path class="line" d="M74 232.8h234v-29.3h234v-58.5"/>'
    assert bodies[3] == '<circle class="dot" cx="308.0" cy="145.0" r="2.5"/>'
    assert bodies[4] == (
        '<rect class="bar" x="74.0" y="145.0" width="116.0" height="117.0"/>'
        '<rect class="bar" x="425.0" y="28.0" width="116.0" height="234.0"/>'
    )
    assert '<rect class="area" x="74" y="28" width="468" height="234"/>' in text
    ticks = re.findall(r'<text class="tick (\w+)" x="([\d.]+)" y="([\d.]+)">(.*?)</text>', text)
    assert ticks == [
        ("end", "68", "266.0", "0"),
        ("end", "68", "207.5", "2"),
        ("end", "68", "149.0", "4"),
        ("end", "68", "90.5", "6"),
        ("end", "68", "32.0", "8"),
        *(("middle", f"{74 + 117 * i:.1f}", "278", str(i)) for i in range(4)),
        ("end", "556.0", "278", "4"),
    ]
    assert '<path class="axis" d="M74 28V262H542"/>' in text
    assert '<text class="label middle" x="308" y="299">x</text>' in text
    assert '<text class="label middle" transform="translate(14 145) rotate(-90)">y</text>' in text
    keys = re.findall(r'data-key-of="(\d)"><path class="swatch" d="M([\d.]+) ([\d.]+)h16"/>', text)
    # A name takes 38 and 7.3 a letter.
    assert keys == [(str(i), f"{74 + 45.3 * i:g}", "14") for i in range(5)]


def test_a_long_legend_takes_lines() -> None:
    names = ["x" * 30, "y" * 30, "z" * 80]
    curves = tuple(Curve(name, floats(0, 1), floats(0, 1), 0) for name in names)
    one = Plot("p", "t", "c", Axis("x", "ratio"), Axis("y", "ratio"), curves)
    text = draw(one)
    found = re.findall(r'<text class="legend" x="([\d.]+)" y="([\d.]+)">(.*?)</text>', text)
    # 257 each: two of them do not fit between 10 and 560 with a third of 461.
    cut = "z" * 29 + "…" + "z" * 28
    assert found == [("31", "18", names[0]), ("288", "18", names[1]), ("31", "36", cut)]
    assert scales(one)[2] == 290 + 2 * 18


def test_stacked_bars_lie_end_to_end() -> None:
    rows = (("write", (1e6, 3e6)), ("read", (0.0, 2e6)))
    text = draw(StackedBars("s", "t", "c", ("queue", "chip"), rows))
    bars = re.findall(
        r'data-mark="(\d)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)">'
        r"<title>(.*?)</title>",
        text,
    )
    # 398 for the longest row, 4 ms; below one line of legend.
    assert bars == [
        ("0", "74.0", "36", "99.5", "19", "write, queue: 1.00 ms (25.0 %)"),
        ("1", "173.5", "36", "298.5", "19", "write, chip: 3.00 ms (75.0 %)"),
        ("1", "74.0", "62", "199.0", "19", "read, chip: 2.00 ms (100 %)"),
    ]
    totals = re.findall(r'<text class="tick" x="([\d.]+)" y="([\d.]+)">(.*?)</text>', text)
    assert totals == [("478.0", "49", "4.00 ms"), ("279.0", "75", "2.00 ms")]
    assert 'viewBox="0 0 560 92"' in text


def test_stacked_bars_stand_below_all_lines_of_their_legend() -> None:
    parts = ("x" * 40, "y" * 40, "z" * 40)
    text = draw(StackedBars("s", "t", "c", parts, (("w", (1.0, 2.0, 3.0)),)))
    assert re.findall(r'class="legend" x="[\d.]+" y="(\d+)"', text) == ["18", "36", "54"]
    assert re.findall(r'class="bar mark [^>]* y="(\d+)"', text) == ["72"] * 3
    assert 'viewBox="0 0 560 102"' in text


def test_a_plot_as_a_file_has_its_title_and_caption() -> None:
    text = draw(PLOT, is_file=True)
    assert 'viewBox="0 -28 560 336" width="1120"' in text
    assert "<title>A title</title><desc>A caption.</desc>" in text
    assert '<rect class="paper" y="-28" width="560" height="336"/>' in text


def test_fewer_points_keep_the_ends() -> None:
    x = np.arange(11, dtype=float)
    kept, double = thin(5, x, 2 * x)
    assert kept.tolist() == [0, 2, 5, 8, 10]
    assert double.tolist() == [0, 4, 10, 16, 20]
    assert [column.tolist() for column in thin(11, x)] == [x.tolist()]
    assert [points(n) for n in (0, 1, 6, 7, 42, 43)] == [700, 700, 700, 600, 100, 100]


def test_a_ratio_far_from_the_others_is_an_arrow_with_its_number() -> None:
    def drawn_with(ratios: list[float]) -> str:
        rows = tuple(
            (f"p{i}", Point(one, one - 0.001, one + 0.001, "other")) for i, one in enumerate(ratios)
        )
        return draw(Forest("forest", "Compared", "", (("WAF", rows),)))

    far = drawn_with([1.0, 0.99, 1.01, 1.02, 3.11])
    assert far.count("<circle") == 4
    assert ">3.11</text>" in far
    # Where all are near, or spread evenly, each has its place.
    for ratios in ([1.0, 0.999, 1.001, 1.03], [1.0, 1.2, 1.5, 2.5]):
        assert drawn_with(ratios).count("<circle") == 4
    # Texts below the axis keep apart.
    places = [float(at) for at in re.findall(r'class="tick middle" x="([\d.]+)"', far)]
    assert all(b - a > 20 for a, b in pairwise(places))


def test_the_lowest_ratio_has_its_place_and_long_intervals_are_cut() -> None:
    """Two panels with one scale, as on the page of `try`."""

    def rows(lowest: Point, wide: Point) -> tuple[tuple[str, Point | None], ...]:
        near = (("near", Point(1.001, 0.998, 1.004, "other")), ("level", None))
        base = ("base", Point(1.0, None, None, "base"))
        return (base, ("lowest", lowest), *near, ("wide", wide))

    panels = (
        ("one", rows(Point(0.85, 0.80, 0.9, "lowest"), Point(1.01, 0.99, 1.7, "other"))),
        ("many", rows(Point(0.99, 0.98, 0.995, "lowest"), Point(1.002, 0.9, 1.1, "other"))),
    )

    def places(shared: bool) -> list[dict[str, tuple[float, float, float]]]:
        text = draw(Forest("forest", "Compared", "", panels, shared))
        found = re.findall(
            r'<g class="point \w+"><title>(\w+): .*?M([\d.]+) [\d.]+H([\d.]+)"/>'
            r'(?:<path class="dot"[^>]*>)*<circle class="dot" cx="([\d.]+)"',
            text,
        )
        assert len(found) == 8, "no ratio is beyond the axis"
        of = [(name, (float(a), float(at), float(b))) for name, a, b, at in found]
        return [dict(of[:4]), dict(of[4:])]

    one, many = places(shared=True)
    per_ratio = (one["base"][1] - one["lowest"][1]) / 0.15
    # The winner has its interval; that of the other is cut, with an arrow.
    assert one["lowest"][0] == pytest.approx(one["base"][1] - 0.2 * per_ratio, abs=0.2)
    assert one["wide"][2] < one["base"][1] + 0.5 * per_ratio
    assert per_ratio > 400
    # The same scale in both panels, and one of its own in each of them otherwise.
    assert (many["base"][1] - many["lowest"][1]) / 0.01 == pytest.approx(per_ratio, rel=0.05)
    own = places(shared=False)[1]
    assert (own["base"][1] - own["lowest"][1]) / 0.01 > 2 * per_ratio
