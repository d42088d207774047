"""The answer of a fleet, in words and tables: the same in the terminal and on its page."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from ssdlab.display.numbers import Value
from ssdlab.fleets.findings import Difference, Rank, difference, quantiles, rank
from ssdlab.fleets.fleet import (
    GOOD,
    MEASURED,
    OUTCOME_OF,
    PARTS,
    TITLES,
    UNSTEADY,
    WORST,
    Fleet,
    cell,
    numbers,
)
from ssdlab.fleets.volumes import STATISTICS_OF
from ssdlab.results.text import counted

Row = dict[str, Value]
RANKED = ("waf", "write_p99_9_ns", "read_p99_9_ns", "lifetime_days")
"""Outcomes for which the tables show which volumes suffer and what they have in common."""


def rows_with(rows: list[Row], name: str) -> list[Row]:
    """The rows that have a number in a column."""
    return [row for row in rows if isinstance(row[name], int | float)]


def worst_rows(fleet: Fleet, drive: str, metric: str, limit: int = WORST) -> list[Row]:
    """The rows of a drive with the worst outcome, the worst first."""
    rows = rows_with(fleet.of(drive), metric)
    sign = 1 if metric in GOOD else -1
    return sorted(rows, key=lambda row: (sign * float(row[metric] or 0), str(row["volume"])))[
        :limit
    ]


def ranks(fleet: Fleet, drive: str, metric: str) -> list[Rank]:
    """Correlations of the statistics with an outcome, the strongest first."""
    rows = rows_with(fleet.of(drive), metric)
    names = [name for name in STATISTICS_OF if len(rows_with(rows, name)) == len(rows)]
    correlations = (
        rank(name, numbers(rows, name), numbers(rows, metric), len(names)) for name in names
    )
    return sorted(
        (correlation for correlation in correlations if correlation),
        key=lambda correlation: -abs(correlation.rho),
    )


OVERWRITES, HOTTEST = (2.0, 8.0), (0.2, 0.6)
"""Limits between classes of similar volumes: how often a page is written, and the share of the
writes that go to the most written tenth of the written pages."""


def similar_volumes(fleet: Fleet) -> dict[str, set[Value]]:
    """The volumes by class: how often pages are written, and how skewed the writes are.

    Volumes without one of these numbers are in no class.
    """
    classes: dict[tuple[int, int], set[Value]] = {}
    for row in fleet.of(fleet.drives[0]):
        overwrites, hot_share = row["overwrite_factor"], row["hot_write_share"]
        if isinstance(overwrites, int | float) and isinstance(hot_share, int | float):
            class_ = (
                sum(overwrites >= limit for limit in OVERWRITES),
                sum(hot_share >= limit for limit in HOTTEST),
            )
            classes.setdefault(class_, set()).add(row["volume"])
    low, high = (f"{limit:g}" for limit in OVERWRITES)
    low_share, high_share = (f"{100 * limit:.0f} %" for limit in HOTTEST)
    times = (f"fewer than {low} times", f"{low} to {high} times", f"{high} times or more")
    shares = (f"less than {low_share}", f"{low_share} to {high_share}", f"{high_share} or more")
    return {
        f"written {times[i]}, hottest tenth {shares[j]}": classes[i, j] for i, j in sorted(classes)
    }


def differences(fleet: Fleet, volumes: set[Value] | None = None) -> list[Difference]:
    """Every drive against the first, over the volumes that are measured on both."""
    base, results = fleet.drives[0], []
    base_rows = {row["volume"]: row for row in fleet.of(base)}
    if volumes is not None:
        base_rows = {name: row for name, row in base_rows.items() if name in volumes}
    for drive in fleet.drives[1:]:
        rows = [row for row in fleet.of(drive) if row["volume"] in base_rows]
        for metric in fleet.metrics:
            pairs = [
                (float(value), float(base_value))
                for row in rows
                if isinstance(value := row[metric], int | float)
                and isinstance(base_value := base_rows[row["volume"]][metric], int | float)
            ]
            result = difference(metric, drive, base, pairs)
            if result is not None:
                results.append(result)
    return results


def text_of(fleet: Fleet) -> str:
    """The answer in one paragraph: nothing of a drive on which most results are invalid."""
    sentences, valid_drives = (
        [],
        {drive for drive in fleet.drives if not fleet.few_measured(drive)},
    )
    for drive in fleet.drives:
        sentences.append(_drive_text(fleet, drive))
        if drive in valid_drives and (unsteady := fleet.unsteady(drive)):
            sentences.append(f"{unsteady}.")
    if fleet.drives[0] not in valid_drives:
        return " ".join(sentences)
    sentences += _correlation_texts(fleet)
    for result in differences(fleet):
        if result.metric in RANKED and result.drive in valid_drives:
            sentences.append(_difference_text(result))
    sentences += _class_texts(fleet, valid_drives)
    return " ".join(sentences)


def _drive_text(fleet: Fleet, drive: str) -> str:
    """How the outcomes on a drive are distributed, or why there is no answer."""
    rows, shortage = fleet.of(drive), fleet.few_measured(drive)
    if shortage:
        return f"There is no answer for {drive}: {shortage}."
    if not rows:
        return f"No volume on {drive} has a valid result."
    volumes = f"ver {counted(len(rows), 'volume')}"
    scope = f"On {drive}, o{volumes}" if len(fleet.drives) > 1 else f"O{volumes}"
    spreads = [_spread(rows, name) for name in fleet.metrics if name in RANKED]
    return f"{scope}: {'; '.join(spread for spread in spreads if spread)}."


def _class_texts(fleet: Fleet, drives: set[str]) -> Iterator[str]:
    """The verdicts of the classes of similar volumes, if there are several."""
    classes = similar_volumes(fleet)
    if len(classes) < 2:
        return
    for name, volumes in classes.items():
        for result in differences(fleet, volumes):
            if result.metric == "waf" and result.is_clear and result.drive in drives:
                verdict = _difference_text(result)
                text = f"{counted(len(volumes), 'volume')} {name}"
                yield f"{text}: {verdict[0].lower()}{verdict[1:]}"


def _spread(rows: list[Row], name: str) -> str:
    values = numbers(rows, name)
    if not values:
        return ""
    ends = (0.5, 0.1) if name in GOOD else (0.5, 0.9)
    centre, tail = quantiles(values, [1.0] * len(values), ends)
    direction = "below" if name in GOOD else "above"
    median_text, tail_text = cell(name, float(centre)), cell(name, float(tail))
    count = "" if len(values) == len(rows) else f" ({counted(len(values), 'volume')})"
    tail_part = f"a tenth of the volumes is {direction} {tail_text}"
    return f"{TITLES[name]}{count} has a median of {median_text}, {tail_part}"


def _correlation_texts(fleet: Fleet) -> Iterator[str]:
    drive = fleet.drives[0]
    for metric in ("waf", "write_p99_9_ns"):
        correlations = [rank_ for rank_ in ranks(fleet, drive, metric) if rank_.is_clear][:2]
        if correlations:
            words = " and ".join(
                f"{'rises' if rank_.rho > 0 else 'falls'} with the {STATISTICS_OF[rank_.statistic]}"
                f" (rank correlation {rank_.rho:+.2f}, {rank_.low:+.2f} to {rank_.high:+.2f})"
                for rank_ in correlations
            )
            yield f"{TITLES[metric][0].upper()}{TITLES[metric][1:]} {words}."


def _difference_text(result: Difference) -> str:
    title, names = TITLES[result.metric], f"{result.drive} and {result.base}"
    title = title[0].upper() + title[1:]
    if result.low is None or result.high is None:
        return f"{title} on {names}: too few volumes to compare."
    if result.low == result.high == 1:
        return f"{title} is the same on {names}."
    span = f"median ratio {result.ratio:.3g}, {result.low:.3g} to {result.high:.3g}"
    counts = f"lower for {result.lower:,} volumes, higher for {result.higher:,}"
    if not result.is_clear:
        return f"{title}: no significant difference between {names} ({span}; {counts})."
    direction = "lower" if result.ratio < 1 else "higher"
    return f"{title} is {direction} on {result.drive} than on {result.base} ({span}; {counts})."


Table = tuple[str, list[str], list[list[str]]]
"""Title, heads except that of the first column, rows with their titles."""


def tables_of(fleet: Fleet) -> Iterator[Table]:
    """Groups, distributions, the worst volumes, what they have in common, differences."""
    yield _groups(fleet)
    for drive in fleet.drives:
        yield from _distributions(fleet, drive)
    for drive in fleet.drives:
        for metric in RANKED:
            if metric in fleet.metrics and worst_rows(fleet, drive, metric):
                yield _worst(fleet, drive, metric)
                if ranks(fleet, drive, metric):
                    yield _correlations(fleet, drive, metric)
    if len(fleet.drives) > 1:
        yield _differences(fleet)
        yield from _classes(fleet)


def _drive_suffix(fleet: Fleet, drive: str) -> str:
    return f" on {drive}" if len(fleet.drives) > 1 else ""


def _groups(fleet: Fleet) -> Table:
    names = [*dict.fromkeys(name for counts in fleet.groups.values() for name in counts)]
    rows = [
        [drive, *(f"{counts.get(name, 0):,}" for name in names)]
        for drive, counts in fleet.groups.items()
    ]
    return "volumes by group", names, rows


def _distributions(fleet: Fleet, drive: str) -> Iterator[Table]:
    """By volume and by bytes written; volumes that are not steady have a separate table."""
    heads = ["volumes", *(f"{part:.0%}" for part in PARTS)]
    for group in (MEASURED, UNSTEADY):
        rows = fleet.of(drive, group)
        lines = []
        for metric in fleet.metrics:
            measured = rows_with(rows, metric)
            if not measured:
                continue
            for weight in ("", ", by bytes written"):
                weights = (
                    numbers(measured, "volume_bytes_written") if weight else [1.0] * len(measured)
                )
                values = quantiles(numbers(measured, metric), weights, PARTS)
                cells = [cell(metric, float(value)) for value in values]
                lines.append([f"{TITLES[metric]}{weight}", f"{len(measured):,}", *cells])
        if lines:
            yield f"quantiles{_drive_suffix(fleet, drive)}, {group}", heads, lines


def _worst(fleet: Fleet, drive: str, metric: str) -> Table:
    names = [*STATISTICS_OF]
    rows = [
        [
            str(row["volume"]),
            cell(metric, _number(row, metric)),
            *(cell(name, _number(row, name)) for name in names),
        ]
        for row in worst_rows(fleet, drive, metric)
    ]
    heads = [TITLES[metric], *(STATISTICS_OF[name] for name in names)]
    return f"worst {TITLES[metric]}{_drive_suffix(fleet, drive)}", heads, rows


def _number(row: Row, name: str) -> float | None:
    value = row[name]
    return float(value) if isinstance(value, int | float) else None


def _correlations(fleet: Fleet, drive: str, metric: str) -> Table:
    """Each statistic: its correlation, and the medians of the worst tenth and of the rest."""
    rows = worst_rows(fleet, drive, metric, len(fleet.volumes))
    tenth = max(1, len(rows) // 10)
    lines = []
    for correlation in ranks(fleet, drive, metric):
        parts = (rows[:tenth], rows[tenth:])
        medians = [
            cell(correlation.statistic, median(values))
            if (values := numbers(part, correlation.statistic))
            else "–"
            for part in parts
        ]
        span = f"{correlation.low:+.2f} to {correlation.high:+.2f}"
        clear = "yes" if correlation.is_clear else "no"
        title = STATISTICS_OF[correlation.statistic]
        lines.append([title, f"{correlation.rho:+.2f}", span, clear, *medians])
    heads = ["rank correlation", "interval", "excludes 0", "median, worst tenth", "of the rest"]
    return f"what goes with {TITLES[metric]}{_drive_suffix(fleet, drive)}", heads, lines


def _classes(fleet: Fleet) -> Iterator[Table]:
    """Write amplification by classes of similar volumes, each with its verdict."""
    rows = []
    for name, volumes in similar_volumes(fleet).items():
        for result in differences(fleet, volumes):
            if result.metric == "waf":
                verdict = f"{'lower' if result.ratio < 1 else 'higher'} on {result.drive}"
                span = "–" if result.low is None else f"{result.low:.4g} to {result.high:.4g}"
                rows.append(
                    [
                        f"{name}, {result.drive} over {result.base}",
                        f"{result.volumes:,}",
                        f"{result.ratio:.4g}",
                        span,
                        verdict if result.is_clear else "undecided",
                    ]
                )
    if rows:
        heads = ["volumes", "median ratio", "interval", "verdict"]
        yield f"{TITLES['waf']} by similar volumes", heads, rows


def _differences(fleet: Fleet) -> Table:
    rows = [
        [
            f"{TITLES[result.metric]}, {result.drive} over {result.base}",
            f"{result.volumes:,}",
            f"{result.ratio:.4g}",
            "–" if result.low is None else f"{result.low:.4g} to {result.high:.4g}",
            f"{result.lower:,}",
            f"{result.higher:,}",
        ]
        for result in differences(fleet)
    ]
    heads = ["volumes", "median ratio", "95 % interval", "lower", "higher"]
    return "drives, paired by volume", heads, rows


assert set(RANKED) <= set(OUTCOME_OF)
