"""The page of a served drive in a real browser, where there is one, while the drive works."""

import random
from pathlib import Path

import pytest

import browser
from nbd_client import Client
from served_drive import PAGE, UNIX, served

pytestmark = pytest.mark.skipif(
    browser.BROWSER is None, reason="no chromium: the page was not looked at in a browser"
)
COUNTED = "parseInt(document.querySelector('#latency tbody td').textContent.replace(/,/g, ''))"
"""The requests in the first row of the latencies."""


def work(client: Client, writes: int) -> None:
    """Write pages here and there."""
    draw = random.Random(writes)
    for _ in range(writes):
        client.write(draw.randrange(client.bytes // PAGE) * PAGE, bytes(PAGE))


def test_the_page_follows_the_drive(tmp_path: Path) -> None:
    with (
        served(*UNIX, "--page", cwd=tmp_path) as server,
        browser.page(tmp_path / "profile") as page,
    ):
        client = server.client()
        work(client, 400)
        page.opened(server.page())
        for writes in (800, 1200):
            work(client, 400)
            page.until(f"{COUNTED} >= {writes}")
        page.until("document.querySelectorAll('#course svg.plot').length === 2")
        assert page.run("document.getElementById('live').textContent") == "live"
        rows = "document.querySelectorAll('#slow tbody tr').length"
        assert page.run(rows) == 10
        assert page.run("document.querySelectorAll('#blocks svg').length") == 1
        assert page.run("document.documentElement.scrollWidth <= innerWidth"), "it is cut off"
        dark = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every(c => c < 80)"
        for scheme in ("light", "dark"):
            colours = [{"name": "prefers-color-scheme", "value": scheme}]
            page.call("Emulation.setEmulatedMedia", features=colours)
            page.until(f"({dark}) === {str(scheme == 'dark').lower()}")
        height = page.run("document.documentElement.scrollHeight")
        page.opened(server.page(), 1400, height)
        page.until("document.querySelectorAll('#course svg.plot').length === 2")
        page.picture(tmp_path / "page.png")
        # What somebody uses stays as it is, and the rest goes on.
        page.run("document.querySelector('#slow summary, #slow [tabindex], #slow table')?.focus()")
        work(client, 400)
        page.until(f"{COUNTED} >= 1600")
        server.stop()
        page.until("document.getElementById('live').textContent !== 'live'")
        # The browser tells the console of a server that has gone, and of nothing else.
        mine = [said for said in page.console if "ERR_" not in said]
        assert not mine, mine
