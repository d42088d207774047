"""The top of the page of a fleet: what was run."""

import html
import re
from dataclasses import replace
from typing import Any

from ssdlab.fleets.fleet import Fleet
from ssdlab.fleets.page import fleet_page


def test_the_page_says_at_its_top_what_was_run() -> None:
    texts = {
        "a.toml": 'preset = "greedy-8ch"\n[run]\nname = "first one"\n[gc]\nvictim = "fifo"\n'
        'trigger = { policy = "free-blocks", soft = 9 }\n',
        "b.toml": '[timing]\nread = "77 us"\n[alloc]\nplacement = "round-robin"\n',
    }
    files = [
        ["first one", None, ["a.toml", texts["a.toml"]]],
        ["b", None, ["b.toml", texts["b.toml"]]],
    ]
    identity: dict[str, Any] = {
        "columns": [],
        "drives": [*files, ["c", "greedy-8ch", None]],
        "set": {"gc.victim": "cost-benefit", "precondition.fill": "1"},
        "size": None,
        "seed": 3,
        "traces": [],
        "stand_in": ["alibaba", 60, 3],
    }
    drives = ("first one", "b", "c")
    fleet = Fleet("alibaba-fleet", drives, (), (), identity)
    top, _, _ = fleet_page(fleet).partition("<section")
    shown = html.unescape(re.sub("<[^>]+>", " ", top))
    words = " ".join(shown.split())
    assert "volumes 60 with the published statistics of alibaba, seed 3" in words
    # The policies are those that ran; the settings, those of the drive itself.
    assert "first one a.toml, preset greedy-8ch; victim cost-benefit, separation none" in words
    assert re.search(r" first one a.toml, .*; gc.trigger.soft = 9 b b.toml; ", words)
    assert re.search(r" b b.toml; victim cost-benefit, .*; timing.read = 77 \S+ c ", words)
    assert "c preset greedy-8ch; victim cost-benefit" in words
    assert "settings gc.victim = cost-benefit, precondition.fill = 1, run.seed = 3" in words
    # A file whose traces have gone, or which needs a key, is still named.
    broken = {**identity, "drives": [["d", None, ["d.toml", "[nothing]\n"]]]}
    assert "<dt>d</dt><dd>d.toml</dd>" in fleet_page(replace(fleet, drives=("d",), identity=broken))
    sized = {**identity, "stand_in": None, "traces": [["/x/t (1).csv", "digest"]]}
    # Keys of the workload, and how a volume fits a drive, need a volume.
    keys = {"gc.victim": "cost-benefit", "workload.time_scale": "2", "device.fit": "trace"}
    fitted = {**sized, "set": keys, "traces": [[f"/x/{i}.csv", ""] for i in range(4)]}
    words = html.unescape(re.sub("<[^>]+>", " ", fleet_page(replace(fleet, identity=fitted))))
    assert "preset greedy-8ch; victim cost-benefit, separation none" in " ".join(words.split())
    assert "victim greedy" not in words
    assert re.search(r"0 of 4 traces, such as 0.csv\s+first one", words), "the keys give the size"
    assert "0 of t (1).csv; each drive is as large as its volume" in html.unescape(
        fleet_page(replace(fleet, identity=sized))
    )
