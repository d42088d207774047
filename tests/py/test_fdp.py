"""Reclaim unit handles: tenants and levels of the store, their statistics, what is refused."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any

import pytest
import zstandard

import ssdlab
from running import refused, report_of, sets, ssdlab_command
from ssdlab import kv
from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.policy import Separation

BLOCKS, PAGES, PAGE = 128, 16, 4096
USER = BLOCKS * PAGES * 8 // 10
SMALL = USER // 16
DEVICE: dict[str, object] = {
    "device.channels": 1,
    "device.chips_per_channel": 1,
    "device.planes_per_chip": 1,
    "device.blocks_per_plane": BLOCKS,
    "device.pages_per_block": PAGES,
    "device.page_size": PAGE,
    "device.user_capacity": f"{USER * PAGE} B",
    "run.mode": "functional",
    "precondition.fill": 0.0,
}
ALL = {"workload.volume": "all", "workload.fit": "compact"}
APART = {"policy": "fdp", "handles": 2}


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Volume 7 writes its pages in a circle, volume 3, which is small, its pages at random."""
    path = tmp_path_factory.mktemp("tenants") / "tenants.csv"
    rng, circle, lines = random.Random(1), USER - SMALL, list[str]()
    for turn in range(12 * circle):
        for volume, page in ((7, turn % circle), (3, rng.randrange(SMALL))):
            at = 1_577_808_000_000_000 + 10 * len(lines)
            lines.append(f"{volume},W,{page * PAGE},{PAGE},{at}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def run(trace: Path, *, separation: object = "none", **more: object) -> ssdlab.Report:
    policy = separation if isinstance(separation, Separation) else None
    values = {key.replace("__", "."): value for key, value in more.items()}
    if policy is None:
        values["alloc.separation"] = separation
    keys = {**DEVICE, **ALL, "workload.trace": str(trace), **values}
    return ssdlab.run(set=keys, progress=False, separation=policy)


def waf(report: ssdlab.Report) -> float:
    assert report.waf.total is not None
    return report.waf.total


def fdp_of(report: ssdlab.Report) -> Any:  # noqa: ANN401 - a section that types call optional
    assert report.separation is not None
    assert report.separation.fdp is not None
    return report.separation.fdp


def test_tenants_apart_have_no_copies(tenants: Path) -> None:
    mixed, apart = run(tenants), run(tenants, separation=APART)
    assert waf(mixed) > 1.8
    assert mixed.separation is None
    # (The first block of the small tenant may have a valid page when it is collected.)
    assert waf(apart) < 1.01
    small, circle = fdp_of(apart).handles
    assert small.host_bytes == circle.host_bytes == 12 * (USER - SMALL) * PAGE


@pytest.mark.parametrize("mode", ["functional", "timed"])
@pytest.mark.parametrize("isolation", ["initially", "persistently"])
def test_statistics_add_up(tenants: Path, mode: str, isolation: str) -> None:
    # One request at a time: none is in flight when the measurement begins.
    more = {"run__mode": mode, "host__mode": "closed", "host__queue_depth": 1}
    # Less spare, so that something is copied.
    more |= {"device__user_capacity": f"{int(USER * 1.1) * PAGE} B"}
    more |= {"workload__warmup_requests": 3000}
    extra: dict[str, object] = {"precondition__fill": 1.0, "precondition__overwrite": 0.5}
    report = run(tenants, separation={**APART, "isolation": isolation}, **more, **extra)
    found = fdp_of(report)
    programs = sum(report.json["flash"]["programs"].values())
    assert found.media_bytes_written == programs * PAGE
    assert found.host_bytes_written == report.flash.programs.host * PAGE
    assert found.media_bytes_erased == report.flash.erases * PAGES * PAGE
    assert found.media_bytes_written / found.host_bytes_written == pytest.approx(waf(report))
    rows = [*found.handles, found.shared]
    copies = report.flash.programs.gc * PAGE
    assert copies > 0
    assert sum(row.copied_bytes for row in rows) == copies
    assert sum(row.moved_bytes for row in rows) == copies
    assert sum(row.host_bytes for row in rows) == found.host_bytes_written
    assert sum(row.collected for row in rows) == found.units_collected == report.gc.calls
    assert sum(row.opened for row in rows) == found.units_opened
    assert found.diverted_copies == 0
    assert (found.shared.opened == 0) == (isolation == "persistently")
    assert report.json["separation"]["classes"] == (4 if isolation == "persistently" else 3)


class Handles(Separation):
    """The twin of the policy, with two initially isolated handles."""

    classes, host_classes = 3, 2

    def of_write(
        self,
        lpn: int,
        stream: int,
        pages: int,
        replaces: int | None,
        age: int | None,
        clock: int,
    ) -> int:
        assert lpn >= 0 < pages
        assert replaces is None or replaces < self.classes
        assert age is None or age <= clock
        return stream

    def of_copy(self, lpn: int, cls: int | None, clock: int) -> int:  # noqa: ARG002
        return 2


def test_the_twin_in_python_is_equal(tenants: Path) -> None:
    capacity = {"device__user_capacity": f"{int(USER * 1.1) * PAGE} B", "precondition__fill": 1.0}
    ours, twin = (run(tenants, separation=one, **capacity) for one in (APART, Handles()))
    assert ours.flash.programs.gc > 0
    assert (ours.json["flash"], ours.waf.total) == (twin.json["flash"], twin.waf.total)
    left = [one.json["separation"]["open_pages"] for one in (ours, twin)]
    assert left[0] == left[1] > 0
    assert "fdp" not in twin.json["separation"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an empty configuration."""
    (tmp_path / "c.toml").write_text("")
    return tmp_path


def log_of(folder: Path, name: str) -> list[dict[str, str]]:
    packed = (folder / name).read_bytes()
    text = zstandard.ZstdDecompressor().decompressobj().decompress(packed).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_the_log_has_every_event_with_its_time(tenants: Path, folder: Path) -> None:
    keys = {**DEVICE, **ALL, "run.mode": "timed", "workload.trace": tenants}
    keys |= {"metrics.op_log": "true", "workload.until": "100 ms"}
    keys |= {"alloc.separation": '{ policy = "fdp", handles = 2, isolation = "persistently" }'}
    done = ssdlab_command("run", "c.toml", *sets(keys), "--out", str(folder / "r"), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "2 handles" in done.stdout or "handles         2" in done.stdout
    report, units = report_of(folder / "r"), log_of(folder / "r", "units.csv.zst")
    ops = log_of(folder / "r", "ops.csv.zst")
    assert report["series"]["units"] == "units.csv.zst"
    found: dict[str, Any] = report["separation"]["fdp"]
    events = [(unit["event"], unit["handle"]) for unit in units]
    for handle, row in enumerate(found["handles"]):
        assert events.count(("opened", str(handle))) == row["opened"]
        assert events.count(("collected", str(handle))) == row["collected"]
    assert [int(unit["at"]) for unit in units] == sorted(int(unit["at"]) for unit in units)
    # A unit is opened by its first program.
    begun = {
        (op["block"], op["start"]) for op in ops if op["op"] == "program" and op["page"] == "0"
    }
    assert {(u["block"], u["at"]) for u in units if u["event"] == "opened"} == begun


def test_handles_must_be_those_of_the_trace(tenants: Path, folder: Path) -> None:
    keys = {**DEVICE, **ALL, "workload.trace": tenants}
    for handles, words in [
        (1, ["handles = 1", "streams 0, 1", "has no handle", "set handles = 2"]),
        (3, ["handles = 3", "streams 0, 1", "no write names handle 2", "set handles = 2"]),
    ]:
        policy = {"alloc.separation": f'{{ policy = "fdp", handles = {handles} }}'}
        refused(ssdlab_command("run", "c.toml", *sets({**keys, **policy}), cwd=folder), 2, *words)
    synthetic = {**DEVICE, "alloc.separation": '{ policy = "fdp", handles = 2 }'}
    done = ssdlab_command("run", "c.toml", *sets(synthetic), cwd=folder)
    refused(done, 2, "workload.kind", "stream 0", "set handles = 1")
    for spec, word in [
        ('{ policy = "fdp", handles = 0 }', "handles"),
        ('{ policy = "fdp", handles = 2, isolation = "always" }', "initially"),
        ('{ policy = "fdp", handels = 2 }', "handles"),
        ('{ policy = "fdp", handles = 40 }', "classes open"),
        ('{ policy = "fdp", handles = 40 }', "use fewer handles"),
        ('{ policy = "future", classes = 64 }', "use fewer classes"),
        ('{ policy = "fadac", classes = 7 }', "2 to 6"),
        ("host+gc", '"none" with alloc.frontiers = "host+gc"'),
    ]:
        done = ssdlab_command(
            "run", "c.toml", *sets({**keys, "alloc.separation": spec}), cwd=folder
        )
        refused(done, 2, "alloc.separation", word)
    done = ssdlab_command("run", "c.toml", *sets({**keys, "workload.fit": "wrap"}), cwd=folder)
    refused(done, 2, "workload.volume", 'workload.fit = "compact"')
    done = ssdlab_command("trace", "info", str(tenants), *sets(ALL), cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_device_refuses_streams_without_a_handle() -> None:
    device = ssdlab.Device(set={**DEVICE, "run.mode": "timed", "alloc.separation": APART})
    device.write(3, stream=1)
    with pytest.raises(
        WorkloadError, match=r"request 0: a write of stream 2, .* for streams 0 to 1"
    ):
        device.write(4, stream=2)
    device.submit("read", 3, stream=7)
    device.run_until_idle()
    report = device.report()
    assert [row.host_bytes for row in fdp_of(report).handles] == [0, PAGE]


KV = """
[device]
channels = 2
chips_per_channel = 1
planes_per_chip = 1
blocks_per_plane = 200
pages_per_block = 64
page_size = "4 KiB"
user_capacity = "64 MiB"
[precondition]
fill = 0.0
[alloc]
separation = { policy = "fdp", handles = 8, isolation = "persistently" }
"""
STORE: dict[str, object] = {
    "records": 30_000,
    "value_bytes": 400,
    "store.write_buffer_size": 256 << 10,
    "store.max_file_size": 1 << 20,
    "fs.streams": "levels",
}


def test_levels_of_the_store_have_handles(tmp_path: Path) -> None:
    (tmp_path / "drive.toml").write_text(KV)
    found = kv.simulate(tmp_path / "drive.toml", "ycsb-a", settings=STORE).report
    written = found["total"]["pages_written"]
    handles = [row["host_bytes"] // PAGE for row in found["drive"]["separation"]["fdp"]["handles"]]
    levels = [written.get("flush", 0), *(written.get(f"level-{n}", 0) for n in range(1, 7))]
    assert handles[1:] == levels
    assert sum(handles) == found["total"]["pages_written_on_drive"]
    assert sum(pages > 0 for pages in levels) > 2
    with pytest.raises(ConfigError, match="handles = 8, and the store writes 1 streams"):
        kv.simulate(tmp_path / "drive.toml", "ycsb-a", settings={**STORE, "fs.streams": "none"})
    with pytest.raises(ConfigError, match="levels"):
        kv.simulate(tmp_path / "drive.toml", "ycsb-a", settings={**STORE, "fs.streams": "all"})
