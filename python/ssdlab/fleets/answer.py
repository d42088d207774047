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


def known(rows: list[Row], name: str) -> list[Row]:
    """The rows that have a number in a column."""
    return [row for row in rows if isinstance(row[name], int | float)]


def worst(done: Fleet, drive: str, metric: str, most: int = WORST) -> list[Row]:
    """The rows of a drive with the worst outcome, the worst first."""
    rows = known(done.of(drive), metric)
    sign = 1 if metric in GOOD else -1
    return sorted(rows, key=lambda row: (sign * float(row[metric] or 0), str(row["volume"])))[:most]


def ranks(done: Fleet, drive: str, metric: str) -> list[Rank]:
    """Correlations of the statistics with an outcome, the strongest first."""
    rows = known(done.of(drive), metric)
    names = [n for n in STATISTICS_OF if len(known(rows, n)) == len(rows)]
    found = (rank(name, numbers(rows, name), numbers(rows, metric), len(names)) for name in names)
    return sorted((one for one in found if one), key=lambda one: -abs(one.rho))


OVERWRITES, HOTTEST = (2.0, 8.0), (0.2, 0.6)
"""Limits between classes of similar volumes: how often a page is written, and the share of the
writes that go to the most written tenth of the written pages."""


def similar(done: Fleet) -> dict[str, set[Value]]:
    """The volumes by class: how often pages are written, and how skewed the writes are.

    Volumes without one of these numbers are in no class.
    """
    found: dict[tuple[int, int], set[Value]] = {}
    for row in done.of(done.drives[0]):
        often, hot = row["overwrite_factor"], row["hot_write_share"]
        if isinstance(often, int | float) and isinstance(hot, int | float):
            at = sum(often >= end for end in OVERWRITES), sum(hot >= end for end in HOTTEST)
            found.setdefault(at, set()).add(row["volume"])
    low, high = (f"{end:g}" for end in OVERWRITES)
    less, more = (f"{100 * end:.0f} %" for end in HOTTEST)
    times = (f"fewer than {low} times", f"{low} to {high} times", f"{high} times or more")
    shares = (f"less than {less}", f"{less} to {more}", f"{more} or more")
    return {f"written {times[a]}, hottest tenth {shares[b]}": found[a, b] for a, b in sorted(found)}


def differences(done: Fleet, volumes: set[Value] | None = None) -> list[Difference]:
    """Every drive against the first, over the volumes that are measured on both."""
    base, found = done.drives[0], []
    first = {row["volume"]: row for row in done.of(base)}
    if volumes is not None:
        first = {name: row for name, row in first.items() if name in volumes}
    for drive in done.drives[1:]:
        rows = [row for row in done.of(drive) if row["volume"] in first]
        for metric in done.metrics:
            pairs = [
                (float(a), float(b))
                for row in rows
                if isinstance(a := row[metric], int | float)
                and isinstance(b := first[row["volume"]][metric], int | float)
            ]
            one = difference(metric, drive, base, pairs)
            if one is not None:
                found.append(one)
    return found


def text_of(done: Fleet) -> str:
    """The answer in one paragraph: nothing of a drive on which most results are invalid."""
    found, answered = [], {drive for drive in done.drives if not done.few_measured(drive)}
    for drive in done.drives:
        found.append(_of_drive(done, drive))
        if drive in answered and (apart := done.unsteady(drive)):
            found.append(f"{apart}.")
    if done.drives[0] not in answered:
        return " ".join(found)
    found += _suffering(done)
    for one in differences(done):
        if one.metric in RANKED and one.drive in answered:
            found.append(_compared(one))
    found += _by_class(done, answered)
    return " ".join(found)


