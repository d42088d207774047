"""Each field of report.json is recomputed by the external checker or it says why not.

And where the checker looks, a wrong number does not pass: in the report, on pages, in exports and
in comparisons.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from checking import LOGGED, findings_in
from pairs import FEATURES, RAID
from run_check.checks import pattern
from run_check.coverage import CHECKED, NOT_DERIVABLE, fields
from ssdlab import _core

Settings = dict[str, object]
SHORT: Settings = {**LOGGED, "workload.requests": 1200}
ZONES: Settings = {
    "alloc.placement": "round-robin",
    "alloc.pool": "device",
    "alloc.erase_unit": "superblock",
    "device.over_provisioning": 0.6,
    "host.interface": "zns",
    "zns.open": 3,
    "zns.active": 4,
}
NEW: Settings = {**SHORT, "precondition.fill": 0, "precondition.overwrite": 0, "workload.read": 0.1}
PROOFS: dict[str, tuple[Settings, tuple[str, ...]]] = {
    "worn": (
        {**NEW, "wear.endurance": 3000, "workload.requests": 5000, "wear.daily_writes": "20 GB"},
        ("wear.erase_*", "wear.worn*", "wear.host*", "lifetime.*", "device.erase_*"),
    ),
    "levelled": ({**SHORT, "wear.static_threshold": 1}, ("wear.*",)),
    "buffered": ({**SHORT, "host.write_buffer_pages": 24}, ("write_buffer.*",)),
    "retries": ({**SHORT, "controller.retry_probability": 0.2}, ("flash.retries.*",)),
    "suspended": ({**SHORT, "timing.suspend": "both"}, ("flash.suspensions.*",)),
    "selective": ({**SHORT, **FEATURES["interconnect"][0]}, ("controller.*",)),
    "failed": (
        {**SHORT, **RAID, "raid.fail": {"chip": 2, "at": "10 ms"}, "raid.spares": 1},
        ("raid.failure.*",),
    ),
    "parity": (
        {**SHORT, **RAID, "raid.reads": "reconstruct-if-busy", "workload.read": 0.6},
        ("raid.*",),
    ),
    "copied": ({**SHORT, "remap.mode": "copy", "workload.copy": 0.3}, ("remap.copied",)),
    "shared": (
        {**SHORT, "remap.mode": "share", "workload.copy": 0.4, "alloc.pool": "device"},
        ("remap.*",),
    ),
    "cut": (
        {**SHORT, "power.cut": {"random": "150 ms"}, "power.checkpoint": "512 KiB"},
        ("power.*",),
    ),
    "zones": ({**SHORT, **ZONES}, ("zones.*",)),
    "tenants": ({}, ("separation.*", "latency.by_*", "tenants.*")),
    "energy": (
        {
            **SHORT,
            "energy.read": "82.5 mW",
            "energy.program": "60 mW",
            "energy.erase": "75 mW",
            "energy.bus": "31.25 mW",
            "energy.idle": "1.2 W",
        },
        ("energy.*",),
    ),
    "folded": ({**SHORT, **FEATURES["SLC blocks"][0]}, ("slc.*",)),
    "plain": ({**SHORT, "workload.requests": 2400}, ("*",)),
}
"""A configuration, and the fields that it proves; a field belongs to the first that names it."""
INPUTS = (
    *("completed", "requests.warmup", "time.*", "device.page_bytes", "device.user_pages"),
    *("raid.failure.chips.*", "raid.failure.failed_at.*", "raid.failure.replaced_at.*"),
)
"""Fields on which other recomputations depend: a wrong one is tried alone."""


def leaves() -> set[str]:
    """Every field of report.json, as the simulator declares it; `*` for keys and places."""
    sections = {one["name"]: one for one in json.loads(_core.report_form())["sections"]}

    def walk(kind: list[Any], path: str) -> Iterator[str]:
        if kind[0] == "nullable":
            yield from walk(kind[1], path)
        elif kind[0] in ("list", "map"):
            yield from walk(kind[1], f"{path}.*")
        elif kind[0] == "section":
            for field in sections[kind[1]]["fields"]:
                yield from walk(field["kind"], f"{path}.{field['name']}".lstrip("."))
        else:
            yield path

    return set(walk(["section", "Report"], ""))


def test_every_field_is_recomputed_or_it_says_why_not() -> None:
    checked, not_derivable = fields(CHECKED), fields(NOT_DERIVABLE)
    assert not checked.keys() & not_derivable.keys()
    assert checked.keys() | not_derivable.keys() == leaves()


def tenants(folder: Path) -> Settings:
    """Two volumes with a handle each."""
    chance, lines = random.Random(1), list[str]()
    for turn in range(1500):
        for volume, page in ((7, turn % 300), (3, chance.randrange(120))):
            op, pages = chance.choice("WWWR"), chance.choice((1, 1, 3))
            at = 1_577_808_000_000_000 + 400 * len(lines)
            lines.append(f"{volume},{op},{page * 4096},{pages * 4096},{at}\n")
    (folder / "tenants.csv").write_text("".join(lines))
    apart = ("workload.", "device.over_provisioning")
    return {
        **{key: value for key, value in SHORT.items() if not key.startswith(apart)},
        "workload.trace": str(folder / "tenants.csv"),
        "workload.volume": "all",
        "workload.fit": "compact",
        "device.user_capacity": "3 MiB",
        "alloc.separation": {"policy": "fdp", "handles": 2},
        "metrics.tenants": True,
    }


def values_in(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - JSON
    """Every value of a report with its dotted key."""
    if isinstance(values, dict | list):
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        for key, value in pairs:
            yield from values_in(value, f"{path}.{key}".lstrip("."))
    else:
        yield path, values


def put(report: Any, path: str, value: object) -> None:  # noqa: ANN401 - parsed JSON
    *keys, last = path.split(".")
    for key in keys:
        report = report[int(key)] if isinstance(report, list) else report[key]
    report[int(last) if isinstance(report, list) else last] = value


def wrong(value: Any, *, far: bool) -> object:  # noqa: ANN401 - any JSON
    """Another value, a little or much greater."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}x"
    if value is None:
        return 7
    if isinstance(value, int):
        return 3 * value + 10**7 if far else value + 1
    return 3 * value + 1e7 if far else value * 1.0001 + 1e-4


