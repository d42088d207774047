"""The site is built without a warning, needs no network, and fits wide and narrow windows."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import browser
from browser import Page
from running import ROOT, made_once

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="its tools need Python 3.11")
in_a_browser = pytest.mark.skipif(browser.BROWSER is None, reason="needs Chromium")
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


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A browser for all pages that are looked at."""
    with browser.page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@in_a_browser
@pytest.mark.parametrize("width", [1400, 1100, 500])
@pytest.mark.parametrize("name", ["index", "docs/reference/python", "docs/reference/config"])
def test_it_fits_the_window(site: Path, name: str, width: int, page: Page) -> None:
    page.opened(site / f"{name}.html", width)
    root = "document.documentElement"
    assert page.run(f"{root}.clientWidth") > 0.9 * width
    assert page.run(f"{root}.scrollWidth - {root}.clientWidth") <= 0


def _listed(site: Path, query: str, page: Page) -> str:
    """What the search of the site lists, opened as a file."""
    page.opened(f"{(site / 'search.html').as_uri()}?q={quote(query)}")
    page.until("document.querySelector('#search-results h2')?.innerText === 'Search Results'")
    return str(page.run("document.querySelector('#search-results ul.search').outerHTML"))


def _found(site: Path, query: str, page: Page) -> list[str]:
    """Pages that the search lists, best first."""
    results = _listed(site, query, page)
    links = re.findall(r'<li class="kind-\w+"><a href="([^"?#]+)\.html', results)
    return list(dict.fromkeys(links))


@in_a_browser
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
    site: Path, query: str, first: set[str], page: Page
) -> None:
    found = _found(site, query, page)
    assert set(found[: len(first)]) == first, found[:5]


@in_a_browser
@pytest.mark.parametrize(
    ("query", "name", "where"),
    [
        ("over-provisioning", "device.over_provisioning", "Config reference"),
        ("write amplification", "WAF", "Glossary"),
    ],
)
def test_a_place_within_a_page_is_found_by_its_name(
    site: Path, query: str, name: str, where: str, page: Page
) -> None:
    listed = _listed(site, query, page)
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
