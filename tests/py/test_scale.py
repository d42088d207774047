"""What write amplification depends on, and what it does not: the ground of `ssdlab try`.

Each test is a statement of ADR 0026 about scale, measured.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from running import ROOT
from ssdlab.running import scale
from ssdlab.running.trial_plan import POLICIES
from ssdlab.traces.trace import Requests, Trace
from ssdlab_lab.oracles.amplification import fifo
from ssdlab_lab.reproduce.scales.choices import SYNTHETIC, THETA, ZIPF
from ssdlab_lab.reproduce.scales.loads import stretched, write_trace, write_zipf
from ssdlab_lab.reproduce.scales.pools import Pool as WholePool

DRIVE = "drive:samsung-pm9a3"
BLOCKS, SPARE = 686, 0.15132
PASSES = 4, 2
"""Times the pages that are written before the measurement, and in it."""
MYSQL = ROOT / "traces" / "mysql.trace.zst"


def waf(device: dict[str, object], load: dict[str, object], policy: str, seed: int = 1) -> float:
    """Write amplification of a load on a device, with blocks as erase units unless it says else."""
    keys = {
        **scale.FUNCTIONAL,
        **scale.PRECONDITION,
        "alloc.pool": "chip",
        "alloc.erase_unit": "block",
        **POLICIES[policy],
        **device,
        **load,
    }
    report = ssdlab.run(DRIVE, set=keys, seed=seed, progress=False)
    assert report.waf.total is not None
    return report.waf.total


def device(blocks: int, pages: int, spare: float = SPARE, dies: int = 1) -> dict[str, object]:
    """Dies of one plane with so many blocks of so many pages."""
    user = int(dies * blocks * pages / (1 + spare))
    return {
        "device.channels": 1,
        "device.chips_per_channel": dies,
        "device.planes_per_chip": 1,
        "device.blocks_per_plane": blocks,
        "device.pages_per_block": pages,
        "device.user_capacity": f"{4 * user} KiB",
    }


def user_pages(form: dict[str, object]) -> int:
    """Pages that the host sees."""
    return int(str(form["device.user_capacity"]).split()[0]) // 4


def synthetic(name: str, form: dict[str, object]) -> dict[str, object]:
    """A synthetic load of a device."""
    pages, (before, measured) = user_pages(form), PASSES
    return {
        **SYNTHETIC[name],
        "workload.requests": (before + measured) * pages,
        "workload.warmup_requests": before * pages,
    }


def played(file: Path, form: dict[str, object], phases: str) -> dict[str, object]:
    """A trace on a device of its pages."""
    requests = Trace(file).requests()
    writes = int(requests.sectors[requests.op == 1].sum()) // 8
    before, measured = (math.ceil(times * user_pages(form) / writes) for times in PASSES)
    of_loop = len(requests) if phases == "recorded" else writes
    return {
        "workload.trace": str(file),
        "workload.phases": phases,
        "workload.loops": before + measured,
        "workload.warmup_requests": before * of_loop,
    }


def _load(measured: float) -> float:
    """User blocks over (N - D), from FIFO's 1 - x = exp(-x / rho) with x = 1 / WAF."""
    x = 1 / measured
    rho = -x / math.log1p(-x)
    assert fifo(rho) == pytest.approx(measured)
    return rho


@pytest.mark.parametrize(
    ("frontiers", "separation", "classes"),
    [("single", "none", 1), ("host+gc", "none", 2), ("host+gc", "sepbit", 6)],
)
@pytest.mark.parametrize(("soft", "reserve"), [(1, 1), (1, 2), (4, 2), (8, 2)])
def test_fifo_shows_how_many_blocks_hold_no_old_data(
    frontiers: str, separation: str, classes: int, soft: int, reserve: int
) -> None:
    form = device(128, 64, 0.25)
    keys = {
        "alloc.frontiers": frontiers,
        "alloc.separation": separation,
        "gc.trigger": {"policy": "free-blocks", "soft": soft, "hard": 0},
        "gc.reserve": reserve,
    }
    measured = waf({**form, **keys}, synthetic("uniform", form), "fifo")
    rho = _load(measured)
    unused = 128 - user_pages(form) / 64 / rho
    config = ssdlab.load_config(DRIVE, set={**scale.PRECONDITION, **keys})
    expected = max(soft, reserve) + 1 + (classes - 1) / 2
    assert scale.Pool.of(config).unused == expected
    assert unused == pytest.approx(expected, abs=0.5)


