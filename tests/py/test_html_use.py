"""Pages as their readers use them, in headless Chromium: with mouse, finger and keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browser
import ssdlab
from browser import Page
from running import ROOT, SMALL
from ssdlab.html.write import trace_files

pytestmark = pytest.mark.skipif(
    browser.BROWSER is None, reason="no chromium: the page was not used in a browser"
)

WHOLE = "translate(0 0) scale(1 1)"
PLOTS = {"run": "free", "compare": "write-time", "seeds": "write-time", "trace": "rate"}
"""A plot over time of each page."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    values = {**SMALL, "metrics.interval": "2 ms"}
    logged = {**values, "metrics.op_log": True}
    ssdlab.run("greedy-8ch", set=logged, out=folder / "run", progress=False)
    config = ssdlab.load_config("greedy-8ch", set=values)
    vary = {"gc.victim": ["greedy", "fifo"]}
    ssdlab.compare(config, vary=vary, out=folder / "compare", progress=False)
    ssdlab.compare(config, vary=vary, seeds=3, out=folder / "seeds", progress=False)
    trace = ssdlab.Trace(ROOT / "traces/varmail.trace.zst").info()
    trace_files([trace], out=folder / "trace.html")
    found = {kind: folder / kind / "report.html" for kind in ("run", "compare", "seeds")}
    return {**found, "trace": folder / "trace.html"}


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser.page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(chromium: Page) -> Iterator[Page]:
    """The page; the console must be empty at the end."""
    chromium.console.clear()
    yield chromium
    assert chromium.console == []


def zoom(page: Page, key: str) -> list[str | None]:
    """How each pane of a plot is zoomed."""
    script = (
        f"[...document.querySelectorAll('#{key} .marks')].map(m => m.getAttribute('transform'))"
    )
    found: list[str | None] = page.run(script)
    return found


def grown(page: Page, key: str) -> list[float]:
    """How many times wider each pane of a plot is drawn."""
    return [round(float(str(one).partition("scale(")[2].split()[0]), 2) for one in zoom(page, key)]


def selected(page: Page) -> str:
    return str(page.run("String(getSelection())"))


def tip(page: Page) -> str | None:
    found: str | None = page.run(
        "(() => { const tip = document.getElementById('tip');"
        " return tip.hidden ? null : tip.textContent; })()"
    )
    return found


def shows(page: Page, selector: str) -> bool:
    """Whether an element can be seen."""
    return bool(page.run(f"document.querySelector({json.dumps(selector)}).checkVisibility()"))


@pytest.mark.parametrize("kind", [*PLOTS])
def test_dragging_zooms_and_selects_no_text(kind: str, page: Page, files: dict[str, Path]) -> None:
    page.opened(files[kind])
    key = PLOTS[kind]
    area, reset = f"#{key} .area", f"#{key} .reset"
    assert not shows(page, reset)
    # To a place far below the plot: what lies between is not selected.
    start = page.at(area, 0.25)
    page.drag(start, (page.at(area, 0.5)[0], start[1] + 350))
    assert selected(page) == ""
    assert set(grown(page, key)) == {4}
    assert shows(page, reset)
    page.click(page.at(reset))
    assert set(zoom(page, key)) == {WHOLE}
    assert not shows(page, reset)
    page.drag(page.at(area, 0.75), page.at(area, 0.5))
    assert set(grown(page, key)) == {4}
    page.press("Escape")
    assert set(zoom(page, key)) == {WHOLE}
    page.drag(page.at(area, 0.25), page.at(area, 0.5))
    page.click(page.at(area), 2)
    assert set(zoom(page, key)) == {WHOLE}
    # A drag to outside of the window's plot ends at its edge.
    page.drag(page.at(area, 0.5), (page.at(area)[0] + 2000, page.at(area)[1]))
    assert set(grown(page, key)) == {2}
    page.press("0")
    assert set(zoom(page, key)) == {WHOLE}


