"""The site is built without a warning, needs no network, and fits wide and narrow windows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from running import HANG_S, ROOT, made_once

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="its tools need Python 3.11")
LOADS = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*(?:src|href)=["'](?:https?:)?//[^>]*>""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a dangling link or anchor is an error."""

    def build(made: Path) -> None:
        command = ["-m", "sphinx", "-W", "--keep-going", "--quiet", "-c", str(ROOT / "docs")]
        folders = ["-d", str(made / "doctrees"), str(ROOT), str(made / "html")]
        done = subprocess.run(
            [sys.executable, *command, *folders], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "site", build) / "html"


def test_every_page_is_in_it(site: Path) -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "traces/README.md"]
    missing = [p for p in pages if not (site / p.relative_to(ROOT)).with_suffix(".html").exists()]
    assert not missing
    assert "A laboratory for SSD garbage collection" in (site / "index.html").read_text("utf-8")


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    found = {
        f"{page.relative_to(site)}: {tag}"
        for page in site.rglob("*.html")
        for tag in LOADS.findall(page.read_text("utf-8"))
        if 'rel="canonical"' not in tag
    }
    found |= {
        f"{sheet.relative_to(site)}: {url}"
        for sheet in site.rglob("*.css")
        for url in re.findall(r"url\([\"']?(?:https?:)?//[^)]*\)|@import[^;]*", sheet.read_text())
    }
    assert not found


WIDE = """<script>addEventListener("load", () => {
  const page = document.documentElement;
  document.body.dataset.wide = String(page.scrollWidth - page.clientWidth);
});</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize("width", [1400, 1100, 500])
@pytest.mark.parametrize("page", ["index", "docs/reference/python", "docs/reference/config"])
def test_it_fits_the_window(site: Path, page: str, width: int, tmp_path: Path) -> None:
    assert BROWSER is not None
    file = site / f"{page}.html"
    probe = file.with_name(f"probe-{width}-{file.name}")
    probe.write_text(file.read_text("utf-8").replace("</body>", WIDE), encoding="utf-8")
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    done = subprocess.run(
        [
            *(BROWSER, "--headless=new", "--disable-gpu", *sandbox, f"--window-size={width},900"),
            *(f"--user-data-dir={tmp_path}", "--virtual-time-budget=2000", "--dump-dom"),
            probe.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    found = re.search(r'data-wide="(-?\d+)"', done.stdout)
    assert found
    assert int(found[1]) <= 0


def _listed(site: Path, query: str, home: Path) -> str:
    """What the search of the site lists, opened as a file."""
    assert BROWSER is not None
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    done = subprocess.run(
        [
            *(BROWSER, "--headless=new", "--disable-gpu", *sandbox, "--disable-sync"),
            *("--disable-background-networking", f"--user-data-dir={home}"),
            *("--virtual-time-budget=8000", "--dump-dom"),
            f"{(site / 'search.html').as_uri()}?q={quote(query)}",
        ],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    return done.stdout.partition(' class="search">')[2]


def _found(site: Path, query: str, home: Path) -> list[str]:
    """Pages that the search lists, best first."""
    results = _listed(site, query, home)
    links = re.findall(r'<li class="kind-\w+"><a href="([^"?#]+)\.html', results)
    return list(dict.fromkeys(links))


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("over-provisioning", {"docs/reference/config", "docs/glossary"}),
        ("device.over_provisioning", {"docs/reference/config"}),
        ("sweep", {"docs/sweeps"}),
        ("endurance", {"docs/reference/config", "docs/lifetime"}),
        ("write amplification", {"docs/glossary"}),
        ("SepBIT", {"docs/policies/separation-sepbit"}),
        ("copy-back", {"docs/policies/path-copyback"}),
        ("TRIM", {"docs/reference/config", "docs/glossary", "docs/model"}),
        ("wear leveling", {"docs/policies/wear-static", "docs/policies/wear-dynamic"}),
        ("TBW", {"docs/lifetime"}),
    ],
)
def test_search_finds_usual_names_in_files(
    site: Path, query: str, first: set[str], tmp_path: Path
) -> None:
    found = _found(site, query, tmp_path)
    assert set(found[: len(first)]) == first, found[:5]


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize(
    ("query", "name", "where"),
    [
        ("over-provisioning", "device.over_provisioning", "Config reference"),
        ("write amplification", "WAF", "Glossary"),
    ],
)
def test_a_place_within_a_page_is_found_by_its_name(
    site: Path, query: str, name: str, where: str, tmp_path: Path
) -> None:
    listed = _listed(site, query, tmp_path)
    shown = re.findall(r'<a href="[^"]*#name-[^"]*"[^>]*>(.*?)</a><span> \((.*?)\)</span>', listed)
    # Words of the query are highlighted.
    found = [(re.sub("<.*?>", "", title), re.sub("<.*?>", "", page)) for title, page in shown]
    assert found[0] == (name, where)


def test_notebooks_are_pages_with_pictures(site: Path) -> None:
    for notebook in ROOT.glob("examples/notebooks/*.ipynb"):
        page = (site / notebook.relative_to(ROOT)).with_suffix(".html").read_text("utf-8")
        shown = re.findall(r'<div class="output">(.*?)</div>', page, re.DOTALL)
        assert any('class="plot"' in output for output in shown), notebook.name
        assert "Traceback" not in page


def test_the_policies_are_below_their_list(site: Path) -> None:
    index = (site / "docs/policies/index.html").read_text("utf-8")
    pages = [path.stem for path in ROOT.glob("docs/policies/*-*.md")]
    assert not [name for name in pages if f'href="{name}.html"' not in index]
    for name in pages:
        page = (site / f"docs/policies/{name}.html").read_text("utf-8")
        [picture] = re.findall(r'<img[^>]* src="([^"]+\.svg)"', page)
        assert (site / "docs/policies" / picture).resolve().exists()
