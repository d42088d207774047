"""Words, percentages and sizes as the field writes them, and several traces on one drive."""

import json
from pathlib import Path

import pytest

import ssdlab
from running import SMALL, refused, ssdlab_command
from ssdlab.cli.arguments import nanoseconds, size_bytes
from ssdlab.cli.options import settings
from ssdlab.config.quantity import quantity
from ssdlab.config.vary import values_of


def test_help_has_a_short_option(tmp_path: Path) -> None:
    for verb in (["-h"], ["run", "-h"], ["trace", "info", "-h"]):
        done = ssdlab_command(*verb, cwd=tmp_path)
        assert done.returncode == 0
        assert "Usage" in done.stdout


def test_words_of_other_tools_lead_to_keys(tmp_path: Path) -> None:
    done = ssdlab_command("config", "show", "greedy-8ch", "--set", "iodepth=4", cwd=tmp_path)
    refused(done, 2, '"iodepth" (fio)', "--set host.queue_depth=4")
    with pytest.raises(ssdlab.ConfigError, match=r'set={"host.queue_depth": "4"}'):
        ssdlab.load_config("greedy-8ch", set={"iodepth": 4})
    done = ssdlab_command("list", "words", cwd=tmp_path)
    assert "iodepth" in done.stdout
    assert "host.queue_depth" in done.stdout
    names = [name for name, _ in settings("")]
    assert "iodepth" in names
    assert "host.queue_depth=" in names


def test_percentages_and_sizes() -> None:
    values = [
        ssdlab.load_config("greedy-8ch", set={"device.over_provisioning": given})
        for given in (0.28, "28%")
    ]
    assert values[0] == values[1]
    with pytest.raises(ssdlab.ConfigError, match=r"28%.*2800%"):
        ssdlab.load_config("greedy-8ch", set={"device.over_provisioning": 28})
    assert values_of({"x": "7%:28%:7%"}) == {"x": ["7 %", "14 %", "21 %", "28 %"]}
    assert (quantity("28%"), quantity("7 %")) == ((0.28, ""), (0.07, ""))
    assert values_of({"x": "4k:16k:x2"}) == {"x": ["4 k", "8 k", "16 k"]}
    assert size_bytes("--size", "8 GiB") == 8 << 30
    assert nanoseconds("--budget", "1.5s") == 1_500_000_000
    assert nanoseconds("--budget", "2h") == 7200 * 10**9
    with pytest.raises(ssdlab.ConfigError, match="--size 8GB or --size 8GiB"):
        size_bytes("--size", "8G")


def _traces(folder: Path) -> list[Path]:
    paths = []
    for name in ("a", "b"):
        rows = (f"{1000 * i}000,W,{4096 * (i * 7 % 300)},4096\n" for i in range(900))
        paths.append(folder / f"{name}.csv")
        paths[-1].write_text("time_ns,op,offset_bytes,size_bytes\n" + "".join(rows))
    return paths


def test_merged_traces_are_tenants_of_a_drive(tmp_path: Path) -> None:
    _traces(tmp_path)
    done = ssdlab_command("trace", "merge", "a.csv", "b.csv", "--out", "c.ssdtrace", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1,800 requests" in done.stdout
    assert "0: a.csv, 1: b.csv" in done.stderr
    done = ssdlab_command("trace", "info", "c.ssdtrace", cwd=tmp_path)
    refused(done, 2, "\n  ssdlab trace info c.ssdtrace --set workload.volume=all  # all 2")
    every = ("--set", "workload.volume=all")
    done = ssdlab_command("trace", "info", "c.ssdtrace", *every, "--json", cwd=tmp_path)
    info = json.loads(done.stdout)
    assert [one["writes"] for one in info["volumes"]] == [900, 900]
    assert info["footprint"]["pages_written"] == 600
    device = {key: value for key, value in SMALL.items() if not key.startswith("workload.")}
    report = ssdlab.run(
        "greedy-8ch",
        trace=tmp_path / "c.ssdtrace",
        set={**device, "workload.volume": "all"},
        progress=False,
    )
    assert len(report.latency.by_stream or {}) == 2
    done = ssdlab_command("trace", "merge", "a.csv", "--out", "d.ssdtrace", cwd=tmp_path)
    refused(done, 2, "at least two")


def test_try_takes_all_volumes_and_a_seed(tmp_path: Path) -> None:
    paths = _traces(tmp_path)
    ssdlab.merge(paths, tmp_path / "c.ssdtrace")
    how = ("--set", "workload.volume=all", "--seed", "7", "--seeds", "2", "--no-html", "--json")
    done = ssdlab_command("try", "c.ssdtrace", *how, "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
