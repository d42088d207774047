"""The page of remapcom's reproduction, as HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from ssdlab.html.page import Section, document, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.results.intervals import Ratio
from ssdlab.versions import described
from ssdlab_lab.reproduce.remapcom import choices
from ssdlab_lab.reproduce.remapcom.outcome import (
    ALIGNED,
    BASE,
    FULL,
    LEVELS,
    STOCK,
    Of,
    Outcome,
    amplification,
    rate,
    unchanged,
    used,
    without_log,
)
from ssdlab_lab.reproduce.scoring import correlation, count, met, trivial, verdict

HEADING = f"{choices.NAME}, reproduced"


@dataclass(frozen=True)
class Table:
    """A table of the page."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _percent(ratio: Ratio | None) -> str:
    """A ratio as a change, with its interval."""
    if ratio is None:
        return "–"
    text = f"{100 * (ratio.ratio - 1):+.1f} %"
    if ratio.low is None or ratio.high is None:
        return text
    return f"{text} ({100 * (ratio.low - 1):+.1f} to {100 * (ratio.high - 1):+.1f})"


def _score(outcome: Outcome) -> Iterator[Table]:
    gains = outcome.gains()
    if not gains:
        return
    rows = [("ssdlab", count(gains, lambda gain: gain.ours)), *trivial(gains).items()]
    yield Table(
        "Score",
        ("prediction", "direction", "near", "typical error, factor"),
        tuple(
            (
                name,
                f"{counts.direction} of {counts.cells}",
                "–" if counts.near is None else f"{counts.near} of {counts.cells}",
                _number(counts.error),
            )
            for name, counts in rows
        ),
        f"Rank correlation of the gains: {_number(correlation(gains))}. Of published gains "
        + ", ".join(
            f"{agreement.here} of {agreement.published} ({kind})"
            for kind, agreement in met(gains).items()
        )
        + " come out here.",
    )
    yield Table(
        "Operations per second over stock",
        ("gain", "published", "here", "verdict"),
        tuple(
            (
                f"{gain.measure}: {gain.workload}",
                f"{100 * (gain.published - 1):+.1f} %",
                f"{100 * (gain.ours - 1):+.1f} %",
                verdict(gain.published, gain.ours, 1.0) or "–",
            )
            for gain in gains
        ),
    )


def _readings(outcome: Outcome) -> Table | None:
    """The score of each reading; None if none was run."""
    rows = []
    for name in ("", *choices.FITTING):
        gains = outcome.gains(name)
        if gains:
            counts = count(gains, lambda gain: gain.ours)
            cells = (
                f"{counts.direction} of {counts.cells}",
                f"{counts.near} of {counts.cells}",
                _number(counts.error),
                _number(correlation(gains)),
            )
            rows.append((name or "as chosen", *cells))
    if len(rows) < 2:
        return None
    head = ("reading", "direction", "near", "typical error, factor", "rank correlation")
    sizes = ", ".join(f"{size:,}" for size in choices.FITTING_SIZES)
    return Table(
        "Readings",
        head,
        tuple(rows),
        f"Values of {sizes} B, so that pairs fill their pages; seed {choices.SEEDS[0]}. *cached*:"
        " pages that were taken over are in the page cache. *device-bound*: compaction takes no"
        " processor time for what it merges and builds.",
    )


def _limits(outcome: Outcome) -> Table | None:
    """Shares of unchanged blocks under each limit of retention; None if none was run."""
    limits, fitted = outcome.limits(), outcome.fitted_limit()
    if len(limits) < 2:
        return None
    rows = tuple(
        (
            f"{name}{' (nearest)' if name == fitted else ''}",
            *("–" if share is None else f"{share:.1f} %" for share in shares),
        )
        for name, shares in limits.items()
    )
    head = ("limit of retention", *(f"level {level}" for level in LEVELS))
    note = (
        f"Load of {choices.LIMITED_SIZE:,} B, remapping with retention. Published are 5, 47, 52 and"
        " 53 %; *nearest* is by levels 2 to 4 alone."
    )
    return Table("Limits of retention", head, rows, note)


def _shares(outcome: Outcome) -> Table:
    rows = tuple(
        (f"{line}, level {level}", f"{published:g} %", "–" if ours is None else f"{ours:.1f} %")
        for line, level, published, ours in outcome.shares()
    )
    note = (
        f"Of the blocks that compactions wrote to a level, load of {choices.UDB_SIZE:,} B. A level"
        " without a number was not reached by a merge."
    )
    return Table("Unchanged data blocks", ("line", "published", "here"), rows, note)


