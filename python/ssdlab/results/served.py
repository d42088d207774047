"""The status and SMART log of a served drive, and the latency of a request, as text."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ssdlab.display.numbers import ABSENT, duration, rate, size
from ssdlab.results.text import PARTS, table

UNIT = 512_000
"""Bytes of an NVMe data unit: a thousand units of 512 bytes."""
MINUTE_NS, HOUR_NS = 60 * 10**9, 3600 * 10**9
HALF = 1 << 64
MOST_ROWS = 8
SPARE_THRESHOLD = 10
"""Percent of spare blocks below which real drives warn."""
SMART_NAMES = {
    "critical_warning": "critical_warning\t\t\t",
    "temperature": "temperature\t\t\t\t",
    "avail_spare": "available_spare\t\t\t\t",
    "spare_thresh": "available_spare_threshold\t\t",
    "percent_used": "percentage_used\t\t\t\t",
    "endurance_grp_critical_warning_summary": "endurance group critical warning summary",
    "data_units_read": "Data Units Read\t\t\t\t",
    "data_units_written": "Data Units Written\t\t\t",
    "host_read_commands": "host_read_commands\t\t\t",
    "host_write_commands": "host_write_commands\t\t\t",
    "controller_busy_time": "controller_busy_time\t\t\t",
    "power_cycles": "power_cycles\t\t\t\t",
    "power_on_hours": "power_on_hours\t\t\t\t",
    "unsafe_shutdowns": "unsafe_shutdowns\t\t\t",
    "media_errors": "media_errors\t\t\t\t",
    "num_err_log_entries": "num_err_log_entries\t\t\t",
    "warning_temp_time": "Warning Temperature Time\t\t",
    "critical_comp_time": "Critical Composite Temperature Time\t",
    "thm_temp1_trans_count": "Thermal Management T1 Trans Count\t",
    "thm_temp2_trans_count": "Thermal Management T2 Trans Count\t",
    "thm_temp1_total_time": "Thermal Management T1 Total Time\t",
    "thm_temp2_total_time": "Thermal Management T2 Total Time\t",
}
"""The keys of `nvme smart-log -o json`, and their names in its text output."""
MEDIA = {
    "Physical media units written": "media_written_bytes",
    "Physical media units read": "media_read_bytes",
}
"""The keys of `nvme ocp smart-add-log`, in bytes, and those of the summary."""


def smart_log(summary: dict[str, Any]) -> dict[str, Any]:
    """The counters of a drive under the keys of `nvme smart-log`, and those of its flash.

    Counters of things that the model does not have (temperatures, errors) are 0.
    """
    life, worn = summary["life"], summary["worn"]
    log: dict[str, Any] = dict.fromkeys(SMART_NAMES, 0)
    log |= {
        "avail_spare": worn["spare"],
        "spare_thresh": SPARE_THRESHOLD,
        "percent_used": min(worn["used"], 255),
        "critical_warning": int(worn["spare"] < SPARE_THRESHOLD),
        "data_units_read": -(-life["host_read_bytes"] // UNIT),
        "data_units_written": -(-life["host_written_bytes"] // UNIT),
        "host_read_commands": life["reads"],
        "host_write_commands": life["writes"],
        "controller_busy_time": life["busy_ns"] // MINUTE_NS,
        "power_cycles": life["ends"] + 1,
        "power_on_hours": life["on_ns"] // HOUR_NS,
        "unsafe_shutdowns": life["cuts"],
    }
    for name, key in MEDIA.items():
        log[name] = {"hi": life[key] // HALF, "lo": life[key] % HALF}
    return log


def smart_text(name: str, summary: dict[str, Any]) -> str:
    """The same in the layout of `nvme smart-log` and `nvme ocp smart-add-log`."""
    log = smart_log(summary)
    shown = {key: str(log[key]) for key in SMART_NAMES}
    for key in ("avail_spare", "spare_thresh", "percent_used"):
        shown[key] += "%"
    for key in ("data_units_read", "data_units_written"):
        shown[key] += f" ({_decimal(log[key] * UNIT)})"
    shown["temperature"] = f"{log['temperature'] - 273}\u00b0C ({log['temperature']} Kelvin)"
    lines = [f"Smart Log for NVME device:{name} namespace-id:ffffffff"]
    lines += [f"{SMART_NAMES[key]}: {value}" for key, value in shown.items()]
    lines.append("SMART Cloud Attributes :- ")
    for key in MEDIA:
        lines.append(f"  {key:<28} -   \t        {log[key]['hi']} {log[key]['lo']}")
    return "\n".join(lines) + "\n"


def _decimal(bytes_: float) -> str:
    units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
    while bytes_ >= 1000 and len(units) > 1:
        bytes_ /= 1000
        del units[0]
    return f"{bytes_:.2f} {units[0]}"


def status_text(summary: dict[str, Any]) -> str:
    """The first lines of the status: whether the server runs, space, and blocks."""
    space, channels = summary["space"], summary["channels"]
    free, blocks = (sum(channel[key] for channel in channels) for key in ("free", "blocks"))
    collecting = sum(channel["is_collecting"] for channel in channels)
    per_s = summary["replies_per_s"]
    rate_text = f", {rate(per_s)} requests/s" if summary["is_running"] and per_s is not None else ""
    served_text = f"served for {duration(summary['served_ns'])}"
    if summary["was_killed"]:
        state = f"killed or failed; this summary is from when it had {served_text}"
        if log := space["log_bytes"]:
            state += f"\nthe next server will replay the log of {size(log)} and mount the drive"
    else:
        state = f"{'running' if summary['is_running'] else 'stopped'}, {served_text}{rate_text}"
    lines = [
        state,
        f"{size(space['mapped_bytes'])} of {size(space['drive_bytes'])} mapped; on the disk of the"
        f" server: {size(space['stored_bytes'])} of data, {size(space['log_bytes'])} of log",
        f"{free:,} of {blocks:,} blocks erased,"
        f" {collecting} of {len(channels)} channels collecting",
    ]
    return "\n".join(lines) + "\n"


def why_text(record: dict[str, Any]) -> str:
    """The parts of the latency of a request, and the flash operations that it waited for."""
    request, operations = record["request"], record["operations"]
    summary = request["op"]
    if request["sectors"]:
        summary += f" of {size(512 * request['sectors'])} at {size(512 * request['sector'])}"
    lines = [
        f"request {request['id']:,}: {summary}",
        f"arrived at {duration(request['arrival_ns'])} and took {duration(request['latency_ns'])}:",
        *table(["", ""], [[f"  {name}", duration(request[key])] for key, name in PARTS])[1:],
    ]
    last = max(operations, key=lambda operation: operation["end_ns"], default=None)
    begin, end = request["arrival_ns"], request["arrival_ns"] + request["latency_ns"]
    if last is None:
        lines.append(
            "it had no flash operation of its own; "
            + (
                "these completed while it waited:"
                if record["before"]
                else "none completed while it waited"
            )
        )
    else:
        begin, end = last["queued_ns"], last["start_ns"]
        lines.append(
            f"its {'last' if len(operations) > 1 else 'only'} flash operation, a {last['op']} for"
            f" {last['cause']}, waited {duration(end - begin)} for {_place(last)};"
            + (
                " meanwhile these ran in the same plane, chip or channel:"
                if record["before"]
                else " no other operation ran there meanwhile"
            )
        )
    return "\n".join(lines + _groups(record["before"], begin)) + "\n"


def _place(operation: dict[str, Any]) -> str:
    return "channel {channel}, chip {chip}, plane {plane}".format_map(operation)


def _groups(preceding: list[dict[str, Any]], begin: int) -> list[str]:
    """The preceding operations as a table: a row for each kind, cause and block."""
    counts: Counter[tuple[str, ...]] = Counter()
    times: Counter[tuple[str, ...]] = Counter()
    for operation in preceding:
        key = (operation["op"], operation["cause"], _place(operation), str(operation["block"]))
        counts[key] += 1
        times[key] += operation["end_ns"] - max(operation["start_ns"], begin)
    if not counts:
        return []
    rows = [
        [f"  {op} for {cause}", place, block, f"{counts[op, cause, place, block]:,}", duration(ns)]
        for (op, cause, place, block), ns in times.most_common(MOST_ROWS)
    ]
    if (remaining := len(times) - MOST_ROWS) > 0:
        ns = sum(times.values()) - sum(ns for _, ns in times.most_common(MOST_ROWS))
        rows.append([f"  {remaining:,} more", ABSENT, ABSENT, ABSENT, duration(ns)])
    return table(["  operation", "unit", "block", "count", "time"], rows)