def _of_drive(done: Fleet, drive: str) -> str:
    """How the outcomes on a drive are distributed, or why there is no answer."""
    rows, few = done.of(drive), done.few_measured(drive)
    if few:
        return f"There is no answer for {drive}: {few}."
    if not rows:
        return f"No volume on {drive} has a valid result."
    volumes = f"ver {counted(len(rows), 'volume')}"
    on = f"On {drive}, o{volumes}" if len(done.drives) > 1 else f"O{volumes}"
    spreads = [_spread(rows, name) for name in done.metrics if name in RANKED]
    return f"{on}: {'; '.join(one for one in spreads if one)}."


def _by_class(done: Fleet, drives: set[str]) -> Iterator[str]:
    """The verdicts of the classes of similar volumes, if there are several."""
    classes = similar(done)
    if len(classes) < 2:
        return
    for name, volumes in classes.items():
        for one in differences(done, volumes):
            if one.metric == "waf" and one.is_clear and one.drive in drives:
                verdict = _compared(one)
                text = f"{counted(len(volumes), 'volume')} {name}"
                yield f"{text}: {verdict[0].lower()}{verdict[1:]}"


def _spread(rows: list[Row], name: str) -> str:
    values = numbers(rows, name)
    if not values:
        return ""
    ends = (0.5, 0.1) if name in GOOD else (0.5, 0.9)
    mid, end = quantiles(values, [1.0] * len(values), ends)
    below = "below" if name in GOOD else "above"
    middle, bound = cell(name, float(mid)), cell(name, float(end))
    of = "" if len(values) == len(rows) else f" ({counted(len(values), 'volume')})"
    return f"{TITLES[name]}{of} has a median of {middle}, a tenth of the volumes is {below} {bound}"


def _suffering(done: Fleet) -> Iterator[str]:
    drive = done.drives[0]
    for metric in ("waf", "write_p99_9_ns"):
        clear = [one for one in ranks(done, drive, metric) if one.is_clear][:2]
        if clear:
            words = " and ".join(
                f"{'rises' if one.rho > 0 else 'falls'} with the {STATISTICS_OF[one.statistic]}"
                f" (rank correlation {one.rho:+.2f}, {one.low:+.2f} to {one.high:+.2f})"
                for one in clear
            )
            yield f"{TITLES[metric][0].upper()}{TITLES[metric][1:]} {words}."


def _compared(one: Difference) -> str:
    title, names = TITLES[one.metric], f"{one.drive} and {one.base}"
    title = title[0].upper() + title[1:]
    if one.low is None or one.high is None:
        return f"{title} on {names}: too few volumes to compare."
    if one.low == one.high == 1:
        return f"{title} is the same on {names}."
    span = f"median ratio {one.ratio:.3g}, {one.low:.3g} to {one.high:.3g}"
    counts = f"lower for {one.lower:,} volumes, higher for {one.higher:,}"
    if not one.is_clear:
        return f"{title}: no significant difference between {names} ({span}; {counts})."
    how = "lower" if one.ratio < 1 else "higher"
    return f"{title} is {how} on {one.drive} than on {one.base} ({span}; {counts})."


Table = tuple[str, list[str], list[list[str]]]
"""Title, heads except that of the first column, rows with their titles."""


def tables_of(done: Fleet) -> Iterator[Table]:
    """Groups, distributions, the worst volumes, what they have in common, differences."""
    yield _groups(done)
    for drive in done.drives:
        yield from _distributions(done, drive)
    for drive in done.drives:
        for metric in RANKED:
            if metric in done.metrics and worst(done, drive, metric):
                yield _worst(done, drive, metric)
                if ranks(done, drive, metric):
                    yield _common(done, drive, metric)
    if len(done.drives) > 1:
        yield _differences(done)
        yield from _classes(done)


def _on(done: Fleet, drive: str) -> str:
    return f" on {drive}" if len(done.drives) > 1 else ""


def _groups(done: Fleet) -> Table:
    names = [*dict.fromkeys(name for of in done.groups.values() for name in of)]
    rows = [[d, *(f"{of.get(n, 0):,}" for n in names)] for d, of in done.groups.items()]
    return "volumes by group", names, rows


