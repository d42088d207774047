"""The store on the simulated drive, from Python and from the command line."""

from __future__ import annotations

import json
import re
import threading
from html import unescape
from pathlib import Path
from typing import Literal

import pytest

from running import ssdlab_command
from ssdlab import kv
from ssdlab.display.numbers import on_page
from ssdlab.errors import ConfigError, OutputError
from ssdlab.kv import simulation
from ssdlab.kv.simulation_page import page

CONFIG = """
[device]
channels = 4
chips_per_channel = 2
planes_per_chip = 1
blocks_per_plane = 100
pages_per_block = 64
page_size = "4 KiB"
user_capacity = "160 MiB"
[precondition]
fill = 0.0
"""
SMALL = {
    "records": 4000,
    "operations": 4000,
    "value_bytes": 400,
    "store.write_buffer_size": 256 << 10,
    "store.max_file_size": 1 << 20,
    "fs.cache_pages": 512,
    "fs.dirty_pages": 256,
    "interval_ns": 10_000_000,
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "drive.toml"
    path.write_text(CONFIG)
    return path


def test_the_parts_of_write_amplification_add_up(config: Path) -> None:
    found = kv.simulate(config, "ycsb-a", settings=SMALL)
    report = found.report
    assert found.completed
    assert found.error is None
    assert [phase["name"] for phase in report["phases"]] == ["ycsb:load", "ycsb:a"]
    assert [phase["operations"] for phase in report["phases"]] == [4000, 4000]
    total = report["total"]
    assert total["pages_noted"] == total["pages_written_on_drive"]
    assert total["pages_noted"] == report["drive"]["host"]["pages_written"]
    assert sum(total["pages_written"].values()) == total["pages_noted"]
    parts = dict(total["write_amplification"])
    assert parts.pop("total") == pytest.approx(sum(parts.values()))
    assert {"log", "flush", "manifest", "journal"} <= set(parts)
    assert report["space"]["amplification"] > 1
    assert sum(row[1] for row in report["course"]["rows"]) == 8000
    text = " ".join(found.summary().split())
    assert text.startswith("ycsb:load, 4,000 operations, ycsb:a, 4,000 operations on drive; ")
    severe = report["drive"]["warnings"][: report["drive"]["invalidating"]]
    assert severe, "the drive is larger than what is written"
    assert f"Write amplification is not known: {severe[0]}." in text
    assert "bytes programmed" not in text, "a number that a warning invalidates is not given"
    report["drive"]["invalidating"] = 0
    valid = " ".join(found.summary().split())
    assert f"Write amplification is {found.write_amplification:.2f} (bytes programmed" in valid
    assert valid.count("Write amplification") == 1, "one total"
    report["drive"]["invalidating"] = len(severe)
    assert "total" not in text
    for name, value in SMALL.items():
        assert f"{name} = {value}" in text, "settings"
    lines = found.summary().splitlines()
    assert lines.index("invalidates the numbers of the drive") < lines.index("ycsb:load")
    shown = unescape(re.sub("<[^>]+>", "", page(found)))
    for one in (found.head, on_page(found.answer), *severe):
        assert one.replace(" %", "\u00a0%") in shown.replace(" %", "\u00a0%")
    assert f"{found.write_amplification:.3f}" in shown
    assert "mean_ns" not in shown


def test_what_was_run_has_every_setting_that_was_changed(config: Path) -> None:
    settings = {**SMALL, "records": 200, "operations": 200}
    keys: dict[str, object] = {
        "gc.victim": "fifo",
        "device.pages_per_block": 96,
        "timing.read": "77 us",
        "wear.dynamic": False,
    }
    found = kv.simulate(config, settings=settings, remap="full", set=keys, seed=7)
    _, _, told = found.head.partition("; ")
    of_file = {"device.channels = 4", "device.blocks_per_plane = 100"}
    given = {"gc.victim = fifo", "device.pages_per_block = 96", "run.seed = 7"}
    given |= {"timing.read = 77 us", "wear.dynamic = false"}
    store = {"store.reuse = retention", "records = 200"}
    assert of_file | given | store | {"remap full", "remap.mode = share"} <= {*told.split(", ")}
    assert "gc.reserve" not in told
    assert told.replace(" ", "") in unescape(re.sub("<[^>]+>", "", page(found))).replace(" ", "")
    preset = kv.simulate("remapcom", settings=settings)
    names = {one.partition(" = ")[0] for one in preset.head.partition("; ")[2].split(", ")}
    assert names == {*settings}


def test_a_run_has_the_same_report_again_beside_other_runs(config: Path) -> None:
    digests: list[str] = []

    def run() -> None:
        digests.append(kv.simulate(config, "fillrandom", settings=SMALL).digest)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    run()
    assert len(digests) == 4
    assert len(set(digests)) == 1
    one_core = {**SMALL, "cores": 1}
    single, again = (kv.simulate(config, "fillrandom", settings=one_core) for _ in range(2))
    assert single.digest == again.digest != digests[0], "cores are part of what is simulated"
    other = kv.simulate(config, "fillrandom", settings={**SMALL, "costs.write": 9000})
    assert other.digest != digests[0]


def test_the_database_opens_in_leveldb(config: Path, tmp_path: Path) -> None:
    plyvel = pytest.importorskip("plyvel")
    out = tmp_path / "result"
    done = kv.simulate(config, "fillseq", settings=SMALL, out=out, database=True)
    assert done.completed
    assert json.loads((out / "report.json").read_text()) == done.report
    assert "Write amplification" in (out / "report.html").read_text()
    theirs = plyvel.DB(str(out / "database"), paranoid_checks=True)
    keys = [key for key, value in theirs.iterator() if len(value) == 400]
    theirs.close()
    assert keys == [b"%016d" % n for n in range(4000)]
    with kv.open(out / "database", read_only=True, paranoid_checks=True) as ours:
        assert list(ours.iterator(include_value=False)) == keys
    with pytest.raises(OutputError, match="exists"):
        kv.simulate(config, "fillseq", settings=SMALL, out=out, database=True)


def test_a_trace_of_operations(config: Path, tmp_path: Path) -> None:
    trace = tmp_path / "operations.txt"
    lines = [f"put key{n:04} 100" for n in range(500)] + ["# read", "", "get key0001", "get no"]
    lines += ["update key0002 50", "scan key0000 20", "delete key0003"]
    trace.write_text("\n".join(lines))
    out = tmp_path / "result"
    done = kv.simulate(config, trace, settings=SMALL, out=out, database=True)
    latency = done.report["phases"][0]["latency"]
    counts = {op: one["count"] for op, one in latency.items()}
    assert counts == {
        "insert": 500,
        "read": 2,
        "read-modify-write": 1,
        "scan": 1,
        "delete": 1,
    }
    with kv.open(out / "database") as store:
        assert len(store.get(b"key0002") or b"") == 50
        assert store.get(b"key0003") is None
    trace.write_text("put key 100\nput key\n")
    with pytest.raises(ConfigError, match=r"operations\.txt:2: .*expected put KEY BYTES"):
        kv.simulate(config, trace, settings=SMALL)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workload": "ycsb-z"}, "expected load or a to f"),
        ({"workload": "nonsense"}, "fillseq"),
        ({"settings": {"clients": 0}}, "clients = 0"),
        ({"settings": {"fs.cash_pages": 3}}, "cash_pages"),
        ({"settings": {"store.reuse": "base"}}, "set store.pages_per_block"),
        ({"settings": {"store.reuse": "all"}}, "unknown variant `all`"),
        ({"settings": {"store.max_file_size": 0}}, "max_file_size = 0: expected 1048576"),
        ({"settings": {"store.write_buffer_size": "large"}}, 'invalid type: string "large"'),
        ({"settings": {"costs.write": 1 << 63}}, "costs.write"),
        ({"settings": {"fs.commit_interval_ns": (1 << 64) - 1}}, "fs.commit_interval_ns"),
        ({"settings": {"fs.keeps_data": True}}, "unknown field `keeps_data`"),
        (
            {
                "set": {
                    "raid.group": 4,
                    "device.user_capacity": "100 MiB",
                    "host.write_buffer_pages": 8,
                },
                "remap": "base",
            },
            "remap.mode",
        ),
        ({"remap": "half"}, "expected one of"),
        ({"remap": "aligned", "settings": {"store.pages_per_block": 0}}, "needs blocks that begin"),
        ({"set": {"power.cut": {"every": "1 s"}}}, "does not live through a cut"),
        ({"set": {"device.page_size": "8 KiB"}}, "4 KiB"),
        ({"set": {"device.user_capacity": "400 KiB"}}, "too small"),
    ],
)
def test_bad_input_is_refused(config: Path, changes: dict[str, object], message: str) -> None:
    settings = {**SMALL, **changes.pop("settings", {})}  # type: ignore[dict-item]
    workload = changes.pop("workload", "fillseq")
    with pytest.raises(ConfigError, match=message):
        kv.simulate(config, str(workload), settings=settings, **changes)  # type: ignore[arg-type]