@pytest.mark.parametrize("kind", ["run", "seeds"])
def test_text_outside_of_plots_is_selected(kind: str, page: Page, files: dict[str, Path]) -> None:
    page.opened(files[kind])
    key = PLOTS[kind]
    page.drag(page.at(f"#{key} figcaption", 0.01, 0.2), page.at(f"#{key} figcaption", 0.5, 0.2))
    assert len(selected(page)) > 10
    page.click(page.at("main td data"), 2)
    assert selected(page).strip()
    # The label of an axis is text, too: dragging over it zooms nothing.
    before = zoom(page, key)
    page.drag(page.at(f"#{key} .x-axis text", 0.0), page.at(f"#{key} .label", 1.0))
    assert zoom(page, key) == before
    # From a caption across a plot the selection goes on as anywhere.
    page.drag(page.at(f"#{key} h3", 0.01), page.at(f"#{key} figcaption", 0.3))
    assert len(selected(page)) > 10
    assert zoom(page, key) == before


def test_the_mouse_reads_values_and_switches_curves(page: Page, files: dict[str, Path]) -> None:
    page.opened(files["compare"])
    page.mouse("Moved", page.at("#cdf-write .area"))
    text = tip(page)
    assert text
    assert [line.partition(":")[0] for line in text.splitlines()[1:]] == ["greedy", "fifo"]
    key = "#cdf-write .key"
    page.mouse("Moved", page.at(key))
    assert tip(page) is None
    # What the others cover can be seen while a name is pointed at.
    assert (
        page.run("getComputedStyle(document.querySelectorAll('#cdf-write .mark')[1]).opacity")
        == "0.15"
    )
    page.click(page.at(key))
    assert page.run("document.querySelectorAll('#cdf-write .mark.off').length") == 1
    assert selected(page) == ""
    page.click(page.at(key), 2)
    assert page.run("document.querySelectorAll('#cdf-write .mark.off').length") == 1
    assert selected(page) == ""
    page.click(page.at(key))
    assert page.run("document.querySelectorAll('#cdf-write .mark.off').length") == 0
    # Of small multiples the one under the mouse is read, at a time that all of them show.
    page.mouse("Moved", page.at("#write-time .pane:nth-of-type(2) .area"))
    text = tip(page)
    assert text
    assert [line.partition(":")[0] for line in text.splitlines()[1:]] == ["fifo"]
    crosses = page.run(
        "[...document.querySelectorAll('#write-time .cross')].map(c => c.getAttribute('d'))"
    )
    assert len({*crosses}) == 1
    assert crosses[0]


@pytest.mark.parametrize("kind", [*PLOTS])
def test_taps_read_values_and_swipes_zoom(kind: str, page: Page, files: dict[str, Path]) -> None:
    page.opened(files[kind], 480, 900, touch=True)
    key = PLOTS[kind]
    area = f"#{key} .area"
    page.tap(page.at(area, 0.4))
    first = tip(page)
    assert first
    page.tap(page.at(area, 0.8))
    assert tip(page) not in (None, first)
    page.tap(page.at(area, 0.8))
    assert tip(page) is None
    page.tap(page.at(area, 0.4))
    assert tip(page) == first
    page.tap(page.at(f"#{key} h3", 0.9))
    assert tip(page) is None
    # Sideways zooms; up and down scrolls the page, and zooms nothing.
    start = page.at(area, 0.25)
    page.swipe(start, page.at(area, 0.5))
    assert min(grown(page, key)) > 2
    page.tap(page.at(f"#{key} .reset"))
    page.until(f"document.querySelector('#{key} .reset').hidden")
    assert set(zoom(page, key)) == {WHOLE}
    start, before = page.at(area), page.run("scrollY")
    page.swipe(start, (start[0], start[1] - 300))
    assert page.run("scrollY") > before + 100
    assert set(zoom(page, key)) == {WHOLE}
    assert page.run("document.querySelector('.chosen').getAttribute('width')") == "0"


def test_a_tap_on_a_name_switches_its_curve(page: Page, files: dict[str, Path]) -> None:
    page.opened(files["compare"], 480, 900, touch=True)
    off = "document.querySelectorAll('#cdf-write .mark.off').length"
    for count in (1, 0):
        page.tap(page.at("#cdf-write .key"))
        page.until(f"{off} === {count}")