def test_each_plane_has_a_plain_block_open_for_each_frontier() -> None:
    form = {**device(512, 64, 0.25), "device.planes_per_chip": 4, "device.blocks_per_plane": 128}
    rho = _load(waf(form, synthetic("uniform", form), "fifo"))
    unused = 512 - user_pages(form) / 64 / rho
    config = ssdlab.load_config(DRIVE, set={**form, "alloc.erase_unit": "block"})
    assert scale.Pool.of(config).unused == 4 + 1 + 7 / 2
    assert unused == pytest.approx(4 + 1 + 7 / 2, abs=0.5)


@pytest.mark.parametrize("load", ["uniform", "80/20", "95/5"])
def test_fifo_does_not_depend_on_the_pages_of_a_block(load: str) -> None:
    large = device(BLOCKS, 384)
    whole = waf(large, synthetic(load, large), "fifo")
    for pages in (96, 24):
        small = device(BLOCKS, pages)
        assert waf(small, synthetic(load, small), "fifo") == pytest.approx(whole, rel=0.005)


def test_write_amplification_does_not_depend_on_the_number_of_dies() -> None:
    for policy in ("greedy", "fifo"):
        single, many = device(BLOCKS, 24), device(BLOCKS, 24, dies=16)
        few = waf(single, synthetic("80/20", single), policy)
        assert waf(many, synthetic("80/20", many), policy) == pytest.approx(few, rel=0.01)


