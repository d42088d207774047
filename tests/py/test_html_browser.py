"""The page in a real browser, where there is one: no errors, nothing cut off, keys that work."""

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import ssdlab
from running import HANG_S, ROOT, SMALL
from ssdlab.html.write import trace_files
from ssdlab.results.repeated_text import ratio_text

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for path in map(shutil.which, NAMES) if path), None)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium: the page was not looked at in a browser"
)

TRACES = ("sqlite", "dbench")

# Errors are collected from the very start; at the end the script uses what there is to use.
LISTEN = """<script>window.trouble = [];
addEventListener("error", (event) => window.trouble.push(event.message));</script>"""
USE = """<script>
const press = (node, key) =>
  node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const facts = {};
for (const svg of document.querySelectorAll("svg.plot")) {
  for (const key of ["ArrowRight", "ArrowRight", "+", "ArrowLeft"]) press(svg, key);
  const box = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove",
    { clientX: box.left + box.width / 2, clientY: box.top + 60, bubbles: true }));
}
facts.tip = document.getElementById("tip").textContent;
const linked = document.querySelector("#used .marks, #free-time .marks");
if (linked) {
  facts.zoomed = linked.getAttribute("transform");
  press(linked.ownerSVGElement, "Escape");
  facts.reset = linked.getAttribute("transform");
}
const key = document.querySelector(".key");
press(key, "Enter");
facts.hidden = document.querySelectorAll(".mark.off").length;
press(key, "Enter");
const choice = document.getElementById("baseline");
if (choice) {
  choice.value = "1";
  choice.dispatchEvent(new Event("change"));
  facts.ratio = document.querySelectorAll("#ratio-table .ratio")[0].textContent;
}
const canvas = document.getElementById("lanes-canvas");
if (canvas) {
  const range = document.getElementById("lanes-range");
  const before = range.textContent;
  for (const name of ["+", "ArrowRight", "Home"]) press(canvas, name);
  canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: 100, clientY: 5 }));
}
const cut = [];
for (const text of document.querySelectorAll("svg.plot text")) {
  const box = text.getBoundingClientRect();
  const paper = text.ownerSVGElement.getBoundingClientRect();
  if (box.left < paper.left - 1 || box.right > paper.right + 1 || box.bottom > paper.bottom + 2)
    cut.push(text.textContent);
}
facts.cut = cut;
facts.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
facts.beyond = [...document.querySelectorAll(".scroll")]
  .filter((box) => box.scrollWidth > box.clientWidth + 1)
  .map((box) => box.getAttribute("aria-label"));
facts.trouble = window.trouble;
for (const [name, value] of Object.entries(facts)) document.body.dataset[name] = String(value);
</script>"""


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repeated") / "c"
    config = ssdlab.load_config("greedy-8ch", set={**SMALL, "metrics.interval": "2 ms"})
    vary = {"gc.victim": ["greedy", "fifo"]}
    ssdlab.compare(config, vary=vary, seeds=3, out=folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def pages(repeated: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    values = {**SMALL, "metrics.interval": "2 ms"}
    logged = {**values, "metrics.op_log": True}
    ssdlab.run("greedy-8ch", set=logged, out=folder / "run", progress=False)
    vary = {"gc.victim": ["greedy", "fifo"]}
    ssdlab.compare("greedy-8ch", set=values, vary=vary, out=folder / "compare", progress=False)
    files = {kind: folder / kind / "report.html" for kind in ("run", "compare")}
    files["seeds"] = repeated / "report.html"
    traces = [ssdlab.Trace(ROOT / f"traces/{name}.trace.zst").info() for name in TRACES]
    for kind, infos in (("trace", traces[:1]), ("traces", traces)):
        files[kind] = folder / f"{kind}.html"
        trace_files(infos, out=files[kind])
    return {kind: file.read_text(encoding="utf-8") for kind, file in files.items()}


def _browse(folder: Path, page: str, width: int, *options: str) -> str:
    """What the browser prints about `page`."""
    assert BROWSER is not None
    (folder / "page.html").write_text(page, encoding="utf-8")
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    done = subprocess.run(
        [
            *(BROWSER, "--headless=new", "--disable-gpu", "--hide-scrollbars", *sandbox),
            *(f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=2000"),
            *(f"--window-size={width},900", "--enable-logging=stderr", *options),
            (folder / "page.html").as_uri(),
        ],
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )
    told = done.stderr.decode(errors="replace")
    assert "CONSOLE" not in told, [line for line in told.splitlines() if "CONSOLE" in line]
    return done.stdout.decode()


@pytest.mark.parametrize("kind", ["run", "compare", "seeds", "trace", "traces"])
@pytest.mark.parametrize("width", [1400, 480])
def test_used_with_keys_it_works_and_fits(
    kind: str, width: int, pages: dict[str, str], repeated: Path, tmp_path: Path
) -> None:
    page = pages[kind].replace("<head>", "<head>" + LISTEN).replace("</body>", USE + "</body>")
    body = re.search(r"<body[^>]*>", _browse(tmp_path, page, width, "--dump-dom"))
    assert body
    facts = dict(re.findall(r'data-([\w-]+)="([^"]*)"', body[0]))
    assert facts["trouble"] == ""
    assert facts["cut"] == ""
    assert int(facts["wide"]) <= 0
    if width == 1400:
        assert facts["beyond"] == "", "tables that have to be scrolled to be seen"
    if kind in ("run", "compare"):
        assert "scale(" in facts["zoomed"]
        assert "scale(1 " in facts["reset"]
    assert int(facts["hidden"]) == 1
    assert facts["tip"]
    if kind == "compare":
        raws = re.findall(r'class="ratio" data-raw="([^"]*)"', pages[kind])
        assert facts["ratio"] == f"{float(raws[0]) / float(raws[len(raws) // 2]):.3f}"
    if kind == "seeds":
        known = ssdlab.Comparison.read(repeated).ratios("greedy", "fifo")["waf"]
        assert facts["ratio"] == ratio_text(known)


def test_errors_would_be_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="CONSOLE"):
        _browse(tmp_path, "<!DOCTYPE html><script>absent()</script>", 480, "--dump-dom")


@pytest.mark.parametrize("kind", ["run", "compare", "trace"])
@pytest.mark.parametrize("width", [1400, 480])
def test_a_screenshot_can_be_taken(
    kind: str, width: int, pages: dict[str, str], tmp_path: Path
) -> None:
    picture = tmp_path / "page.png"
    _browse(tmp_path, pages[kind], width, f"--screenshot={picture}")
    head = picture.read_bytes()[:24]
    assert head[1:4] == b"PNG"
    assert struct.unpack(">I", head[16:20]) == (width,)
    assert picture.stat().st_size > 20_000