def test_keys_read_zoom_and_reset(page: Page, files: dict[str, Path]) -> None:
    page.opened(files["trace"])
    page.run("document.querySelector('#map-writes svg').focus()")
    page.press("ArrowRight", "ArrowUp")
    text = tip(page)
    assert text
    info = ssdlab.Trace(ROOT / "traces/varmail.trace.zst").info()
    count = int(info.map.writes[1][0])
    assert text.splitlines()[2] == f"{count:,} pages written"
    page.press("ArrowUp")
    assert tip(page) != text
    page.press("+")
    # All plots over time, and they say so.
    assert WHOLE not in {*zoom(page, "rate"), *zoom(page, "map-writes"), *zoom(page, "map-reads")}
    page.press("Escape")
    assert {*zoom(page, "rate"), *zoom(page, "map-writes")} == {WHOLE}
    assert tip(page) is None
    # What the keys do is said where the keyboard has led.
    page.press("Tab")
    assert page.run("document.activeElement.matches('svg, button, .key')")
    page.run("document.querySelector('#rate svg').focus()")
    page.press("ArrowRight")
    first = tip(page)
    page.press("ArrowDown")
    assert tip(page) not in (None, first)
    assert shows(page, "#rate .keys")


def test_what_can_be_done_is_said(page: Page, files: dict[str, Path]) -> None:
    rows = """[...document.querySelectorAll('figure')].filter(f => f.querySelector('svg.plot'))
      .map(f => [f.id, f.querySelector('.hint .KIND')])
      .map(([key, one]) => [key, one ? one.textContent : '', Boolean(one && one.checkVisibility())])
    """
    page.opened(files["run"])
    said = {key: (text, seen) for key, text, seen in page.run(rows.replace("KIND", "mouse"))}
    assert said["free"] == ("Drag to zoom, double-click or Esc to reset.", True)
    assert said["waf"][0].endswith("to reset; click a name to hide it.")
    assert said["cdf"] == ("Click a name to hide it.", True)
    assert said["victims"] == ("", False)
    page.opened(files["run"], 480, 900, touch=True)
    said = {key: (text, seen) for key, text, seen in page.run(rows.replace("KIND", "touch"))}
    assert said["free"] == ("Tap for values, drag sideways to zoom.", True)
    page.call("Emulation.setEmulatedMedia", media="print")
    assert not page.run("document.querySelector('.hint').checkVisibility()")
    page.call("Emulation.setEmulatedMedia", media="")


def test_numbers_stay_whole_on_paper_and_tables_fit(page: Page, files: dict[str, Path]) -> None:
    page.opened(files["seeds"], 718, 1000)  # A4 between margins of a centimetre
    page.call("Emulation.setEmulatedMedia", media="print")
    broken = "[...document.querySelectorAll('td data')].filter(d => d.getClientRects().length > 1)"
    wide = """[...document.querySelectorAll('table')].filter(
      t => t.getBoundingClientRect().right > document.documentElement.clientWidth)"""
    assert page.run(f"{broken}.length") == 0
    assert page.run(f"{wide}.map(t => t.caption.textContent)") == []
    page.call("Emulation.setEmulatedMedia", media="")


def colours(page: Page) -> tuple[str, str]:
    found: Any = page.run(
        "(() => { const s = getComputedStyle(document.body);"
        " return [s.backgroundColor, s.color]; })()"
    )
    return tuple(found)


LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 24, 29)"


def dark_system(page: Page, on: bool) -> None:
    value = "dark" if on else "light"
    features = [{"name": "prefers-color-scheme", "value": value}]
    page.call("Emulation.setEmulatedMedia", media="", features=features)


def test_colours_are_chosen_and_kept(page: Page, files: dict[str, Path]) -> None:
    dark_system(page, False)
    page.opened(files["run"])
    assert colours(page)[0] == LIGHT
    dark_system(page, True)
    assert colours(page)[0] == DARK
    # With keys: the first choice is the system's, then light, then dark.
    page.run("document.getElementById('theme').focus()")
    page.press("l")
    assert page.run("document.getElementById('theme').value") == "light"
    assert colours(page)[0] == LIGHT
    page.opened(files["run"])
    assert colours(page)[0] == LIGHT
    # It is set in the head: nothing is ever drawn in other colours.
    head = page.run("[...document.head.querySelectorAll('script, style')].map(one => one.tagName)")
    assert head == ["SCRIPT", "STYLE"]
    dark_system(page, False)
    page.run("document.getElementById('theme').focus()")
    page.press("d")
    assert colours(page)[0] == DARK
    page.opened(files["run"])
    assert colours(page)[0] == DARK
    assert page.run("document.getElementById('theme').value") == "dark"
    # Paper is white, whatever was chosen.
    page.call("Emulation.setEmulatedMedia", media="print")
    assert colours(page) == (LIGHT, "rgb(0, 0, 0)")
    assert not shows(page, ".theme")
    dark_system(page, True)
    page.run("document.getElementById('theme').focus()")
    page.press("a")
    assert colours(page)[0] == DARK
    page.opened(files["run"])
    assert colours(page)[0] == DARK
    assert page.run("localStorage.length") == 0
    page.call("Emulation.setEmulatedMedia", media="", features=[])