def _lines(outcome: Outcome, workload: str, sizes: Sequence[int]) -> Table:
    heads: dict[str, Of] = {
        "operations/s": rate,
        "WA": amplification,
        "WA without log": without_log,
        "space": used,
    }
    rows = []
    for size in sizes:
        for line in choices.LINES:
            run = (workload, size, line)
            cells = [
                _number(outcome.mean(run, measure), 0 if measure is rate else 2)
                for measure in heads.values()
            ]
            ratios = [
                "" if line == STOCK else _percent(outcome.ratio(run, rate)),
                "" if line == STOCK else _percent(outcome.ratio(run, amplification)),
                "" if line in (STOCK, ALIGNED) else _percent(outcome.ratio(run, rate, ALIGNED)),
            ]
            rows.append((f"{size:,} B, {line}", *cells, *ratios))
    head = ("", *heads, "speed over stock", "WA over stock", "speed over aligned")
    return Table(f"Workload {workload.upper()}", head, tuple(rows))


def _varied(outcome: Outcome) -> Table:
    rows = []
    for name in ("", *choices.VARIATIONS):
        for size in choices.VARIED_SIZES:
            full, seeds = ("load", size, FULL), choices.SEEDS[0]
            full_rate = outcome.values(full, rate, name).get(seeds)
            if full_rate is None:
                continue
            stock = outcome.values(("load", size, STOCK), rate, name).get(seeds)
            wa = [
                outcome.values(("load", size, line), amplification, name).get(seeds)
                for line in choices.VARIED_LINES
            ]
            share = outcome.values(full, unchanged(2), name).get(seeds)
            cells = (
                _number(stock, 0),
                _number(full_rate, 0),
                "–" if stock is None else f"{100 * (full_rate / stock - 1):+.1f} %",
                *(_number(value) for value in wa),
                "–" if share is None else f"{share:.0f} %",
            )
            rows.append((f"{size:,} B, {name or 'as chosen'}", *cells))
    head = ("load", "stock/s", "full/s", "gain", "WA stock", "WA full", "unchanged, level 2")
    return Table("Variations", head, tuple(rows), f"Seed {choices.SEEDS[0]}.")


def _read(outcome: Outcome, workload: str) -> Table:
    rows = []
    seed = choices.SEEDS[0]
    for size in choices.SIZES:
        for name in ("", *choices.READINGS):
            speeds = {
                line: outcome.values((workload, size, line), rate, name).get(seed)
                for line in choices.READ_LINES
            }
            stock = speeds[STOCK]
            gains = [
                "–" if speed is None or not stock else f"{100 * (speed / stock - 1):+.1f} %"
                for line, speed in speeds.items()
                if line != STOCK
            ]
            if any(speed is not None for speed in speeds.values()):
                cells = [_number(speed, 0) for speed in speeds.values()]
                rows.append((f"{size:,} B, {name or 'as chosen'}", *cells, *gains))
    head = ("", *(f"{line}/s" for line in choices.READ_LINES), "base over stock", "full over stock")
    return Table(
        f"Workload {workload.upper()} and the page cache", head, tuple(rows), f"Seed {seed}."
    )


def tables(outcome: Outcome) -> list[Table]:
    """All of them."""
    tables_of_page = [*_score(outcome)]
    tables_of_page[1:1] = [table for table in [_readings(outcome)] if table is not None]
    tables_of_page += [table for table in [_limits(outcome)] if table is not None]
    if "load" in outcome.workloads:
        tables_of_page += [
            _shares(outcome),
            _lines(outcome, "load", (*choices.SIZES, choices.PAGE_SIZE)),
        ]
    tables_of_page += [
        _lines(outcome, name, choices.SIZES) for name in outcome.workloads if name != "load"
    ]
    if not outcome.quick and "load" in outcome.workloads:
        tables_of_page.append(_varied(outcome))
    if not outcome.quick:
        tables_of_page += [
            _read(outcome, name) for name in choices.READ_WORKLOADS if name in outcome.workloads
        ]
    return tables_of_page


