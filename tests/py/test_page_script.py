"""What the page's scripts compute, in node: ratios, values under the pointer, zoom, operations."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest

import ssdlab
from page_script import needs_node, used
from running import SMALL
from ssdlab.html.compare_page import comparison_page
from ssdlab.html.page import Section, document, figures, script_data
from ssdlab.html.plot import Axis, Bars, Curve, Plot
from ssdlab.html.scale import _nice_step
from test_plots import floats

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


def check(done: ssdlab.Comparison) -> None:
    """The ratios to every baseline are those that a page with that baseline is written with."""
    labels = list(done.repetitions or done.reports)
    first, *others = used(comparison_page(done), CELLS)
    assert first == others[0]
    assert len(others) == len(labels)
    for base, rows in zip(labels, others, strict=True):
        page = re.sub(r"<script>.*</script>", "", comparison_page(done, base), flags=re.DOTALL)
        written = used(page, CELLS.partition("const found")[0] + "return cells();")
        assert [row["base"] for row in rows] == [label == base for label in labels]
        assert [row["texts"] for row in rows] == [row["texts"] for row in written], base
        assert len(rows[0]["texts"]) > 8


def test_ratios_of_repetitions_are_paired_by_seed_and_the_right_way_up() -> None:
    done = compared(seeds=4)
    check(done)
    # Some seeds are missing, in each configuration others.
    kept = {"greedy": (4, 1, 2), "fifo": (1, 3, 4), "random": (2, 3, 4)}
    part = {
        label: {seed: done.repetitions[label][seed] for seed in seeds}
        for label, seeds in kept.items()
    }
    check(replace(done, repetitions=part))


def test_ratios_of_single_runs_are_the_right_way_up() -> None:
    done = compared()
    check(done)
    wafs = [report.waf.total or 0 for report in done.reports.values()]
    for at, rows in enumerate(used(comparison_page(done), CELLS)[1:]):
        for i, row in enumerate(rows):
            ratio = re.match(r"[\d.]+", row["texts"][0])
            assert ratio
            assert float(ratio[0]) == pytest.approx(wafs[i] / wafs[at], abs=0.0005001)


PAGE = document(
    "p",
    "",
    [
        Section(
            "plots",
            "Plots",
            figures(
                Plot(
                    key,
                    "title",
                    "caption",
                    Axis("time", "ns"),
                    Axis("latency", "ns", low=0.0, high=8e6),
                    (
                        Curve("a", floats(0, 1e6, 2e6, 4e6), floats(1e6, 2e6, math.nan, 8e6), 0),
                        Curve("b", floats(0, 4e6), floats(1, 2), 1, floats(0, 1), floats(2, 3)),
                    ),
                    linked=linked,
                )
                for key, linked in (("first", True), ("second", True), ("alone", False))
            )
            + "<details><summary>s</summary></details>",
        )
    ],
)
# Both axes and the browser's box are 560 wide: a place is 100 left of where the pointer is.
HELPERS = """
const tip = document.getElementById("tip");
const svg = (key) => document.querySelector(`#${key} svg`);
const at = (place) => ({ clientX: 100 + place, clientY: 150, pageX: 100 + place, pageY: 30 });
const key = (node, name, more = {}) => node.dispatch("keydown", { key: name, ...more });
const shown = () => (tip.hidden ? null : tip.textContent);
const cross = (key) => svg(key).querySelector(".cross").getAttribute("d");
const zoomed = (key) => svg(key).querySelector(".marks").getAttribute("transform");
const ticks = (key) => svg(key).querySelector(".x-axis").querySelectorAll("text")
  .map((one) => [+(+one.getAttribute("x")).toFixed(3), one.textContent]);
