"""The external checker: sound runs pass, and each rule catches the run that breaks it."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import zstandard

from checking import checker

OP_HEADER = (
    "op,cause,channel,chip,plane,block,page,lpn,sequence,request,queued,start,end,"
    "bus_start,bus_end,array_start,array_end"
)
REQUEST_HEADER = (
    "id,volume,stream,op,lpn,pages,arrival,completion,queue,chip,transfer,gc_wait,metadata,digest"
)
STATE_HEADER = "channel,chip,plane,block,page,lpn,sequence,valid"
Row = dict[str, str]


def parse(header: str, text: str) -> list[Row]:
    return list(csv.DictReader(io.StringIO(header + "\n" + "\n".join(text.split()))))


@dataclass
class Run:
    """A run's folder in memory."""

    report: dict[str, Any]
    ops: list[Row]
    requests: list[Row]
    state: list[Row] = field(default_factory=list)
    request_header: str = REQUEST_HEADER

    def write(self, folder: Path) -> None:
        """Write the report and the compressed logs."""
        (folder / "report.json").write_text(json.dumps(self.report), encoding="utf-8")
        logs = {"ops": (OP_HEADER, self.ops), "requests": (self.request_header, self.requests)}
        if self.state:
            logs["state"] = (STATE_HEADER, self.state)
        for name, (header, rows) in logs.items():
            text = io.StringIO()
            writer = csv.DictWriter(text, header.split(","), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            packed = zstandard.ZstdCompressor().compress(text.getvalue().encode())
            (folder / f"{name}.csv.zst").write_bytes(packed)


def config(busy_unit: str = "chip") -> dict[str, Any]:
    sizes = {"channels": 2, "chips_per_channel": 1, "planes_per_chip": 2}
    sizes |= {"blocks_per_plane": 2, "pages_per_block": 4}
    return {"device": sizes, "timing": {"busy_unit": busy_unit, "command_ns": 0}}


def three_operations() -> Run:
    """One write, one read of it, one erase of another block."""
    ops = """
        program,host,0,0,0,0,0,5,1,0,0,0,250,0,50,50,250
        read,host,0,0,0,0,0,5,1,1,300,300,400,375,400,300,375
        erase,gc,1,0,0,1,,,,,500,500,1500,,,500,1500
    """
    requests = """
        0,0,0,write,5,1,0,250,0,200,50,0,0,
        1,0,0,read,5,1,300,420,20,75,25,0,0,ab12
    """
    write = {"count": 1, "mean": 250.0, "min": 250, "max": 250, "stddev": 0.0, "p50": 251}
    read = {"count": 1, "mean": 120.0, "min": 120, "max": 120, "stddev": 0.0, "p99": None}
    parts = ("queue", "chip", "transfer", "gc_wait", "metadata")
    report = {
        "completed": True,
        "config": config(),
        "requests": {"submitted": 2, "completed": 2, "read": 1, "write": 1, "trim": 0, "flush": 0},
        "host": {"pages_read": 1, "pages_written": 1, "pages_trimmed": 0},
        "latency": {"read": read, "write": write},
        "latency_parts": {
            "read": dict(zip(parts, (20, 75, 25, 0, 0), strict=True)),
            "write": dict(zip(parts, (0, 200, 50, 0, 0), strict=True)),
        },
        "flash": {"reads": {"host": 1, "gc": 0}, "programs": {"host": 1, "gc": 0}, "erases": 1},
        "waf": {"total": 1.0, "host": 1.0, "gc": 0.0},
        "gc": {"pages_dropped": 0},
        "device": {
            "erase_min": 0,
            "erase_max": 1,
            "erase_mean": 0.125,
            "valid_pages": 1,
            "utilisation": {"chip": [0.175, 0.5], "channel": [0.0375, 0.0]},
        },
        "time": {"simulated": 2000},
    }
    return Run(report, parse(OP_HEADER, ops), parse(REQUEST_HEADER, requests))


def collection() -> Run:
    """Collect a block: one page copied, one overwritten on the way, one trimmed.

    The overwrite is a multi-plane program of two pages on the other channel.
    """
    state = """
        0,0,0,0,0,0,1,1
        0,0,0,0,1,1,2,0
        0,0,0,0,2,2,3,1
        0,0,0,0,3,3,4,1
        0,0,1,0,0,1,5,1
    """
    ops = """
        read,gc,0,0,0,0,0,0,1,,0,0,100,75,100,0,75
        program,host,1,0,0,0,0,2,6,0,20,20,320,20,120,120,320
        program,host,1,0,1,0,0,4,7,2,20,20,320,20,120,120,320
        program,gc,0,0,1,0,1,0,1,,100,100,350,100,150,150,350
        read,gc,0,0,0,0,2,2,3,,350,350,450,425,450,350,425
        erase,gc,0,0,0,0,,,,,450,450,1450,,,,
    """
    requests = """
        0,0,0,write,2,1,20,320,0,200,100,0,0,
        2,0,0,write,4,1,20,320,0,200,100,0,0,
        1,0,0,trim,3,1,30,31,1,0,0,0,0,
    """
    report = three_operations().report
    report["requests"] = {"submitted": 3, "completed": 3, "write": 2, "trim": 1}
    report["host"] = {"pages_read": 0, "pages_written": 2, "pages_trimmed": 1}
    report["latency"] = {
        "write": {"count": 2, "mean": 300, "min": 300, "max": 300},
        "trim": {"count": 1, "mean": 1, "min": 1, "max": 1},
    }
    report["latency_parts"] = {}
    report["flash"] = {"reads": {"gc": 2}, "programs": {"host": 2, "gc": 1}, "erases": {"gc": 1}}
    report["waf"] = {"total": 1.5, "host": 1.0, "gc": 0.5}
    report["gc"] = {"pages_dropped": 1}
    report["device"] = {
        "erase_mean": 1 / 8,
        "valid_pages": 4,
        "utilisation": {"chip": [1450 / 2000, 300 / 2000], "channel": [100 / 2000, 100 / 2000]},
    }
    return Run(
        report, parse(OP_HEADER, ops), parse(REQUEST_HEADER, requests), parse(STATE_HEADER, state)
    )


def selective() -> Run:
    """Two pages copied over the selective path: one without errors, one in error."""
    state = """
        0,0,0,0,0,0,1,1
        0,0,0,0,1,1,2,1
    """
    ops = """
        read,gc,0,0,0,0,0,0,1,,0,0,87,,,0,87
        program,gc,0,0,1,0,0,0,1,,87,87,299,,,87,299
        read,gc,0,0,0,0,1,1,2,,87,299,386,,,299,386
        program,gc,0,0,1,0,1,1,2,,386,386,648,,,386,648
        erase,gc,0,0,0,0,,,,,648,648,1648,,,648,1648
    """
    report = collection().report
    report["requests"] = {"submitted": 0, "completed": 0}
    report["host"] = {}
    report["latency"] = {}
    report["flash"] = {"reads": {"gc": 2}, "programs": {"gc": 2}, "erases": 1}
    report["gc"] = {"pages_dropped": 0}
    report["device"] = {"erase_mean": 1 / 8, "valid_pages": 2}
    report["controller"] = {"traversals": {"gc": 3, "wear": 0}, "pages_from_buffer": 1}
    settings = config("channel")
    times = {"read_ns": 25, "program_ns": 200, "erase_ns": 1000, "sram_ns": 12, "transfer_ns": 0}
    settings["timing"] |= {"model": "serial", **times}
    settings["device"]["page_bytes"] = 2
    path = {"flit_bits": 4, "slice_ns": 10, "mean_path": 2.0, "rounding_ns": 1}
    settings["interconnect"] = {"model": "formula", **path}
    settings["controller"] = {"buffers": 1, "ecc_ns": 0, "traversals_host": 1}
    settings["gc"] = {"path": "selective"}
    report["config"] = settings
    return Run(report, parse(OP_HEADER, ops), [], parse(STATE_HEADER, state))


def degraded() -> Run:
    """A group of two chips: a write, the failure of its chip, a degraded read, the rebuild."""
    ops = """
        program,host,0,0,0,0,0,5,1,0,0,0,250,0,50,50,250
        program,parity,1,0,0,0,0,13,1,0,0,0,250,0,50,50,250
        read,reconstruct,1,0,0,0,0,13,1,1,300,300,400,375,400,300,375
        read,rebuild,1,0,0,0,0,13,1,,520,520,620,595,620,520,595
        program,rebuild,0,0,0,0,0,5,1,,620,620,870,620,670,670,870
    """
    requests = """
        0,0,0,write,5,1,0,250,0,200,50,0,0,
        1,0,0,read,5,1,300,420,20,75,25,0,0,ab12
    """
    run = three_operations()
    run.ops, run.requests = parse(OP_HEADER, ops), parse(REQUEST_HEADER, requests)
    report = run.report
    report["config"]["raid"] = {"group": 2}
    report["flash"] = {
        "reads": {"reconstruct": 1, "rebuild": 1},
        "programs": {"host": 1, "parity": 1, "rebuild": 1},
        "erases": 0,
    }
    report["waf"] = {"total": 3.0, "host": 1.0, "parity": 1.0, "rebuild": 1.0}
    report["raid"] = {"failure": {"chips": [0], "failed_at": [280], "replaced_at": [500]}}
    report["device"] |= {"user_pages": 8, "valid_pages": 2, "erase_max": 0, "erase_mean": 0.0}
    report["device"]["utilisation"] = {"chip": [0.25, 0.225], "channel": [0.05, 0.05]}
    return run


def beside() -> Run:
    """A read of a page is computed between the reads and the programs of an update of its group."""
    ops = """
        program,host,0,0,0,0,0,5,1,0,0,0,250,0,50,50,250
        program,parity,1,0,0,0,0,13,1,0,0,0,250,0,50,50,250
        read,rmw,1,0,0,0,0,13,1,1,300,300,400,375,400,300,375
        read,reconstruct,1,0,0,0,0,13,1,2,410,410,510,485,510,410,485
        program,host,0,0,0,0,1,5,2,1,450,450,700,450,500,500,700
        program,parity,1,0,0,0,1,13,2,1,520,520,770,520,570,570,770
    """
    requests = """
        0,0,0,write,5,1,0,250,0,200,50,0,0,
        1,0,0,write,5,1,300,770,120,275,75,0,0,
        2,0,0,read,5,1,410,510,0,75,25,0,0,ab12
    """
    run = degraded()
    run.ops, run.requests = parse(OP_HEADER, ops), parse(REQUEST_HEADER, requests)
    report = run.report
    reads, programs = {"rmw": 1, "reconstruct": 1}, {"host": 2, "parity": 2}
    report["flash"] = {"reads": reads, "programs": programs, "erases": 0}
    report["waf"] = {"total": 2.0, "host": 1.0, "parity": 1.0}
    report["raid"] = None
    report["requests"] |= {"submitted": 3, "completed": 3, "write": 2}
    report["host"]["pages_written"] = 2
    report["latency"] = {
        "read": {"count": 1, "mean": 100.0, "min": 100, "max": 100, "stddev": 0.0, "p99": None},
        "write": {"count": 2, "mean": 360.0, "min": 250, "max": 470, "stddev": 110.0},
    }
    report["latency_parts"]["read"]["queue"] = 0
    report["latency_parts"]["write"] |= {"queue": 60, "chip": 237.5, "transfer": 62.5}
    report["device"]["utilisation"] = {"chip": [0.25, 0.35], "channel": [0.05, 0.075]}
    return run


@pytest.mark.parametrize("make", [three_operations, collection, selective, degraded, beside])
def test_sound_runs_pass(make: Callable[[], Run], tmp_path: Path) -> None:
    make().write(tmp_path)
    assert checker(tmp_path)[0] == 0, checker(tmp_path)[1]


def change(row: Row, **fields: object) -> None:
    row.update({name: str(value) for name, value in fields.items()})


def overlap(run: Run) -> None:
    change(run.ops[1], queued=200, start=200, array_start=200)


def collide(run: Run) -> None:
    change(run.ops[2], channel=0, plane=1, bus_start=380, bus_end=390, start=380, queued=380)
    run.report["config"]["timing"]["busy_unit"] = "plane"


def reprogram(run: Run) -> None:
    run.ops.insert(1, copy.deepcopy(run.ops[0]))
    change(run.ops[1], start=255, end=290, bus_start=260, bus_end=270, sequence=2)
    change(run.ops[1], array_start=280, array_end=281)


def stale_read(run: Run) -> None:
    run.ops.insert(1, copy.deepcopy(run.ops[0]))
    change(run.ops[1], start=255, end=290, bus_start=260, bus_end=270, sequence=2, page=1)


def acknowledged_early(run: Run) -> None:
    """Acknowledge a write from the buffer, then let a later read see the old data."""
    run.report["config"]["host"] = {"write_buffer_pages": 8}
    late = copy.deepcopy(run.ops[0])
    change(late, page=1, sequence=2, queued=260, start=420, end=490, bus_start="", bus_end="")
    change(late, request=2, array_start="", array_end="")
    run.ops.insert(2, late)
    run.requests.append(copy.deepcopy(run.requests[0]))
    change(run.requests[2], id=2, arrival=255, completion=260, chip=5, transfer=0)


def trimmed_read(run: Run) -> None:
    run.requests.append(copy.deepcopy(run.requests[0]))
    change(run.requests[2], id=2, op="trim", arrival=260, completion=260, chip=0, transfer=0)


def erase_live(run: Run) -> None:
    change(run.ops[2], channel=0, block=0)


def erase_busy(run: Run) -> None:
    change(run.ops[2], channel=0, block=0, start=350, queued=350, array_start=350)


def swap_lines(run: Run) -> None:
    run.ops[1], run.ops[2] = run.ops[2], run.ops[1]


def report_value(path: str, value: object) -> Callable[[Run], None]:
    def apply(run: Run) -> None:
        *keys, last = path.split(".")
        holder = run.report
        for key in keys:
            holder = holder[key]
        holder[last] = value

    return apply


def op_value(index: int, **fields: object) -> Callable[[Run], None]:
    return lambda run: change(run.ops[index], **fields)


def request_value(index: int, **fields: object) -> Callable[[Run], None]:
    return lambda run: change(run.requests[index], **fields)


def without_op(index: int) -> Callable[[Run], None]:
    def apply(run: Run) -> None:
        del run.ops[index]

    return apply


def without_trim(run: Run) -> None:
    del run.requests[2]


BROKEN: list[tuple[str, Callable[[Run], None]]] = [
    ("unit-overlap ops.csv.zst:3:", overlap),
    ("bus-overlap ops.csv.zst:4:", collide),
    ("start-order ops.csv.zst:4:", swap_lines),
    ("operation-times ops.csv.zst:2:", op_value(0, queued=10)),
    ("operation-times ops.csv.zst:3:", op_value(1, bus_end=410)),
    ("operation-times ops.csv.zst:3:", op_value(1, bus_end="")),
    ("operation-fields ops.csv.zst:2:", op_value(0, cause="hots")),
    ("operation-fields ops.csv.zst:4:", op_value(2, page=0)),
    ("geometry ops.csv.zst:4:", op_value(2, block=2)),
    ("page-order ops.csv.zst:2:", op_value(0, page=1)),
    ("erase-before-program ops.csv.zst:3:", reprogram),
    ("erase-live ops.csv.zst:4:", erase_live),
    ("erase-in-flight ops.csv.zst:4:", erase_busy),
    ("read-content ops.csv.zst:3:", op_value(1, lpn=6)),
    ("read-content ops.csv.zst:3:", op_value(1, page=1)),
    ("read-content ops.csv.zst:3:", op_value(1, sequence=0)),
    ("read-newest ops.csv.zst:3:", acknowledged_early),
    ("read-newest ops.csv.zst:4:", stale_read),
    ("read-newest ops.csv.zst:3:", trimmed_read),
    ("request-window ops.csv.zst:3:", request_value(1, completion=399, queue=0, chip=74)),
    ("request-window ops.csv.zst:3:", request_value(1, lpn=6)),
    ("request-window ops.csv.zst:2:", op_value(0, request=9)),
    ("latency-parts requests.csv.zst:3:", request_value(1, gc_wait=1)),
    (
        "firmware-time requests.csv.zst:3:",
        report_value("config.controller", {"firmware_p50_ns": 30, "firmware_p99_ns": 30}),
    ),
    ("request-count requests.csv.zst:3:", request_value(1, completion="")),
    ("request-fields requests.csv.zst:3:", request_value(1, id=0)),
    ("request-count report.json:requests.read:", report_value("requests.read", 2)),
    ("host-pages report.json:host.pages_read:", report_value("host.pages_read", 2)),
    ("latency-report report.json:latency.read.count:", report_value("latency.read.count", 2)),
    ("latency-report report.json:latency.read.mean:", report_value("latency.read.mean", 122)),
    ("latency-report report.json:latency.read.max:", report_value("latency.read.max", 121)),
    ("latency-report report.json:latency.write.p50:", report_value("latency.write.p50", 254)),
    ("latency-report report.json:latency.write.p99:", report_value("latency.write.p99", 246)),
    ("latency-report report.json:latency.trim.count:", report_value("latency.trim", {"count": 1})),
    (
        "latency-parts-report report.json:latency_parts.read.chip:",
        report_value("latency_parts.read.chip", 77),
    ),
    ("flash-count report.json:flash.reads.gc:", report_value("flash.reads.gc", 1)),
    ("flash-count report.json:flash.programs.host:", report_value("flash.programs.host", 2)),
    ("flash-count report.json:flash.erases:", report_value("flash.erases", 0)),
    ("erase-count report.json:device.erase_mean:", report_value("device.erase_mean", 0.126)),
    ("erase-count report.json:device.erase_max:", report_value("device.erase_max", 2)),
    ("waf report.json:waf.total:", report_value("waf.total", 1.001)),
    (
        "utilisation report.json:device.utilisation.chip[1]:",
        report_value("device.utilisation.chip", [0.175, 0.4]),
    ),
    (
        "utilisation report.json:device.utilisation.channel[0]:",
        report_value("device.utilisation.channel", [0.175, 0.0]),
    ),
    ("valid-pages report.json:device.valid_pages:", report_value("device.valid_pages", 2)),
]

BROKEN_COLLECTION: list[tuple[str, Callable[[Run], None]]] = [
    ("gc-copy ops.csv.zst:4:", without_op(0)),
    ("lost-write ops.csv.zst: expected a program of LPN 4", without_op(2)),
    ("gc-copy ops.csv.zst:5:", op_value(0, end=101)),
    ("gc-balance report.json:gc.pages_dropped:", report_value("gc.pages_dropped", 0)),
    ("erase-live ops.csv.zst:7:", without_trim),
    ("erase-live ops.csv.zst:6:", without_op(3)),
    ("erase-live ops.csv.zst:7:", op_value(3, cause="host", lpn=1, sequence=8)),
    ("unit-overlap ops.csv.zst:4:", op_value(2, plane=0, block=1)),
    ("unit-overlap ops.csv.zst:4:", op_value(2, end=321)),
    ("bus-overlap ops.csv.zst:4:", op_value(2, bus_end=121)),
    ("page-order state.csv.zst:6:", lambda run: change(run.state[4], page=1)),
    ("state state.csv.zst:6:", lambda run: change(run.state[4], lpn=0)),
    ("geometry state.csv.zst:6:", lambda run: change(run.state[4], plane=2)),
]


BROKEN_SELECTIVE: list[tuple[str, Callable[[Run], None]]] = [
    ("service-time ops.csv.zst:2:", op_value(0, end=86)),
    ("service-time ops.csv.zst:5:", op_value(3, end=649)),
    ("selective-path ops.csv.zst:3:", op_value(1, start=88, end=300)),
    ("selective-path ops.csv.zst:3:", op_value(1, channel=1)),
    ("buffers ops.csv.zst:", op_value(2, start=298, end=385)),
    ("traversals report.json:controller.traversals:", report_value("controller.traversals.gc", 2)),
    (
        "traversals report.json:controller.pages_from_buffer:",
        report_value("controller.pages_from_buffer", 2),
    ),
]


def updated_while_computed(run: Run) -> None:
    """Another write of the group programs before its degraded read has ended."""
    ops = """
        program,host,0,0,1,0,0,5,2,2,390,390,640,390,440,440,640
        program,parity,1,0,1,0,0,13,2,2,390,390,640,390,440,440,640
    """
    run.ops[3:3] = parse(OP_HEADER, ops)


ERASE_ON_CHIP_0 = {
    "op": "erase",
    "cause": "gc",
    "channel": 0,
    **dict.fromkeys(("page", "lpn", "sequence", "bus_start", "bus_end"), ""),
    **dict.fromkeys(("queued", "start", "array_start"), 410),
    **dict.fromkeys(("end", "array_end"), 490),
}
BROKEN_DEGRADED: list[tuple[str, Callable[[Run], None]]] = [
    # No spare comes, or only after the rebuild has begun, or another chip has failed.
    ("failed-chip ops.csv.zst:6:", report_value("raid.failure.replaced_at", [None])),
    ("failed-chip ops.csv.zst:6:", report_value("raid.failure.replaced_at", [621])),
    ("failed-chip ops.csv.zst:4:", report_value("raid.failure.chips", [1])),
    # Nor does collection go on there.
    ("failed-chip ops.csv.zst:5:", op_value(3, **ERASE_ON_CHIP_0)),
    ("failed-chip ops.csv.zst:6:", op_value(4, cause="gc", start=480)),
    # What is computed is read while the update of its group runs.
    ("parity-lock ops.csv.zst:4:", op_value(2, start=249, queued=249)),
    ("parity-lock ops.csv.zst:5:", updated_while_computed),
    # An older version than the one that was lost.
    ("rebuild ops.csv.zst:6:", op_value(4, sequence=0)),
]


def assert_caught(run: Run, line: str, folder: Path) -> None:
    run.write(folder)
    code, out, errors = checker(folder)
    assert code == 1, out + errors
    assert any(text.startswith(line) for text in out.splitlines()), out
    assert f"violated: {line.split()[0]}," in out


@pytest.mark.parametrize(("line", "damage"), BROKEN)
def test_broken_run_is_caught(line: str, damage: Callable[[Run], None], tmp_path: Path) -> None:
    run = three_operations()
    damage(run)
    assert_caught(run, line, tmp_path)


@pytest.mark.parametrize(("line", "damage"), BROKEN_COLLECTION)
def test_broken_collection_is_caught(
    line: str, damage: Callable[[Run], None], tmp_path: Path
) -> None:
    run = collection()
    damage(run)
    assert_caught(run, line, tmp_path)


@pytest.mark.parametrize(("line", "damage"), BROKEN_SELECTIVE)
def test_broken_selective_path_is_caught(
    line: str, damage: Callable[[Run], None], tmp_path: Path
) -> None:
    run = selective()
    damage(run)
    assert_caught(run, line, tmp_path)


@pytest.mark.parametrize(("line", "damage"), BROKEN_DEGRADED)
def test_broken_degraded_run_is_caught(
    line: str, damage: Callable[[Run], None], tmp_path: Path
) -> None:
    run = degraded()
    damage(run)
    assert_caught(run, line, tmp_path)


def test_warm_up_is_left_out(tmp_path: Path) -> None:
    run = three_operations()
    report = run.report
    report["requests"] = {"warmup": 1, "submitted": 1, "completed": 1, "read": 1, "write": 0}
    report["host"] = {"pages_read": 1, "pages_written": 0}
    report["latency"]["write"] = {"count": 0}
    report["latency_parts"].pop("write")
    report["flash"]["programs"]["host"] = 0
    report["waf"] = {"total": None}
    report["device"]["utilisation"] = {"chip": [0.1, 1.0], "channel": [0.025, 0.0]}
    report["time"] = {"simulated": 1000, "measured_from": 300}
    report["device"]["utilisation"]["chip"][1] = 0.8
    run.write(tmp_path)
    assert checker(tmp_path)[0] == 0, checker(tmp_path)[1]
    del report["time"]["measured_from"]
    run.write(tmp_path)
    code, out, _ = checker(tmp_path)
    assert code == 0
    assert "note: " in out


@pytest.mark.parametrize("name", ["report.json", "ops.csv.zst", "requests.csv.zst"])
def test_unreadable_input(name: str, tmp_path: Path) -> None:
    three_operations().write(tmp_path)
    (tmp_path / name).write_bytes(b"nonsense")
    code, _, errors = checker(tmp_path)
    assert code == 2
    assert name in errors
    (tmp_path / name).unlink()
    assert checker(tmp_path)[0] == 2


@pytest.mark.parametrize("field_name", ["start", "channel"])
@pytest.mark.parametrize("value", ["x", "-1", "1.5"])
def test_malformed_number_is_unreadable(field_name: str, value: str, tmp_path: Path) -> None:
    run = three_operations()
    change(run.ops[1], **{field_name: value})
    run.write(tmp_path)
    code, _, errors = checker(tmp_path)
    assert code == 2
    assert "ops.csv.zst:3" in errors


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("latency.read.mean", "long"),
        ("config.device.channels", 0),
        ("config.timing.busy_unit", "die"),
        ("config.timing.command_ns", "1 fortnight"),
        ("requests.warmup", 3),
    ],
)
def test_malformed_report_is_unreadable(path: str, value: object, tmp_path: Path) -> None:
    run = three_operations()
    report_value(path, value)(run)
    run.write(tmp_path)
    code, _, errors = checker(tmp_path)
    assert code == 2
    assert f"report.json:{path}"[:20] in errors
