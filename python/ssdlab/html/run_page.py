"""The page of one run."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from ssdlab.display.numbers import Value, duration, on_page
from ssdlab.html.page import (
    Section,
    document,
    figures,
    flatten,
    loss_banner,
    number,
    script_data,
    table,
    warning_boxes,
    warnings_box,
)
from ssdlab.html.plot import Figure, MissingPlot
from ssdlab.html.recorded import recorded_figures
from ssdlab.html.run_plots import (
    OPS,
    PARTS,
    device_figures,
    latency_figures,
    wear_figures,
)
from ssdlab.html.timeline import KINDS, Timeline, missing_reason, timeline
from ssdlab.results.report import Report

STATISTICS = (
    "count",
    "mean",
    "ci95",
    "min",
    "p50",
    "p90",
    "p99",
    "p99_9",
    "p99_99",
    "max",
    "stddev",
)
SEPARATE = ("config", "provenance", "warnings", "series", "version")
"""Parts of report.json that are not in the list of all numbers."""
MOST_ROWS = 1500
"""Numbers of one part that are listed: a trace may have thousands of volumes."""


def run_figures(report: Report) -> list[Figure]:
    """Every plot of a run, in the order of the page."""
    parts = (latency_figures, device_figures, recorded_figures, wear_figures)
    return [figure for make_figures in parts for figure in make_figures(report)]


def run_page(report: Report, folder: Path | None = None, since: int | None = None) -> str:
    """The page of a run whose files are in `folder`; the timeline begins at `since` nanoseconds."""
    values = report.json
    has_begun = report.completed or report.requests.submitted > 0
    sections = [
        Section("numbers", "Headline", _headline(report) + _warnings(report)),
        Section("latency", "Latency", _latencies(report) + _plots(report, latency_figures)),
        Section("device", "Device over time", _plots(report, device_figures)),
        Section("trace", "Requests of the trace", _plots(report, recorded_figures)),
        Section("failure", "Failed chips", _failure(report)),
        Section("copies", "Copies", _copies(report)),
        Section("power", "Power cuts", _power(report)),
        Section("collection", "Collection and wear", _collection(report)),
        Section("timeline", "Timeline", _timeline(report, folder, since)),
    ]
    if not has_begun:
        sections = [Section("numbers", "What happened", _warnings(report))]
    sections += [
        Section("summary", "Summary", _summary(report)),
        Section("all", "All numbers", _all_numbers(values)),
        Section("config", "Configuration", _config(report)),
        Section("provenance", "Provenance", _provenance(values)),
    ]
    return document(report.name, _lead(report), [section for section in sections if section.body])


def _warnings(report: Report) -> str:
    return warning_boxes(report.warning_groups()) or warnings_box([])


def _plots(report: Report, make_figures: Callable[[Report], list[Figure]]) -> str:
    """The plots that `make_figures` returns; for an incomplete run only those that can be drawn."""
    figures_ = make_figures(report)
    if not report.completed:
        # Advice on how to get the others would distract from the failure.
        figures_ = [figure for figure in figures_ if not isinstance(figure, MissingPlot)]
    return figures(figures_) if figures_ else ""


def value_at(values: Any, key: str) -> Value:  # noqa: ANN401 - parsed JSON
    """The value of a dotted key of report.json."""
    for part in key.split("."):
        values = values[int(part)] if isinstance(values, list) else values.get(part)
        if values is None:
            return None
    assert isinstance(values, int | float | str | bool)
    return values


def _numbers(report: Report, keys: tuple[str, ...]) -> list[str]:
    return [number(key, value_at(report.json, key)) for key in keys]


def _lead(report: Report) -> str:
    config = report.json["config"]
    workload, device = config["workload"], config["device"]
    work = workload.get("trace") or workload.get("kind") or "workload"
    shape = f"{device['channels']} channels × {device['chips_per_channel']} chips"
    words = [str(work), shape, f"victim: {config['gc']['victim']['policy']}"]
    if (separation := config["alloc"]["separation"]["policy"]) != "none":
        words.append(f"separation: {separation}")
    words += [drive] if (drive := config["run"].get("drive")) else []
    text = " · ".join(escape(word) for word in words)
    if not report.completed:
        text += ' · <strong class="bad">not completed</strong>'
    if report.verdict.decided_by == "reserve":
        text += ' · <strong class="bad">the reserve decided, not your policy</strong>'
    return f'{loss_banner([report.loss])}<p class="lead">{text}</p>'


def _card(name: str, value: str, detail: str = "") -> str:
    small = f"<small>{detail}</small>" if detail else ""
    return f"<div><dt>{escape(name)}</dt><dd>{value}{small}</dd></div>"


def _causes(report: Report) -> str:
    """The causes of flash writes other than the host, if there are any."""
    causes = {
        "gc": "GC",
        "wear": "wear levelling",
        "remap": "copies of the host",
        "metadata": "metadata",
    }
    present = [key for key in causes if key == "gc" or getattr(report.waf, key)]
    parts = [
        f"{causes[key]} {number(f'waf.{key}', value_at(report.json, f'waf.{key}'))}"
        for key in present
    ]
    return f"of which {', '.join(parts)}"


def _decider(report: Report) -> str:
    """Who decided which blocks were collected."""
    decider = report.verdict.decided_by
    texts = {"policy": "the policy decided", "nobody": "nothing was collected"}
    return texts.get(decider, '<strong class="bad">the reserve decided</strong>')


def _summary(report: Report) -> str:
    return f'<pre tabindex="0">{escape(report.summary())}</pre>'


def _headline(report: Report) -> str:
    def number_of(key: str) -> str:
        return number(key, value_at(report.json, key))

    cards = [
        _card("write amplification", number_of("waf.total"), _causes(report)),
        _card(
            "requests completed",
            number_of("requests.completed"),
            f"of {number_of('requests.submitted')} submitted",
        ),
    ]
    for op in ("write", "read"):
        stats = getattr(report.latency, op)
        if stats.count:
            percentiles = [
                percentile
                for percentile in ("p99_99", "p99_9", "p99", "p50")
                if getattr(stats, percentile) is not None
            ]
            interval = (
                f"± {number_of(f'latency.{op}.ci95')} (95 %)" if stats.ci95 is not None else ""
            )
            cards.append(_card(f"mean {op} latency", number_of(f"latency.{op}.mean"), interval))
            tail = (
                percentiles[1] if len(percentiles) > 2 else percentiles[0] if percentiles else "max"
            )
            worst = f"longest {number_of(f'latency.{op}.max')}" if tail != "max" else ""
            name = f"{tail.replace('_', '.')} {op} latency".replace("max", "longest")
            cards.append(_card(name, number_of(f"latency.{op}.{tail}"), worst))
    rates = ((f"host {op} rate", f"host.{op}_bytes_per_s") for op in ("write", "read"))
    cards += [_card(name, number_of(key)) for name, key in rates if value_at(report.json, key)]
    cards += [
        _card("GC calls", number_of("gc.calls"), f"{number_of('gc.foreground')} in foreground"),
        _card(
            "pages moved",
            number_of("gc.pages_moved"),
            f"victims {number_of('gc.mean_victim_invalid_ratio')} invalid",
        ),
        _card(
            "chosen by the policy",
            number_of("verdict.policy_share"),
            f"of the victims: {_decider(report)}",
        ),
        _card("erases", number_of("flash.erases"), f"{number_of('device.erase_mean')} per block"),
    ]
    if report.time.simulated:
        wall = f"{number_of('time.wall')} wall time"
        cards.append(_card("simulated time", number_of("time.simulated"), wall))
    else:
        cards.append(_card("wall time", number_of("time.wall")))
    steady = report.steady_state
    state = "reached" if steady.reached else "not reached"
    note = f'<p class="note">Steady state {state}: {escape(steady.reason)}.</p>'
    return f'<dl class="cards">{"".join(cards)}</dl>{note}'


def _latencies(report: Report) -> str:
    rows = []
    for op in OPS:
        if getattr(report.latency, op).count:
            keys = tuple(f"latency.{op}.{name}" for name in STATISTICS)
            rows.append((op, _numbers(report, keys)))
    if not rows:
        return ""
    head = ["", *(name.replace("_", ".").replace("ci95", "± 95 %") for name in STATISTICS)]
    parts = []
    for op in ("read", "write"):
        if getattr(report.latency_parts, op) is not None:
            keys = tuple(f"latency_parts.{op}.{name}" for name in PARTS)
            parts.append((op, _numbers(report, keys)))
    text = table(head, rows, "Latency by operation")
    if parts:
        text += table(["", *PARTS.values()], parts, "Mean latency by part")
    return text


def _failure(report: Report) -> str:
    """What the failure of chips cost; nothing if none has failed."""
    failure = None if report.raid is None else report.raid.failure
    if failure is None:
        return ""

    def time_text(ns: int | None) -> str:
        return "never" if ns is None else escape(on_page(duration(ns)))

    columns = zip(
        failure.chips, failure.failed_at, failure.replaced_at, failure.group_chips, strict=True
    )
    chips = [
        (f"chip {chip}", [time_text(failed), time_text(spare), ", ".join(map(str, group))])
        for chip, failed, spare, group in columns
    ]
    head = ["", "failed", "spare in its place", "chips of its group"]
    text = table(head, chips, "Failed chips")
    names = {
        "degraded": "time degraded",
        "pages_lost": "pages lost with their chip",
        "pages_rebuilt": "pages rebuilt",
        "pages_left": "pages left at the end",
        "pages_not_programmed": "pages not programmed",
        "after_requests": "rebuild after the last request",
    }
    numbers = _numbers(report, tuple(f"raid.failure.{key}" for key in names))
    lost = f"{len(failure.gone):,}"
    text += table(
        ["", *names.values(), "pages gone for good", "rebuild ended"],
        [("", [*numbers, lost, time_text(failure.rebuilt_at)])],
        "Their pages",
    )
    rows = []
    for op in ("read", "write"):
        if getattr(failure, op).count:
            keys = tuple(f"raid.failure.{op}.{name}" for name in STATISTICS)
            rows.append((op, _numbers(report, keys)))
    head = ["", *(name.replace("_", ".").replace("ci95", "± 95 %") for name in STATISTICS)]
    return text + (table(head, rows, "Latency while the device was degraded") if rows else "")


def _row_of_numbers(report: Report, part: str, names: dict[str, str], title: str) -> str:
    """A table with one row: the numbers `names` of `part`."""
    numbers = _numbers(report, tuple(f"{part}.{key}" for key in names))
    return table(["", *names.values()], [("", numbers)], title)


def _copies(report: Report) -> str:
    """The outcome of copies, and the owners of pages; nothing without copies."""
    remap = report.remap
    if remap is None or remap.commands + remap.refused == 0:
        return ""
    commands = {
        "commands": "completed",
        "refused_alignment": "refused: not of whole pages",
        "refused_range": "refused: range",
        "refused_overlap": "refused: overlap",
    }
    pages = {
        "shared": "shared",
        "copied": "read and programmed",
        "unmapped": "without data",
        "waited": "waited for their source",
        "extra_owners": "further owners at the end",
        "extra_owner_bytes": "their memory",
    }
    text = _row_of_numbers(report, "remap", commands, "Commands")
    text += _row_of_numbers(report, "remap", pages, "Pages")
    keys = tuple(f"remap.latency.{name}" for name in STATISTICS)
    if remap.latency.count:
        head = ["", *(name.replace("_", ".").replace("ci95", "± 95 %") for name in STATISTICS)]
        text += table(head, [("copy", _numbers(report, keys))], "Latency of copies")
    rows = [
        (f"{owners} owner{'s' if owners > 1 else ''}", [f"{pages:,}"])
        for owners, pages in enumerate(remap.pages_by_owners, 1)
        if pages
    ]
    return text + table(["", "valid pages"], rows[:MOST_ROWS], "Pages by owners, at the end")


def _power(report: Report) -> str:
    """Power cuts with their recoveries, and the records; nothing if power is never cut."""
    power = report.power
    if power is None:
        return ""
    counts = {
        "cuts": "power cuts",
        "requests_repeated": "requests submitted again",
        "copies_lost": "page copies lost",
        "checkpoints": "checkpoints",
        "trim_records": "records of TRIMs",
        "owner_records": "records of owners",
        "trims_waited": "TRIMs waited for room",
        "erases_waited": "erases waited for records",
    }
    records = {
        "live_records": "live records",
        "live_record_bytes": "their bytes",
        "stale_records": "stale records",
        "stale_record_bytes": "their bytes",
        "nvram_peak": "NVRAM used at most",
    }
    text = _row_of_numbers(report, "power", counts, "Durability")
    text += _row_of_numbers(report, "power", records, "Records at the end")
    names = {
        "reads": "out-of-band reads",
        "checkpoint_pages": "checkpoint pages",
        "records": "records",
        "erases": "erases",
        "torn_pages": "torn pages",
        "saved_pages": "pages saved",
        "requests": "requests inside",
    }
    rows = [
        (
            f"{index + 1}{', cut off' if recovery.interrupted else ''}",
            [
                *(escape(_time_text(ns)) for ns in (recovery.cut_at, recovery.time)),
                *_numbers(report, tuple(f"power.recoveries.{index}.{key}" for key in names)),
            ],
        )
        for index, recovery in enumerate(power.recoveries[:MOST_ROWS])
    ]
    head = ["", "power cut at", "recovery", *names.values()]
    return text + (table(head, rows, "Recoveries") if rows else "")


def _collection(report: Report) -> str:
    causes = [cause for cause in report.json["flash"]["programs"] if _has_cause(report, cause)]
    rows = [
        (kind, _numbers(report, tuple(f"flash.{key}.{cause}" for cause in causes)))
        for kind, key in (
            ("pages read", "reads"),
            ("pages programmed", "programs"),
            ("blocks erased", "erases_by_cause"),
        )
    ]
    text = table(["", *causes], rows, "Flash operations by cause") if causes else ""
    keys = ("background", "foreground", "deferred", "pages_moved", "pages_dropped", "pages_stale")
    names = ["", *(key.replace("_", " ") for key in keys), "mean job", "longest job"]
    gc_keys = tuple(f"gc.{key}" for key in (*keys, "job_time_mean", "job_time_max"))
    text += table(names, [("GC", _numbers(report, gc_keys))], "Garbage collection")
    return text + _plots(report, wear_figures)


def _has_cause(report: Report, cause: str) -> bool:
    flash = report.json["flash"]
    return any(flash[key].get(cause) for key in ("reads", "programs", "erases_by_cause"))


def _timeline(report: Report, folder: Path | None, since: int | None) -> str:
    timeline_ = timeline(report, folder, since)
    if timeline_ is None and not report.completed:
        return ""
    title = "<h3>Operations of every chip</h3>"
    if timeline_ is None:
        empty_log = "The log contains no operation after the start of the measurement."
        reason = escape(missing_reason(report, folder, since) or empty_log)
        return f'<figure class="missing" id="lanes">{title}<p>{reason}</p></figure>'
    buttons = "".join(
        f'<button type="button" data-do="{action}">{name}</button>'
        for action, name in (
            ("in", "Zoom in"),
            ("out", "Zoom out"),
            ("left", "Earlier"),
            ("right", "Later"),
            ("all", "All"),
        )
    )
    legend = "".join(
        f'<li><span class="k{kind}"></span>{escape(KINDS[kind])}</li>' for kind in timeline_.kinds
    )
    return (
        f'<figure id="lanes" class="wide">{title}<div class="tools">{buttons}'
        '<output id="lanes-range"></output></div>'
        '<canvas id="lanes-canvas" tabindex="0" role="img" aria-describedby="lanes-how"'
        ' aria-label="Operations of every chip over time"></canvas>'
        f'<ul class="kinds">{legend}</ul>{script_data(timeline_.data, "operations")}'
        f'<p class="hint" id="lanes-how" hidden>{LANES_HINT}</p>'
        f"<figcaption>{escape(_window(timeline_, report))}</figcaption></figure>"
    )


LANES_HINT = (
    '<span class="mouse">Drag to move, double-click to zoom; arrow keys, + and - do the same, and'
    ' 0 or Esc shows everything.</span><span class="touch">Drag sideways to move, tap for an'
    " operation.</span>"
)


def _window(timeline_: Timeline, report: Report) -> str:
    start, stop = _time_text(timeline_.first), _time_text(timeline_.last)
    if timeline_.is_complete:
        extent = f"All {timeline_.operations:,} operations logged since {start}."
    else:
        end = _time_text(report.time.measured_from + report.time.simulated)
        extent = (
            f"{timeline_.operations:,} operations from {start} to {stop}; the run ends at {end}. To"
            " show another part: ssdlab report FOLDER --from TIME, such as --from 1.5s."
        )
    return f"{extent} Each lane is a chip, with a gap between channels; blank means idle."


def _time_text(ns: float) -> str:
    return on_page(duration(ns))


def _all_numbers(values: dict[str, Any]) -> str:
    text = []
    for name, part in values.items():
        if name in SEPARATE:
            continue
        rows = [
            (key, [number(key, value)])
            for key, value in islice(flatten(part, name), MOST_ROWS + 1)
            if not key.startswith("device.utilisation.chip.")
        ]
        text.append(table(["key of report.json", "value"], rows[:MOST_ROWS], name))
        if len(rows) > MOST_ROWS:
            text.append(
                f'<p class="note">{name}: only the first {MOST_ROWS:,}; report.json has all.</p>'
            )
    body = f'<div class="tables">{"".join(text)}</div>'
    return f"<details><summary>Every number of report.json</summary>{body}</details>"


def _config(report: Report) -> str:
    text = escape(report.config.toml())
    return (
        "<details><summary>The resolved configuration: every key and its value</summary>"
        f'<pre tabindex="0">{text}</pre></details>'
    )


def _provenance(values: dict[str, Any]) -> str:
    rows = [
        (key.removeprefix("provenance.").replace("_", " "), [number(key, value)])
        for key, value in flatten(values["provenance"], "provenance")
    ]
    return table(["", "value"], rows, "Provenance: everything needed to repeat the run")