"""


def facts(use: str, page: str = PAGE) -> Any:  # noqa: ANN401 - what the script returns
    return used(page, HELPERS + use)


def test_values_in_words() -> None:
    cases: list[tuple[float, str, int, str]] = [
        (1e9, "ns", 4, "1.000 s"),
        (999e6, "ns", 4, "999.0 ms"),
        (1234567, "ns", 4, "1.235 ms"),
        (1234567, "ns", 6, "1.23457 ms"),
        (1e3, "ns", 4, "1.000 µs"),
        (0.25, "ns", 4, "0.2500 ns"),
        (-2e6, "ns", 4, "-2.000 ms"),
        (123456e9, "ns", 4, "123,456 s"),
        (10000e9, "ns", 4, "10,000 s"),
        (9999.4e9, "ns", 4, "9999 s"),
        (1e12, "count", 4, "1.000 T"),
        (5e9, "count", 4, "5.000 G"),
        (2e6, "count", 4, "2.000 M"),
        (12345, "count", 4, "12,345"),
        (2**40, "bytes", 4, "1.000 TiB"),
        (3 * 2**30, "bytes", 4, "3.000 GiB"),
        (2**20, "bytes", 4, "1.000 MiB"),
        (1536, "bytes", 4, "1.500 KiB"),
        (0, "bytes", 4, "0 B"),
        (0.125, "share", 4, "12.50 %"),
        (0, "share", 4, "0 %"),
        (1.5, "ratio", 4, "1.500"),
    ]
    asked = json.dumps([case[:3] for case in cases])
    found = facts(f"return {asked}.map(([v, u, d]) => window.ssdlab.shown(v, u, d));")
    assert found == [case[3] for case in cases]
    steps = [(5.0, 7), (0.99, 6), (1.01, 1), (70, 6), (6, 6), (2e9, 4)]
    asked = json.dumps(steps)
    found = facts(f"return {asked}.map(([span, most]) => window.ssdlab.niceStep(span, most));")
    assert found == pytest.approx([_nice_step(span, most) for span, most in steps])
    assert found == pytest.approx([1, 0.2, 2, 20, 1, 5e8])


def test_the_pointer_names_the_nearest_values() -> None:
    """x: 0 to 4 ms on 74 to 542, 117 a millisecond. Below 28 are the values."""
    found = facts("""
    return [74, 130, 133, 249, 367, 542, 545, 69].map((place) => {
      svg("first").dispatch("pointermove", at(place));
      return [shown(), cross("first"), tip.style.left, tip.style.top];
    });
    """)
    b = "b: 1 ns (0 ns to 2 ns)"
    last = "b: 2 ns (1 ns to 3 ns)"
    texts = [found[i][0] for i in range(6)]
    assert texts == [
        f"time 0 ns\na: 1.00 ms\n{b}",
        f"time 478.63 µs\na: 1.00 ms\n{b}",
        f"time 504.27 µs\na: 2.00 ms\n{b}",
        f"time 1.4957 ms\na: 2.00 ms\n{b}",
        # Of "a" there is no value at 2 ms, and 2.5 ms is nearer to the end of "b".
        f"time 2.5043 ms\n{last}",
        f"time 4.0000 ms\na: 8.00 ms\n{last}",
    ]
    assert found[0][1:] == ["M74 28V262", "188px", "44px"]
    # At the right edge it stands to the left of the pointer: 80 wide, the window 560.
    assert found[5][1:] == ["M542 28V262", "548px", "44px"]
    # Within four of the area there is still a value, beyond there is none.
    assert found[6][0] == texts[5]
    # The legend, the area beyond: nothing.
    assert found[7][:2] == [None, ""]


def test_the_tip_stays_in_the_window() -> None:
    """80 wide in a window of 560: to the right of the pointer up to 466, then to its left."""
    found = facts("""
    const left = (x) => { window.ssdlab.showTip("t", x, 20); return tip.style.left; };
    const places = [left(10), left(466), left(467)];
    window.scrollX = 100;
    places.push(left(566), left(567));
    Object.defineProperty(tip, "offsetWidth", { value: 600 });
    return [...places, left(200), tip.style.top];
    """)
    assert found == ["24px", "480px", "373px", "580px", "473px", "104px", "34px"]


def test_arrow_keys_walk_along_the_values() -> None:
    found = facts("""
    const walk = (...keys) => keys.map(([name, more]) => {
      const event = key(svg("alone"), name, more);
      return [shown() && shown().split("\\n")[0], event.prevented];
    });
    const right = ["ArrowRight"], left = ["ArrowLeft"];
    return walk(right, right, left, ["ArrowRight", { shiftKey: true }], right, left,
      ["ArrowLeft", { shiftKey: true }], ["x"], ["ArrowRight", { ctrlKey: true }], ["Escape"]);
    """)
    times = [0, 1, 0, 4, 4, 2, 0]
    walked = [f"time {ms}.0000 ms" if ms else "time 0 ns" for ms in times]
    assert [text for text, _ in found[:7]] == walked
    assert all(prevented for _, prevented in found[:7])
    assert found[7:] == [["time 0 ns", False], ["time 0 ns", False], [None, True]]
    first, tipped = facts("""
    key(svg("alone"), "ArrowLeft");
    return [shown().split("\\n")[0], [tip.style.left, tip.style.top]];
    """)
    assert first == "time 4.0000 ms"
    # Where the value is, 40 below the top of the picture; the window is scrolled by 7.
    assert tipped == [f"{642 - 14 - 80}px", f"{7 + 50 + 40 + 14}px"]


def test_zoom_is_that_of_all_linked_plots() -> None:
    found = facts("""
    const before = ticks("first");
    const states = [];
    const note = () => states.push([zoomed("first"), zoomed("second"), zoomed("alone")]);
    key(svg("first"), "+");
    note();
    const close = ticks("second");
    key(svg("first"), "-");
    note();
    key(svg("alone"), "+");
    note();
    svg("second").dispatch("pointerdown", at(191));
    svg("second").dispatch("pointermove", at(250));
    const chosen = ["x", "width", "y", "height"]
      .map((name) => svg("second").querySelector(".chosen").getAttribute(name));
    svg("second").dispatch("pointermove", at(308));
    svg("second").dispatch("pointerup", at(308));
    note();
    const dragged = ticks("first");
    svg("first").dispatch("pointermove", at(308));
    const middle = [shown().split("\\n")[0], cross("first")];
    svg("second").dispatch("dblclick");
    note();
    const after = ticks("first");
    for (const [from, to] of [[191, 197], [60, 300], [191, 198]]) {
      svg("first").dispatch("pointerdown", at(from));
      svg("first").dispatch("pointerup", at(to));
      note();
    }
    key(svg("first"), "Escape");
    note();
    return { before, after, close, states, chosen, dragged, middle };
    """)
    whole = "translate(0 0) scale(1 1)"
    assert found["before"] == found["after"]
    assert [text for _, text in found["before"]] == ["0", "1", "2", "3", "4"]
    # 1 to 3 ms: what stood at 191 stands at 74.
    close = "translate(-308 0) scale(2 1)"
    states = found["states"]
    assert states[0] == [close, close, None]
    texts = ["1.0", "1.5", "2.0", "2.5", "3.0"]
    assert found["close"] == [[74 + 117 * i, text] for i, text in enumerate(texts)]
    # Twice as much, and no more than there is; a plot that is not linked does nothing.
    assert states[1] == states[2] == [whole, whole, None]
    assert found["chosen"] == ["191", "59", "28", "234"]
    # 1 to 2 ms.
    assert states[3] == ["translate(-690 0) scale(4 1)"] * 2 + [None]
    texts = ["1.0", "1.2", "1.4", "1.6", "1.8", "2.0"]
    assert [text for _, text in found["dragged"]] == texts
    assert [place for place, _ in found["dragged"]] == pytest.approx(
        [74 + 93.6 * i for i in range(6)]
    )
    assert found["middle"] == ["time 1.5000 ms", "M308 28V262"]
    assert states[4] == [whole, whole, None]
    # Too short; begun beside the area; just long enough.
    assert states[5] == states[6] == [whole, whole, None]
    place, grow = map(float, re.findall(r"-?[\d.]+(?= 0\)| 1\))", states[7][0]))
    assert (place, grow) == pytest.approx((74 - 191 * 468 / 7, 468 / 7))
    assert states[8] == [whole, whole, None]


def test_a_finger_zooms_unless_the_page_scrolls() -> None:
    found = facts("""
    const states = [];
    const note = () => states.push([zoomed("first"), zoomed("second"), zoomed("alone")]);
    const finger = (place) => ({ ...at(place), pointerType: "touch" });
    svg("first").dispatch("pointerdown", finger(191));
    svg("first").dispatch("pointermove", finger(250));
    svg("first").dispatch("pointercancel", finger(250));
    svg("first").dispatch("pointerup", finger(308));
    note();
    svg("first").dispatch("pointerdown", finger(191));
    svg("first").dispatch("pointerup", finger(308));
    note();
    const reset = () => document.querySelectorAll(".reset").map((one) => one.hidden);
    const resets = [reset()];
    document.querySelectorAll(".reset")[1].dispatch("click");
    note();
    resets.push(reset());
    return { states, resets };
    """)
    states = found["states"]
    assert states[0] == [None, None, None]
    assert states[1] == ["translate(-690 0) scale(4 1)"] * 2 + [None]
    # The buttons of both plots, of which either resets both.
    assert states[2] == ["translate(0 0) scale(1 1)"] * 2 + [None]
    assert found["resets"] == [[False, False], [True, True]]


def test_curves_are_switched_off_and_on() -> None:
    found = facts("""
    const keys = svg("first").querySelectorAll(".key");
    const marks = svg("first").querySelectorAll(".mark");
    const off = () => marks.map((one) => one.classList.contains("off"));
    const pressed = () => keys.map((one) => one.getAttribute("aria-pressed"));
    const states = [[off(), pressed()]];
    const typed = (key) => ["keydown", { key }];
    for (const act of [["click"], ["click"], typed("Enter"), typed(" "), typed("x"), ["click"]]) {
      const event = keys[1].dispatch(...act);
      states.push([off(), pressed(), event.prevented]);
    }
    svg("first").dispatch("pointermove", at(74));
    return { states, shown: shown(), role: keys[0].getAttribute("role") };
    """)
    on, off = ([False, False], ["true", "true"]), ([False, True], ["true", "false"])
    wanted = [[*off, True], [*on, True], [*off, True], [*on, True], [*on, False], [*off, True]]
    assert found["states"] == [[*on], *wanted]
    assert found["shown"] == "time 0 ns\na: 1.00 ms"
    assert found["role"] == "button"


def test_a_log_axis_and_bars() -> None:
    plot = Plot(
        "log",
        "t",
        "c",
        Axis("size", "bytes", log=True),
        Axis("share", "share"),
        bars=(Bars("sizes", floats(1024, 4096), floats(2048, 8192), floats(0.25, 0.75), 0),),
    )
    page = document("p", "", [Section("plots", "Plots", figures([plot]))])
    found = facts(
        """
    return [74, 230, 386, 542].map((place) => {
      svg("log").dispatch("pointermove", at(place));
      return shown();
    });
    """,
        page,
    )
    # 1 to 8 KiB: 156 each time it doubles. The middles of the bars are 1.5 and 6 KiB.
    assert found == [
        "size 1.0000 KiB\nsizes: 25.0 %",
        "size 2.0000 KiB\nsizes: 25.0 %",
        "size 4.0000 KiB\nsizes: 75.0 %",
        "size 8.0000 KiB\nsizes: 75.0 %",
    ]


def test_printing_opens_the_first_details_of_each_section() -> None:
    assert facts("""
    const one = document.querySelector("details");
    const before = one.open;
    for (const act of window.listeners.beforeprint) act();
    return [before === true, one.open];
    """) == [False, True]


LANES = {
    "channels": 2,
    "chips": 2,
    "lanes": 2,
    "first": 1000,
    "last": 11_000,
    "kinds": ["read", "program", "erase"],
    # Chip, kind, start after that of the one before, length, plane, block, page.
    "ops": [
        *(0, 0, 0, 2000, 0, 5, 7),
        *(3, 1, 1000, 4000, 1, 6, 8),
        *(1, 2, 3000, 6000, 0, 9, -1),
        *(0, 0, 5000, 1000, 0, 5, 9),
    ],
}


def lanes(use: str, **changes: object) -> Any:  # noqa: ANN401 - what the script returns
    body = (
        '<div id="lanes"><button data-do="in"></button><button data-do="out"></button>'
        '<button data-do="left"></button><button data-do="right"></button>'
        '<button data-do="all"></button><output id="lanes-range"></output>'
        '<canvas id="lanes-canvas"></canvas>'
        f"{script_data(json.dumps({**LANES, **changes}), 'operations')}</div>"
    )
    page = document("p", "", [Section("timeline", "Timeline", body)])
    return facts(
        """
    const canvas = document.getElementById("lanes-canvas");
    const pen = canvas.getContext();
    const frame = () => { pen.calls.length = 0; for (const act of window.frames.splice(0)) act(); };
    const range = () => { frame(); return document.getElementById("lanes-range").textContent; };
    const act = (name) => document.querySelector(`[data-do="${name}"]`).dispatch("click");
    """
        + use,
        page,
    )


def test_operations_stand_in_their_lanes() -> None:
    """10 us on the 510 from 44 on; lanes 10 high, 4 between channels."""
    found = lanes("""
    const size = [canvas.width, canvas.height];
    return { calls: pen.calls.slice(), height: canvas.style.height, size };
    """)
    calls = found["calls"]
    # Four lanes, two gaps, 26 for the ticks; two dots a point.
    assert (found["height"], found["size"]) == ("74px", [1120, 148])
    assert calls[0] == ["scale", 2, 2]
    backs = [call for call in calls if call[0] == "fillRect" and call[5] == "--grid"]
    assert backs[:2] == [
        ["fillRect", 44, 0, 510, 20, "--grid"],
        ["fillRect", 44, 24, 510, 20, "--grid"],
    ]
    names = [call for call in calls if call[0] == "fillText" and call[1].startswith("ch")]
    assert names == [
        ["fillText", "ch 0", 39, 10, "--faint"],
        ["fillText", "ch 1", 39, 34, "--faint"],
    ]
    assert ["rect", 44, 0, 510, 48] in calls
    kinds = [call[1:] for call in calls if call[0] == "fillRect" and call[5].startswith("var(")]
    assert kinds == [
        [44, 0, 101.5, 9, "var(--k0)"],
        [95, 34, 203.5, 9, "var(--k1)"],
        [248, 10, 305.5, 9, "var(--k2)"],
        [503, 0, 50.5, 9, "var(--k0)"],
    ]
    ticks = [call[1:3] for call in calls if call[0] == "fillText" and call[1].endswith("µs")]
    # From 1 to 11 us; at the edges there is no room for words.
    assert ticks == [["5 µs", 248], ["10 µs", 503]]


def test_the_window_of_operations_moves() -> None:
    found = lanes("""
    const ranges = [range()];
    for (const name of ["in", "left", "left", "right", "out", "all"]) {
      act(name);
      ranges.push(range());
    }
    for (const name of ["+", "ArrowRight", "-", "=", "ArrowLeft", "Home", "x"]) {
      const event = canvas.dispatch("keydown", { key: name });
      ranges.push([range(), event.prevented]);
    }
    canvas.dispatch("keydown", { key: "+", ctrlKey: true });
    ranges.push(range());
    canvas.dispatch("dblclick", { offsetX: 44 + 255 });
    ranges.push(range());
    canvas.dispatch("pointerdown", { offsetX: 300 });
    canvas.dispatch("pointermove", { offsetX: 198 });
    ranges.push(range());
    canvas.dispatch("pointerup");
    for (let i = 0; i < 9; i += 1) act("in");
    ranges.push(range());
    return ranges;
    """)
    whole = "1.00000 µs to 11.0000 µs"
    assert found[:7] == [
        whole,
        "3.50000 µs to 8.50000 µs",
        "2.25000 µs to 7.25000 µs",
        "1.00000 µs to 6.00000 µs",
        "2.25000 µs to 7.25000 µs",
        whole,
        whole,
    ]
    assert found[7:14] == [
        ["3.50000 µs to 8.50000 µs", True],
        ["4.75000 µs to 9.75000 µs", True],
        [whole, True],
        ["3.50000 µs to 8.50000 µs", True],
        ["2.25000 µs to 7.25000 µs", True],
        [whole, True],
        [whole, False],
    ]
    assert found[14] == whole
    # 0.4 of it around the middle; then by a fifth of it; never less than 100 ns.
    assert found[15] == "4.00000 µs to 8.00000 µs"
    assert found[16] == "4.80000 µs to 8.80000 µs"
    assert found[17] == "6.75000 µs to 6.85000 µs"


def test_the_pointer_names_the_operation() -> None:
    found = lanes("""
    const point = (offsetX, offsetY) => {
      canvas.dispatch("pointermove", { offsetX, offsetY, pageX: 10, pageY: 20 });
      frame();
      const marked = pen.calls.filter((one) => one[0] === "fillRect" && one[5] === "--ink");
      return [shown(), marked.length];
    };
    const points = [[100, 5], [100, 40], [300, 15], [300, 5], [505, 2], [148, 5]];
    const told = points.map(([x, y]) => point(x, y));
    canvas.dispatch("pointerleave");
    return [...told, [shown(), tip.style.top]];
    """)
    first = "read\nchannel 0, chip 0, plane 0, block 5, page 7\nfrom 1.00000000 µs, for 2.00 µs"
    assert found[0] == [first, 1]
    assert found[1] == [
        "program\nchannel 1, chip 1, plane 1, block 6, page 8\nfrom 2.00000000 µs, for 4.00 µs",
        1,
    ]
    assert found[2] == [
        "erase\nchannel 0, chip 1, plane 0, block 9\nfrom 5.00000000 µs, for 6.00 µs",
        1,
    ]
    assert found[3] == [None, 0]
    assert found[4] == [
        "read\nchannel 0, chip 0, plane 0, block 5, page 9\nfrom 10.0000000 µs, for 1.00 µs",
        1,
    ]
    # Beside it by less than two dots counts.
    assert found[5] == [None, 0]
    assert found[6] == [None, "34px"]


def test_many_chips_share_the_lane_of_their_channel() -> None:
    found = lanes(
        "return pen.calls.filter((one) => one[0] === 'fillRect').map((one) => one.slice(1, 6));",
        lanes=1,
    )
    kinds = [call for call in found if call[4].startswith("var(")]
    # Lanes 18 high.
    assert [(call[1], call[3]) for call in kinds] == [(0, 17), (22, 17), (0, 17), (0, 17)]