ABOUT = (
    f"{choices.TITLE}. Compaction of an LSM store does not write a data block again that it does"
    " not change: the drive maps the page of the new table to the flash page of the old one. The"
    " store is ours in LevelDB's format, on the simulated drive (`ssdlab kv simulate`). Four lines:"
    f" *{STOCK}*, LevelDB's table layout; *{ALIGNED}*, blocks begin at pages and nothing is"
    f" remapped; *{BASE}* and *{FULL}*, remapping without and with retention of unchanged blocks.",
    "Drive, store, requests and host were decided before a line that remaps was run on this drive"
    f" ({choices.DECIDED}), see `lab/ssdlab_lab/reproduce/remapcom/choices.py`. WA is bytes"
    " programmed for a byte of keys and values, with everything the file system and collection"
    " write, over the whole run: its load, the workload, and the compaction that is due at the end."
    " Space is bytes in use for a byte of live pairs.",
)
LEFT = (
    "Written down before the runs that could refute it, and not refuted: a pair of 4,096 bytes"
    " takes two pages, so that flushes and the layout alone write twice as much. With values of"
    " 4,000 bytes, a pair for each page, remapping is faster than stock and writes less than a"
    " third (table *Workload LOAD*).",
    "A second explanation was not refuted: the next compaction must read remapped pages from the"
    " drive. The load is a little faster if the page cache keeps it, and much slower without"
    " read-ahead (table *Variations*).",
    "Refuted in part: where *base* loses against stock it gains over *aligned*, as expected,"
    " but *full* loses against both with 1,024 bytes. Retention keeps more blocks than the paper"
    " says, and ends so many early that the store takes nearly twice the pages of its pairs."
    " With two or four pages a block it keeps fewer, and speed comes to that of stock and past"
    " it.",
    "Workloads with reads are decided by the page cache. As chosen beforehand it is larger than"
    " the store: after the load stock finds all its pages there, and the remapping lines find"
    " few, since pages taken over are not cached. The two readings of that were added after the"
    " result was seen. With a page cache smaller than the store both lines read from the drive,"
    " and with 256 bytes remapping is faster under A and C. With pages taken over cached, what"
    " is left of the loss is about that of the layout. The paper gives neither the size of its"
    " store nor what its file system does with remapped pages.",
    "Two numbers of the paper contradict one another: that remapping without retention (*base*) is"
    " as fast as with it at 4,096 bytes needs one pair in a block, and 53 % less write"
    " amplification needs pairs of two pages.",
    "Tables are read by calls. The paper's store may map them into memory, which is not modelled.",
)


def page(outcome: Outcome) -> str:
    """The page as HTML."""
    aims = html_table(
        ["aim", "outcome"],
        [(aim, [prose(result)]) for aim, result in outcome.aims()],
        "What was aimed at",
    )
    sections = [Section("outcome", "Outcome", aims + warnings_box(outcome.remarks()))]
    for number, table in enumerate(tables(outcome)):
        rows = [(row[0], [prose(cell) for cell in row[1:]]) for row in table.rows]
        note = f'<p class="fine">{prose(table.note)}</p>' if table.note else ""
        body = html_table(list(table.head), rows, table.title) + note
        sections.append(Section(f"table-{number}", table.title, body))
    lead = f'<p class="lead">{escape(HEADING)} · ssdlab {escape(described())}</p>'
    return document(HEADING, lead, sections)


def markdown(outcome: Outcome) -> str:
    """The page as Markdown."""
    lines = [f"<!-- Written by `ssdlab reproduce {choices.NAME}`. -->", "", f"# {HEADING}", ""]
    lines += [text for paragraph in ABOUT for text in (paragraph, "")]
    lines += ["| aim | outcome |", "|---|---|"]
    lines += [f"| {aim} | {result} |" for aim, result in outcome.aims()]
    lines += ["", *(text for paragraph in outcome.remarks() for text in (paragraph, ""))]
    for table in tables(outcome):
        lines += [f"## {table.title}", ""]
        lines += [f"| {' | '.join(table.head)} |", "|---" * len(table.head) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in table.rows]
        lines += ["", table.note, ""] if table.note else [""]
    lines += ["## What differs, and why", ""]
    lines += [text for paragraph in LEFT for text in (paragraph, "")]
    quick = " --quick" if outcome.quick else ""
    command = f"ssdlab reproduce {choices.NAME}{quick}"
    lines.append(f"`{command}`, ssdlab {described()}. {outcome.begun.stated()}")
    return "\n".join(lines).rstrip() + "\n"


def summary(outcome: Outcome) -> str:
    """A few lines for the terminal."""
    lines = [f"{aim}: {result}" for aim, result in outcome.aims()]
    gains = outcome.gains()
    if gains:
        ours = count(gains, lambda gain: gain.ours)
        lines.append(f"gains near the published ones: {ours.near} of {ours.cells}")
    return "\n".join([*lines, *outcome.remarks(), ""])
