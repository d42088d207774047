"""The answer of a comparison in sentences: the same words in the terminal, on pages, in notebooks.

Only claims that the intervals support: a number is called lower than another if the interval of
their ratio, paired by seed, excludes 1 (docs/statistics.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ssdlab.display.form import columns
from ssdlab.display.numbers import format_value
from ssdlab.display.words import join_names
from ssdlab.results.intervals import ONE_SEED, UNDECIDED, Ratio
from ssdlab.results.text import counted, folded_points, named

if TYPE_CHECKING:
    from ssdlab.results.comparison import Comparison
    from ssdlab.results.points import Points
    from ssdlab.results.report import Report

AMOUNT = "waf"
"""The column that counts what is written; the others that are ranked are times."""
TITLES = {column.name: column.title for column in columns() if column.ranked}
"""Columns that the answer covers, with their names."""
MARKED = [column.name for column in columns() if column.lower_is_better]
"""Columns in which the lowest value is marked."""
MOST_NAMED = 3
"""Configurations named in one list."""
UNRANKED = (
    f"{ONE_SEED[0].upper()}{ONE_SEED[1:]}, so nothing is ranked. Repeat every run with several"
    " seeds (--seeds 5, or seeds=5 in Python)."
)


@dataclass(frozen=True)
class Answer:
    """The answer for one workload."""

    work: str
    """The workload, if several are compared; otherwise empty."""
    sentences: tuple[str, ...]
    """Most important first."""
    lowest: dict[str, tuple[str, ...]]
    """By column the lowest configuration, then those that are equal or cannot be distinguished from
    it: for all columns in which lower is better, except those in which all are alike."""

    @property
    def text(self) -> str:
        """One paragraph."""
        return " ".join([f"{self.work}:"] * bool(self.work) + [*self.sentences])


def answers(comparison: Comparison) -> list[Answer]:
    """An answer for each workload that several configurations, or several seeds, ran."""
    groups = [*_by_work(comparison)]
    candidates = [_answer(group, work if len(groups) > 1 else "") for work, group in groups]
    return [answer for answer in candidates if answer.sentences]


def left_out(reasons: Mapping[str, str], count: int) -> list[str]:
    """Which of `count` configurations or points are not ranked, and why.

    `reasons`: the warning that invalidates each, by label. It ends with what to change.
    """
    if reasons and len(reasons) == count:
        texts = folded_points(reasons.items()) if count > 1 else [*reasons.values()]
        return [f"Nothing is ranked, since no run is valid. {_full(texts)}"]
    return [f"Not ranked: {_full(folded_points(reasons.items()))}"] if reasons else []


def _full(reasons: Sequence[str]) -> str:
    return " ".join(f"{reason}." for reason in reasons)


def single_text(points: Points) -> str:
    """The numbers of the only valid configuration or point."""
    summaries = {title: (key, points.summary(0, key)) for key, title in TITLES.items()}
    numbers = [
        f"{title} {format_value(key, summary.mean)}"
        for title, (key, summary) in summaries.items()
        if summary
    ]
    return f"Only {points.labels[0]} is valid: {', '.join(numbers)}."


def of_seeds(key: str, count: int) -> str:
    """The answer of a sweep over `count` values of a seed."""
    return (
        f"{key} varies, so nothing is ranked: no seed is better than another. Repeat every point"
        f" with {count} seeds instead (--seeds {count}, or seeds={count} in Python)."
    )


def of_points(points: Points) -> list[str]:
    """The points of a sweep at which each ranked number is lowest, and highest.

    A point cannot be distinguished from the lowest one if their intervals overlap. Points with at
    least half of the seeds invalidated by a warning are not ranked.
    """
    sentences, reasons, partly_invalid, points = (
        [],
        points.invalid,
        points.partly_invalid,
        points.valid,
    )
    if reasons and len(points.labels) == 1:
        return [
            single_text(points),
            *_minority(partly_invalid),
            *left_out(reasons, len(reasons) + 1),
        ]
    for key, title in TITLES.items():
        pairs = ((i, points.summary(i, key)) for i in range(len(points.labels)))
        summaries = {i: summary for i, summary in pairs if summary is not None}
        if len(summaries) < 2:
            continue
        lowest, highest = (
            select(summaries, key=lambda i: summaries[i].mean) for select in (min, max)
        )
        if summaries[lowest].mean == summaries[highest].mean:
            sentences.append(_capitalise(f"{title}: equal at all points."))
            continue
        low, high = (
            f"{points.labels[i]} ({format_value(key, summaries[i].mean)})"
            for i in (lowest, highest)
        )
        ties = [i for i in summaries if i != lowest and summaries[i].low <= summaries[lowest].high]
        if len(ties) == len(summaries) - 1:
            sentences.append(_capitalise(f"{title}: no significant difference."))
            continue
        ties.sort(key=lambda i: summaries[i].mean)
        text = f"{title} is lowest at {low}"
        if ties:
            names = _label_list([points.labels[i] for i in ties])
            text += f", from which {names} cannot be distinguished"
        # A mean with a wide interval may be the highest, and yet may be the lowest.
        text += "" if highest in ties else f"; highest at {high}"
        sentences.append(_capitalise(f"{text}."))
    if sentences and all(len(runs) < 2 for runs in points.runs):
        sentences.append(f"{ONE_SEED[0].upper()}{ONE_SEED[1:]}.")
    return [
        *sentences,
        *_minority(partly_invalid),
        *left_out(reasons, len(reasons) + len(points.labels)),
    ]


def _minority(partly_invalid: Mapping[str, Sequence[str]]) -> list[str]:
    """How many seeds are invalid at points that are ranked anyway.

    `partly_invalid` is as in `Points`.
    """
    seeds = [warning for warnings in partly_invalid.values() for warning in warnings]
    invalid = [warning for warning in seeds if warning]
    if not invalid:
        return []
    verb = "is" if len(invalid) == 1 else "are"
    # The advice after the semicolon is for a majority of invalid seeds.
    reason = invalid[0].partition(";")[0]
    return [
        f"{len(invalid)} of {len(seeds)} runs at {named([*partly_invalid])} {verb} invalid"
        f" ({reason})."
    ]


def _by_work(comparison: Comparison) -> Iterator[tuple[str, Comparison]]:
    """The name of each workload, and its runs."""
    groups: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for label, report in comparison.reports.items():
        key, names[key] = _work(report)
        groups.setdefault(key, []).append(label)
    for key, labels in groups.items():
        reports = {label: comparison.reports[label] for label in labels}
        by_label = comparison.repetitions
        repetitions = {label: by_label[label] for label in labels if label in by_label}
        yield names[key], replace(comparison, reports=reports, repetitions=repetitions)


def _work(report: Report) -> tuple[str, str]:
    """What distinguishes workloads, and the name of this one."""
    workload = report.json["config"]["workload"]
    name = str(workload["trace"] or workload["kind"]).rpartition("/")[2]
    return json.dumps(workload, sort_keys=True), name.partition(".")[0]


def _answer(comparison: Comparison, work: str) -> Answer:
    partly_invalid = tuple(comparison.partly_invalid())
    if max(len(comparison.repetitions), len(comparison.reports)) < 2:
        return Answer(work, partly_invalid, {})
    valid = comparison.valid
    # For those in `not_compared` the first line says why.
    reasons = {
        label: warning
        for label, warning in comparison.invalid.items()
        if label not in comparison.not_compared
    }
    notes = [*left_out(reasons, len(comparison.repetitions or comparison.reports)), *partly_invalid]
    if len(valid.repetitions or valid.reports) < 2:
        notes = [single_text(valid.points), *notes] if valid.reports else notes
        return Answer(work, tuple(notes), {})
    if not comparison.repetitions:
        return Answer(work, (UNRANKED, *notes), {})
    base, ties, sentences = next(iter(valid.repetitions)), [], []
    best_by_key = {key: tuple(valid.lowest(key)) for key in MARKED}
    lowest = {
        key: best for key, best in best_by_key.items() if 0 < len(best) < len(valid.repetitions)
    }
    for key, title in TITLES.items():
        best = best_by_key[key]
        if len(best) == len(valid.repetitions):
            ties.append((key, title))
        elif best:
            least = lowest.get(AMOUNT, best)[0]
            sentences.append(
                _amount(valid, base, best)
                if key == AMOUNT
                else _time(valid, (base, least), best, key)
            )
    equal = [title for key, title in ties if _is_equal(valid, base, key)]
    undecided = [title for _, title in ties if title not in equal]
    if equal:
        sentences.append(f"{join_names(equal)}: equal in all.")
    if undecided:
        sentences.append(f"{join_names(undecided)}: no significant difference.")
    return Answer(work, (*map(_capitalise, sentences), *notes), lowest)


def _amount(comparison: Comparison, base: str, best: Sequence[str]) -> str:
    """Who writes least, and who most."""
    first = base if base in best else best[0]
    ties = [label for label in best if label != first]
    text = f"no configuration writes less than {base}"
    if first != base:
        text = f"{first} writes {_ratio_text(comparison.ratio(first, base, AMOUNT), 'much', base)}"
    text += _ties_text(comparison, AMOUNT, ties, first)
    ratios = {
        label: comparison.ratio(label, base, AMOUNT)
        for label in comparison.repetitions
        if label not in best
    }
    higher = {label: r for label, r in ratios.items() if r is not None and r.order == "higher"}
    if higher:
        worst = max(higher, key=lambda label: higher[label].ratio)
        text += f"; {worst} writes the most, {_ratio_text(higher[worst], 'much', base)}"
    return text + "."


def _time(
    comparison: Comparison, references: tuple[str, str], best: Sequence[str], key: str
) -> str:
    """Where a time is shortest, and how long it is for the configuration that writes least."""
    base, least = references
    first = base if base in best else best[0]
    text = f"{TITLES[key]} is shortest with {first}"
    if first != base:
        text += f", {_ratio_text(comparison.ratio(first, base, key), 'long', f'with {base}')}"
    text += _ties_text(comparison, key, [label for label in best if label != first], first)
    ratio = comparison.ratio(least, base, key) if least not in (base, *best) else None
    if ratio is not None:
        phrase = _ratio_text(ratio, "long", f"with {base}")
        phrase = phrase if ratio.order in LEVEL else f"is {phrase}"
        text += f"; with {least}, which writes least, it {phrase}"
    return text + "."


LEVEL = (UNDECIDED, "equal")
"""Orders that rank neither of two."""
WORDS = {"much": ("less", "more"), "long": ("shorter", "longer")}


def _ratio_text(ratio: Ratio | None, adverb: str, reference: str) -> str:
    """A ratio in words: `2.1 % less than greedy`, `3.2 times as much as greedy`."""
    assert ratio is not None, "configurations that are ranked have ratios"
    if ratio.order in LEVEL:
        return f"cannot be distinguished from {reference.removeprefix('with ')}"
    if ratio.ratio >= 2:
        return f"{ratio.ratio:.2g} times as {adverb} as {reference}"
    difference = 100 * abs(ratio.ratio - 1)
    digits = 0 if difference >= 10 else 1 if difference >= 1 else 2
    return f"{difference:.{digits}f} % {WORDS[adverb][ratio.ratio > 1]} than {reference}"


def _ties_text(comparison: Comparison, key: str, labels: Sequence[str], first: str) -> str:
    """Those not distinguishable from the first; empty if there are none."""
    ratios = {label: comparison.ratio(label, first, key) for label in labels}
    equal = [label for label, r in ratios.items() if r is not None and r.order == "equal"]
    undecided = [label for label in labels if label not in equal]
    texts = [f"equal: {_label_list(equal)}"] if equal else []
    texts += [f"{_label_list(undecided)} cannot be distinguished from it"] if undecided else []
    return f" ({'; '.join(texts)})" if texts else ""


def _label_list(labels: Sequence[str]) -> str:
    """The first few of them."""
    remaining = len(labels) - MOST_NAMED
    return join_names([*labels[:MOST_NAMED], *[counted(remaining, "other")] * (remaining > 0)])


def _is_equal(comparison: Comparison, base: str, key: str) -> bool:
    """Whether a column is the same in all configurations, seed by seed."""
    ratios = [
        comparison.ratio(label, base, key) for label in comparison.repetitions if label != base
    ]
    return all(r is not None and r.order == "equal" for r in ratios)


def _capitalise(sentence: str) -> str:
    """Capitalise a sentence that begins with a word of ours."""
    prefixes = ("no ", *TITLES.values())
    return sentence[0].upper() + sentence[1:] if sentence.startswith(prefixes) else sentence