def test_the_canvas_follows_the_colours(page: Page, files: dict[str, Path]) -> None:
    dark_system(page, False)
    page.opened(files["run"])
    pixel = "document.getElementById('lanes-canvas').toDataURL()"
    page.run("document.querySelector('#lanes [data-do=all]').click()")
    page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    light = page.run(pixel)
    page.run("document.getElementById('theme').focus()")
    page.press("d")
    assert page.run(pixel) != light
    page.press("ArrowUp", "ArrowUp")
    assert page.run(pixel) == light
    page.call("Emulation.setEmulatedMedia", media="", features=[])


def test_the_canvas_is_dragged_and_tapped(page: Page, files: dict[str, Path]) -> None:
    shown = "document.getElementById('lanes-range').textContent"
    frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.opened(files["run"])
    page.run("document.querySelector('#lanes [data-do=all]').click()")
    page.run("document.querySelector('#lanes [data-do=in]').click()")
    page.run(frame)
    before = page.run(shown)
    start = page.at("#lanes-canvas", 0.5, 0.3)
    page.drag(start, (start[0] - 100, start[1] + 200))
    page.run(frame)
    assert page.run(shown) != before
    assert selected(page) == ""
    page.opened(files["run"], 480, 900, touch=True)
    place = page.at("#lanes-canvas", 0.5, 0.1)
    texts = []
    for step in range(40):
        page.tap((place[0] + step, place[1]))
        texts.append(tip(page))
        if texts[-1]:
            break
    assert texts[-1]
    assert "channel 0" in texts[-1]
    page.tap((place[0] + len(texts) - 1, place[1]))
    assert tip(page) is None


@pytest.mark.parametrize("kind", [*PLOTS])
def test_a_page_without_scripts_is_whole(kind: str, page: Page, files: dict[str, Path]) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.opened(files[kind])
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)
    plots = page.run("document.querySelectorAll('svg.plot .marks').length")
    assert plots > 3
    # Nothing is offered that would not work.
    assert not shows(page, ".theme")
    hints = "[...document.querySelectorAll('.hint')].filter(one => one.checkVisibility()).length"
    assert page.run(hints) == 0


def test_a_page_in_a_sandbox_works(page: Page, files: dict[str, Path], tmp_path: Path) -> None:
    """Nothing can be stored there; a notebook's viewer may show a page so."""
    frame = tmp_path / "frame.html"
    text = (
        files["compare"]
        .read_text(encoding="utf-8")
        .replace(
            "</body>",
            """<script>
      const box = document.getElementById("theme");
      box.value = "dark";
      box.dispatchEvent(new Event("change"));
      parent.postMessage(getComputedStyle(document.body).backgroundColor, "*");
    </script></body>""",
        )
    )
    inner = json.dumps(text).replace("<", "\\u003c")
    frame.write_text(
        "<!DOCTYPE html><title>t</title><link rel='icon' href='data:,'><script>"
        "window.answer = new Promise(done => addEventListener('message', e => done(e.data)));"
        "</script><iframe sandbox='allow-scripts'></iframe>"
        f"<script>document.querySelector('iframe').srcdoc = {inner};</script>",
        encoding="utf-8",
    )
    page.opened(frame)
    assert page.run("window.answer") == DARK


def test_errors_would_be_seen(chromium: Page, tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text("<!DOCTYPE html><title>t</title><script>absent()</script>", encoding="utf-8")
    chromium.console.clear()
    chromium.opened(file)
    assert any("absent" in line for line in chromium.console)