def noticed(folder: Path, whole: dict[str, Any], paths: list[str], *, far: bool) -> set[str]:
    """Make these numbers wrong, all at once; which of them the checker names."""
    if not paths:
        return set()
    report = copy.deepcopy(whole)
    known = dict(values_in(whole))
    for path in paths:
        put(report, path, wrong(known[path], far=far))
    (folder / "report.json").write_text(json.dumps(report))
    places = {place.partition(":")[2] for place in findings_in(folder)[0].places}
    places = {place.replace("[", ".").replace("]", "") for place in places}
    above = [{path.rsplit(".", n)[0] for n in range(3)} for path in paths]
    return {path for path, names in zip(paths, above, strict=True) if names & places}


def belongs(field: str) -> str:
    """The case that proves a field."""
    return next(
        case for case, (_, texts) in PROOFS.items() if any(fnmatch(field, text) for text in texts)
    )


@pytest.mark.parametrize("case", PROOFS)
def test_a_wrong_number_of_the_report_does_not_pass(case: str, tmp_path: Path) -> None:
    settings = PROOFS[case][0] or tenants(tmp_path)
    folder = tmp_path / "a"
    ssdlab.run(set=settings, out=folder, progress=False)
    findings, text = findings_in(folder)
    assert not findings.counts, text
    whole = json.loads((folder / "report.json").read_text())
    mine = {field for field in fields(CHECKED) if belongs(field) == case}
    paths = [path for path, _ in values_in(whole) if pattern(path) in mine]
    assert {pattern(path) for path in paths} == mine, "fields that the case does not have"
    inputs = [path for path in paths if any(fnmatch(pattern(path), text) for text in INPUTS)]
    left = [path for path in paths if path not in inputs]
    caught = {pattern(path) for path in noticed(folder, whole, left, far=False)}
    left = [path for path in left if pattern(path) not in caught]
    caught |= {pattern(path) for path in noticed(folder, whole, left, far=True)}
    # What others follow from: a wrong one alone.
    for field in sorted(mine - caught):
        several = [path for path in paths if pattern(path) == field]
        for path, far in ((path, far) for path in several for far in (False, True)):
            if noticed(folder, whole, [path], far=far):
                caught.add(field)
                break
    assert caught == mine