@pytest.mark.parametrize("policy", ["greedy", "fifo"])
def test_fewer_blocks_with_the_same_effective_spare_suffice_for_uniform_writes(policy: str) -> None:
    large = device(BLOCKS, 384)
    whole = waf(large, synthetic("uniform", large), policy)
    # With the over-provisioning of the drive its open blocks leave a fourth of them too little.
    few = device(BLOCKS // 4, 384)
    assert waf(few, synthetic("uniform", few), policy) > 1.1 * whole
    pool = scale.Pool.of(ssdlab.load_config(DRIVE))
    assert pool.own_spare is not None
    assert pool.unused is not None
    used = (BLOCKS // 4 - pool.unused) / (1 + pool.own_spare)
    corrected = device(BLOCKS // 4, 384, BLOCKS // 4 / used - 1)
    amount = waf(corrected, synthetic("uniform", corrected), policy)
    assert amount == pytest.approx(whole, rel=0.01)


def zipf_file(folder: Path, ranks: int, form: dict[str, object]) -> dict[str, object]:
    """Zipf's law over more ranks than the device has pages."""
    pages, file = user_pages(form), folder / f"{user_pages(form)}.trace"
    if not file.exists():
        write_zipf(THETA, ranks, pages, sum(PASSES) * pages, 1, file)
    return {
        "workload.trace": str(file),
        "workload.warmup_requests": PASSES[0] * pages,
    }


@pytest.mark.slow
@pytest.mark.parametrize("load", SYNTHETIC)
def test_blocks_of_a_sixteenth_of_the_pages_predict_synthetic_loads(
    load: str, tmp_path: Path
) -> None:
    large, small, smaller = (device(BLOCKS, pages) for pages in (1536, 96, 48))
    for policy in POLICIES:
        whole = waf(large, synthetic(load, large), policy)
        trial, halved = (
            waf(
                form,
                zipf_file(tmp_path, user_pages(large), form)
                if load == ZIPF
                else synthetic(load, form),
                policy,
            )
            for form in (small, smaller)
        )
        assert trial == pytest.approx(whole, rel=0.06)
        assert 2 * trial - halved == pytest.approx(whole, rel=0.04)


@pytest.mark.slow
def test_fifo_does_not_depend_on_the_size_of_a_recorded_trace(tmp_path: Path) -> None:
    amounts = []
    for pages in (60, 240, 960):
        form = device(BLOCKS, pages)
        file = tmp_path / f"{pages}.trace"
        write_trace(MYSQL, 1 / 3, user_pages(form), file)
        amounts.append(waf(form, played(file, form, "recorded"), "fifo"))
    assert amounts[0] == pytest.approx(amounts[-1], rel=0.015)
    assert amounts[1] == pytest.approx(amounts[-1], rel=0.015)


def tiled(trace: Path, share: float, pages: int, copies: int, file: Path) -> None:
    """Copies of a trace side by side, each shifted by a further part of its length."""
    requests = Trace(trace).requests()
    count = round(len(requests) * share)
    part = Requests(*(getattr(requests, name)[:count] for name in Requests.__dataclass_fields__))
    begins, ends, is_write = stretched(part, pages)
    lines = []
    for at in range(len(begins)):
        for copy in range(copies):
            i = (at + copy * len(begins) // copies) % len(begins)
            first, end = (8 * (int(page) + copy * pages) for page in (begins[i], ends[i]))
            op = "W" if is_write[i] else "D"
            lines.append(f"7,0 0 0 {at * 1e-6:.6f} 0 Q {op} {first} + {end - first}\n")
    file.write_text("".join(lines))


@pytest.mark.slow
def test_independent_phases_are_the_limit_of_many_applications(tmp_path: Path) -> None:
    small = device(BLOCKS, 100)
    large = device(BLOCKS, 1100)
    file, tiles = tmp_path / "one.trace", tmp_path / "tiles.trace"
    write_trace(MYSQL, 1 / 3, user_pages(small), file)
    tiled(MYSQL, 1 / 3, user_pages(small), 11, tiles)
    recorded, phased, many = {}, {}, {}
    for policy in ("greedy", "fifo", "greedy + sepbit", "cost-benefit + fadac"):
        recorded[policy] = waf(small, played(file, small, "recorded"), policy)
        phased[policy] = waf(small, played(file, small, "independent"), policy)
        many[policy] = waf(large, played(tiles, large, "recorded"), policy)
    assert phased["fifo"] == pytest.approx(many["fifo"], rel=0.03)
    assert min(phased, key=phased.__getitem__) == min(many, key=many.__getitem__)
    # Mixed bursts lie between one application and the limit.
    assert recorded["greedy"] < many["greedy"] < 1.05 * phased["greedy"]


def test_a_stretched_trace_keeps_its_order_and_covers_all_pages() -> None:
    rng = np.random.default_rng(5)
    count = 500
    first = rng.integers(0, 900, count) // 3 * 3
    length = rng.integers(1, 40, count)
    op = rng.choice([0, 1, 1, 1, 2, 3], count)
    requests = Requests(
        at_ns=np.arange(count, dtype=np.uint64),
        sector=first.astype(np.uint64),
        sectors=length.astype(np.uint32),
        op=op.astype(np.uint8),
        flags=np.zeros(count, dtype=np.uint8),
    )
    written = {
        page
        for at, size, kind in zip(first, length, op, strict=True)
        if kind == 1
        for page in range(at // 8, -(-(at + size) // 8))
    }
    order = {page: number for number, page in enumerate(sorted(written))}
    for pages in (len(written) // 3, len(written), 7 * len(written) + 2):
        # A literal version, page by page.
        expected = []
        for at, size, kind in zip(first, length, op, strict=True):
            if kind == 1:
                of_request = range(at // 8, -(-(at + size) // 8))
            elif kind == 2:
                of_request = range(-(-at // 8), (at + size) // 8)
            else:
                continue
            several = [
                page
                for old in of_request
                if old in order
                for page in range(
                    order[old] * pages // len(order), (order[old] + 1) * pages // len(order)
                )
            ]
            if several:
                expected.append((several[0], several[-1] + 1, kind == 1))
                assert several == list(range(several[0], several[-1] + 1))
        begins, ends, is_write = stretched(requests, pages)
        assert [*zip(begins, ends, is_write, strict=True)] == expected
        touched = set()
        for begin, end, write in expected:
            touched |= set(range(begin, end)) if write else set()
        assert touched == set(range(pages))


def test_the_pool_at_full_size_is_that_of_the_drive() -> None:
    for name in ("tlc-960gb", DRIVE, "drive:solidigm-p5520-1.92t"):
        drive = ssdlab.load_config(name)
        whole = WholePool(drive, quick=False)
        pool = ssdlab.load_config(drive, set=whole.full())
        one, all_ = scale.Pool.of(pool), scale.Pool.of(drive)
        assert (one.pools, one.blocks, one.pages) == (1, all_.blocks, all_.pages)
        assert one.over_provisioning == pytest.approx(all_.over_provisioning, rel=1e-4)


def test_room_for_new_writes_is_that_of_the_drive() -> None:
    buffer = {"host.write_buffer_pages": 8000, "host.write_buffer_threshold": 0.5}
    drive = ssdlab.load_config(preset="greedy-8ch", set=buffer)
    trial = scale.timed_device(drive, drive["device.user_pages"] // 10)
    assert trial is not None
    # A tenth of the 4000 pages that wait for later writes, and all of the other 4000.
    size, threshold = trial.keys["host.write_buffer_pages"], 400 / 4400
    assert size == 4400
    assert trial.keys["host.write_buffer_threshold"] == pytest.approx(threshold, abs=1e-4)