def _distributions(done: Fleet, drive: str) -> Iterator[Table]:
    """By volume and by bytes written; volumes that are not steady have a separate table."""
    heads = ["volumes", *(f"{part:.0%}" for part in PARTS)]
    for group in (MEASURED, UNSTEADY):
        rows = done.of(drive, group)
        found = []
        for metric in done.metrics:
            of = known(rows, metric)
            if not of:
                continue
            for weight in ("", ", by bytes written"):
                weights = numbers(of, "volume_bytes_written") if weight else [1.0] * len(of)
                values = quantiles(numbers(of, metric), weights, PARTS)
                cells = [cell(metric, float(value)) for value in values]
                found.append([f"{TITLES[metric]}{weight}", f"{len(of):,}", *cells])
        if found:
            yield f"quantiles{_on(done, drive)}, {group}", heads, found


def _worst(done: Fleet, drive: str, metric: str) -> Table:
    names = [*STATISTICS_OF]
    rows = [
        [
            str(row["volume"]),
            cell(metric, _number(row, metric)),
            *(cell(name, _number(row, name)) for name in names),
        ]
        for row in worst(done, drive, metric)
    ]
    heads = [TITLES[metric], *(STATISTICS_OF[name] for name in names)]
    return f"worst {TITLES[metric]}{_on(done, drive)}", heads, rows


def _number(row: Row, name: str) -> float | None:
    value = row[name]
    return float(value) if isinstance(value, int | float) else None


def _common(done: Fleet, drive: str, metric: str) -> Table:
    """Each statistic: its correlation, and the medians of the worst tenth and of the rest."""
    rows = worst(done, drive, metric, len(done.volumes))
    tenth = max(1, len(rows) // 10)
    found = []
    for one in ranks(done, drive, metric):
        ends = (rows[:tenth], rows[tenth:])
        medians = [
            cell(one.statistic, median(values)) if (values := numbers(part, one.statistic)) else "–"
            for part in ends
        ]
        span = f"{one.low:+.2f} to {one.high:+.2f}"
        clear = "yes" if one.is_clear else "no"
        title = STATISTICS_OF[one.statistic]
        found.append([title, f"{one.rho:+.2f}", span, clear, *medians])
    heads = ["rank correlation", "interval", "excludes 0", "median, worst tenth", "of the rest"]
    return f"what goes with {TITLES[metric]}{_on(done, drive)}", heads, found


def _classes(done: Fleet) -> Iterator[Table]:
    """Write amplification by classes of similar volumes, each with its verdict."""
    rows = []
    for name, volumes in similar(done).items():
        for one in differences(done, volumes):
            if one.metric == "waf":
                verdict = f"{'lower' if one.ratio < 1 else 'higher'} on {one.drive}"
                span = "–" if one.low is None else f"{one.low:.4g} to {one.high:.4g}"
                rows.append(
                    [
                        f"{name}, {one.drive} over {one.base}",
                        f"{one.volumes:,}",
                        f"{one.ratio:.4g}",
                        span,
                        verdict if one.is_clear else "undecided",
                    ]
                )
    if rows:
        heads = ["volumes", "median ratio", "interval", "verdict"]
        yield f"{TITLES['waf']} by similar volumes", heads, rows


def _differences(done: Fleet) -> Table:
    rows = [
        [
            f"{TITLES[one.metric]}, {one.drive} over {one.base}",
            f"{one.volumes:,}",
            f"{one.ratio:.4g}",
            "–" if one.low is None else f"{one.low:.4g} to {one.high:.4g}",
            f"{one.lower:,}",
            f"{one.higher:,}",
        ]
        for one in differences(done)
    ]
    heads = ["volumes", "median ratio", "95 % interval", "lower", "higher"]
    return "drives, paired by volume", heads, rows


assert set(RANKED) <= set(OUTCOME_OF)