def test_a_drive_that_becomes_full_keeps_what_it_has(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "result"
    found = kv.simulate(
        config,
        "fillseq",
        settings={**SMALL, "records": 100_000, "operations": 100_000},
        set={"device.user_capacity": "20 MiB"},
        out=out,
        database=True,
    )
    assert not found.completed
    assert "the file system is full" in str(found.error)
    done = found.report["phases"][0]["operations"]
    with kv.open(out / "database", paranoid_checks=True) as store:
        keys = list(store.iterator(include_value=False))
    assert done > 1000
    assert keys[:done] == [b"%016d" % n for n in range(done)]


def test_the_command(config: Path, tmp_path: Path) -> None:
    options = [f"--host={name}={value}" for name, value in SMALL.items()]
    out = tmp_path / "result"
    done = ssdlab_command("kv", "simulate", config, *options, "--out", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "operations" in done.stdout
    assert (out / "report.html").exists()
    again = ssdlab_command("kv", "simulate", config, *options, "--out", out, cwd=tmp_path)
    assert again.returncode == 2
    assert "exists" in again.stderr
    shown = ssdlab_command("kv", "simulate", config, *options, "--json", cwd=tmp_path)
    assert json.loads(shown.stdout) == json.loads((out / "report.json").read_text())
    bad = ssdlab_command("kv", "simulate", config, "--host", "clients", cwd=tmp_path)
    assert bad.returncode == 2
    assert "NAME=VALUE" in bad.stderr


def test_a_drive_with_little_nvram_takes_short_copies(config: Path) -> None:
    """Its records of a copy must fit: 32 bytes a page."""
    small = {"remap.mode": "share", "power.cut": "on-request", "power.nvram": "1 KiB"}
    done = kv.simulate(config, "overwrite", settings=REMAPPED, remap="base", set=small)
    assert done.completed, done.error
    assert done.report["drive"]["remap"]["shared"] > 1000


def test_a_writer_waits_for_work_whose_end_it_has_not_seen(config: Path) -> None:
    """The engine is ahead: a compaction is installed, and its files are still being written."""
    settings = {"records": 4000, "operations": 8000, "value_bytes": 5000}
    settings["store.write_buffer_size"] = 262_144
    done = kv.simulate(config, "fillrandom", settings=settings)
    assert done.completed, done.error
    assert done.report["phases"][-1]["stopped"]["waits"] > 0


def test_rare_operations_between_many_commits(config: Path) -> None:
    """A thousand looks for old pages while a processor works are no deadlock."""
    slow = {"records": 5, "operations": 5, "costs.write": 2_000_000_000}
    often = {"fs.commit_interval_ns": 1_000_000, "interval_ns": 1_000_000_000}
    done = kv.simulate(config, "fillrandom", settings={**SMALL, **slow, **often})
    assert done.completed, done.error


def test_settings_may_be_tables(config: Path) -> None:
    """They do not take the place of what `remap` sets."""
    tables = {"store": {"bloom_bits": 10}, "records": 300, "operations": 300}
    for settings in (tables, {"store.bloom_bits": 10, "records": 300, "operations": 300}):
        report = kv.simulate(config, "fillrandom", settings=settings, remap="base").report
        store = report["settings"]["store"]
        assert (store["bloom_bits"], store["reuse"], store["pages_per_block"]) == (10, "base", 1)


def test_defaults_name_every_setting() -> None:
    assert {"clients", "cores", "store", "costs", "fs"} <= set(simulation.defaults())


REMAPPED: dict[str, object] = {**SMALL, "value_bytes": 4000, "records": 3000, "operations": 6000}


@pytest.mark.parametrize("remap", ["base", "full"])
def test_remapping_saves_exactly_the_pages_that_it_shares(
    remap: Literal["base", "full"], config: Path, tmp_path: Path
) -> None:
    """Writes so slow that compaction always ends first make it meet the same tables."""
    found, files = {}, {}
    slow = {"costs.write": 1_000_000_000, "value_bytes": 4000, "records": 2000, "operations": 2000}
    for mode in ("off", "share", "copy"):
        found[mode] = kv.simulate(
            config,
            "overwrite",
            settings={**SMALL, **slow},
            remap=remap,
            set={"remap.mode": mode},
            out=tmp_path / mode,
            database=True,
        ).report
        assert found[mode]["completed"]
        kept = tmp_path / mode / "database"
        files[mode] = {file.name: file.read_bytes() for file in kept.iterdir()}
    assert files["off"] == files["share"] == files["copy"]
    assert sum(name.endswith(".ldb") for name in files["off"]) > 5

    off, share, copy = (found[mode] for mode in found)
    assert not off["total"]["pages_copied"]
    for other in (share, copy):
        copied = other["total"]["pages_copied"]
        assert sum(copied.values()) > 300
        saved = {
            cause: pages - other["total"]["pages_written"].get(cause, 0)
            for cause, pages in off["total"]["pages_written"].items()
        }
        # Copied pages have their place at once, written ones at write-back: a commit between them
        # writes an inode twice.
        assert abs(saved.pop("journal")) < 10
        assert {cause: pages for cause, pages in saved.items() if pages} == copied
        assert other["total"]["pages_noted"] == other["total"]["pages_written_on_drive"]
        for mine, theirs in zip(other["store"]["levels"], off["store"]["levels"], strict=True):
            assert mine["reused_blocks"] == theirs["reused_blocks"]
            assert mine["bytes_shared"] + mine["bytes_copied"] == theirs["bytes_copied"]
    copied = sum(share["total"]["pages_copied"].values())
    assert share["drive"]["remap"]["shared"] == copied
    assert copy["drive"]["flash"]["programs"]["remap"] == copied
    written = [found[mode]["total"]["pages_written_on_drive"] for mode in ("off", "share")]
    assert abs(written[0] - written[1] - copied) < 10
    amplification = [found[mode]["total"]["write_amplification"] for mode in ("share", "copy")]
    extra = copied * 4096 / copy["total"]["user_bytes"]
    assert amplification[1]["remap"] == pytest.approx(extra)
    assert "remap" not in amplification[0]
    level = share["store"]["levels"][1]
    assert level["reused_blocks"] <= level["unchanged_blocks"] <= level["input_blocks"]
    assert 0 < level["udb_share"] <= 1


@pytest.mark.parametrize("remap", ["aligned", "base", "full"])
def test_a_store_that_remaps_opens_in_leveldb(
    remap: Literal["aligned", "base", "full"], config: Path, tmp_path: Path
) -> None:
    plyvel = pytest.importorskip("plyvel")
    out = tmp_path / "result"
    settings = {**REMAPPED, "records": 1500, "operations": 3000}
    done = kv.simulate(config, "overwrite", settings=settings, remap=remap, out=out, database=True)
    assert done.completed, done.error
    assert ("data blocks taken over" in done.summary()) == (remap != "aligned")
    page = (out / "report.html").read_text()
    assert ("pages copied for" in page) == (remap != "aligned")
    theirs = plyvel.DB(str(out / "database"), paranoid_checks=True)
    keys = [key for key, value in theirs.iterator() if len(value) == 4000]
    theirs.compact_range()
    theirs.close()
    assert keys
    with kv.open(out / "database", paranoid_checks=True) as ours:
        assert list(ours.iterator(include_value=False)) == keys


def test_the_report_of_a_cut_says_what_it_took(config: Path, tmp_path: Path) -> None:
    settings = {**SMALL, "cut_ns": 30_000_000, "sync_every": 500}
    found = kv.simulate(config, settings=settings, out=tmp_path / "out", database=True)
    cut = found.report["cut"]
    assert found.completed
    start = found.report["phases"][0]["start_ns"]
    assert cut["at_ns"] == start + 30_000_000 == found.report["simulated_ns"]
    assert 0 < cut["lost"] < cut["acknowledged"] < 4000
    assert cut["lost_synced"] == 0
    assert cut["acknowledged"] - cut["lost"] >= 500, "the first synced write is there"
    text = " ".join(found.summary().split())
    assert f"{cut['lost']:,} of {cut['acknowledged']:,} acknowledged writes are lost" in text
    # The recovered store opens, and has the pairs of the first writes.
    with kv.open(tmp_path / "out/database") as store:
        pairs = sum(1 for _ in store)
    assert 0 < pairs <= cut["acknowledged"] - cut["lost"] + 1


def test_a_cut_needs_a_drive_that_is_prepared(config: Path) -> None:
    for key, value in (("power.cut", "never"), ("run.data", "none")):
        with pytest.raises(ConfigError) as error:
            kv.simulate(config, settings={**SMALL, "cut_ns": 30_000_000}, set={key: value})
        assert key in str(error.value)
    with pytest.raises(ConfigError, match="cut_ns = 0: expected 1 to"):
        kv.simulate(config, settings={**SMALL, "cut_ns": 0})


def test_a_cut_after_the_end_is_an_error_with_the_report(config: Path) -> None:
    found = kv.simulate(config, settings={**SMALL, "cut_ns": 1 << 50})
    assert found.error is not None
    assert "the simulation ended before, at" in found.error
    assert not found.completed
    assert "cut" not in found.report
