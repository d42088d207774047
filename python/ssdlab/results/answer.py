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
TITLES = {one.name: one.title for one in columns() if one.ranked}
"""Columns that the answer covers, with their names."""
MARKED = [one.name for one in columns() if one.lower_is_better]
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


def answers(done: Comparison) -> list[Answer]:
    """An answer for each workload that several configurations, or several seeds, ran."""
    groups = [*_by_work(done)]
    found = [_answer(one, work if len(groups) > 1 else "") for work, one in groups]
    return [one for one in found if one.sentences]


def left_out(why: Mapping[str, str], count: int) -> list[str]:
    """Which of `count` configurations or points are not ranked, and why.

    `why`: the warning that invalidates each, by label. It ends with what to change.
    """
    if why and len(why) == count:
        reasons = folded_points(why.items()) if count > 1 else [*why.values()]
        return [f"Nothing is ranked, since no run is valid. {_full(reasons)}"]
    return [f"Not ranked: {_full(folded_points(why.items()))}"] if why else []


def _full(reasons: Sequence[str]) -> str:
    return " ".join(f"{one}." for one in reasons)


def alone(points: Points) -> str:
    """The numbers of the only valid configuration or point."""
    found = {title: (key, points.summary(0, key)) for key, title in TITLES.items()}
    known = [f"{title} {format_value(key, one.mean)}" for title, (key, one) in found.items() if one]
    return f"Only {points.labels[0]} is valid: {', '.join(known)}."


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
    sentences, why, few, points = [], points.invalid, points.partly_invalid, points.valid
    if why and len(points.labels) == 1:
        return [alone(points), *_minority(few), *left_out(why, len(why) + 1)]
    for key, title in TITLES.items():
        found = ((i, points.summary(i, key)) for i in range(len(points.labels)))
        known = {i: one for i, one in found if one is not None}
        if len(known) < 2:
            continue
        least, most = (of(known, key=lambda i: known[i].mean) for of in (min, max))
        if known[least].mean == known[most].mean:
            sentences.append(_begun(f"{title}: equal at all points."))
            continue
        low, high = (
            f"{points.labels[i]} ({format_value(key, known[i].mean)})" for i in (least, most)
        )
        near = [i for i in known if i != least and known[i].low <= known[least].high]
        if len(near) == len(known) - 1:
            sentences.append(_begun(f"{title}: no significant difference."))
            continue
        near.sort(key=lambda i: known[i].mean)
        text = f"{title} is lowest at {low}"
        if near:
            names = _named([points.labels[i] for i in near])
            text += f", from which {names} cannot be distinguished"
        # A mean with a wide interval may be the highest, and yet may be the lowest.
        text += "" if most in near else f"; highest at {high}"
        sentences.append(_begun(f"{text}."))
    if sentences and all(len(runs) < 2 for runs in points.runs):
        sentences.append(f"{ONE_SEED[0].upper()}{ONE_SEED[1:]}.")
    return [*sentences, *_minority(few), *left_out(why, len(why) + len(points.labels))]


def _minority(few: Mapping[str, Sequence[str]]) -> list[str]:
    """How many seeds are invalid at points that are ranked anyway; `few` as in `Points`."""
    seeds = [why for of in few.values() for why in of]
    wrong = [why for why in seeds if why]
    if not wrong:
        return []
    verb = "is" if len(wrong) == 1 else "are"
    # The advice after the semicolon is for a majority of invalid seeds.
    why = wrong[0].partition(";")[0]
    return [f"{len(wrong)} of {len(seeds)} runs at {named([*few])} {verb} invalid ({why})."]


def _by_work(done: Comparison) -> Iterator[tuple[str, Comparison]]:
    """The name of each workload, and its runs."""
    groups: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for label, report in done.reports.items():
        key, names[key] = _work(report)
        groups.setdefault(key, []).append(label)
    for key, labels in groups.items():
        reports = {label: done.reports[label] for label in labels}
        of = done.repetitions
        repetitions = {label: of[label] for label in labels if label in of}
        yield names[key], replace(done, reports=reports, repetitions=repetitions)


def _work(report: Report) -> tuple[str, str]:
    """What distinguishes workloads, and the name of this one."""
    workload = report.json["config"]["workload"]
    name = str(workload["trace"] or workload["kind"]).rpartition("/")[2]
    return json.dumps(workload, sort_keys=True), name.partition(".")[0]


def _answer(every: Comparison, work: str) -> Answer:
    partly = tuple(every.partly_invalid())
    if max(len(every.repetitions), len(every.reports)) < 2:
        return Answer(work, partly, {})
    done = every.valid
    # For those in `not_compared` the first line says why.
    why = {one: text for one, text in every.invalid.items() if one not in every.not_compared}
    apart = [*left_out(why, len(every.repetitions or every.reports)), *partly]
    if len(done.repetitions or done.reports) < 2:
        apart = [alone(done.points), *apart] if done.reports else apart
        return Answer(work, tuple(apart), {})
    if not every.repetitions:
        return Answer(work, (UNRANKED, *apart), {})
    base, alike, sentences = next(iter(done.repetitions)), [], []
    found = {key: tuple(done.lowest(key)) for key in MARKED}
    lowest = {key: best for key, best in found.items() if 0 < len(best) < len(done.repetitions)}
    for key, title in TITLES.items():
        best = found[key]
        if len(best) == len(done.repetitions):
            alike.append((key, title))
        elif best:
            least = lowest.get(AMOUNT, best)[0]
            sentences.append(
                _amount(done, base, best)
                if key == AMOUNT
                else _time(done, (base, least), best, key)
            )
    equal = [title for key, title in alike if _equal(done, base, key)]
    open_ = [title for _, title in alike if title not in equal]
    if equal:
        sentences.append(f"{join_names(equal)}: equal in all.")
    if open_:
        sentences.append(f"{join_names(open_)}: no significant difference.")
    return Answer(work, (*map(_begun, sentences), *apart), lowest)


def _amount(done: Comparison, base: str, best: Sequence[str]) -> str:
    """Who writes least, and who most."""
    first = base if base in best else best[0]
    ties = [one for one in best if one != first]
    text = f"no configuration writes less than {base}"
    if first != base:
        text = f"{first} writes {_against(done.ratio(first, base, AMOUNT), 'much', base)}"
    text += _as_good(done, AMOUNT, ties, first)
    ratios = {one: done.ratio(one, base, AMOUNT) for one in done.repetitions if one not in best}
    more = {one: r for one, r in ratios.items() if r is not None and r.order == "higher"}
    if more:
        worst = max(more, key=lambda one: more[one].ratio)
        text += f"; {worst} writes the most, {_against(more[worst], 'much', base)}"
    return text + "."


def _time(done: Comparison, of: tuple[str, str], best: Sequence[str], key: str) -> str:
    """Where a time is shortest, and how long it is for the configuration that writes least."""
    base, least = of
    first = base if base in best else best[0]
    text = f"{TITLES[key]} is shortest with {first}"
    if first != base:
        text += f", {_against(done.ratio(first, base, key), 'long', f'with {base}')}"
    text += _as_good(done, key, [one for one in best if one != first], first)
    ratio = done.ratio(least, base, key) if least not in (base, *best) else None
    if ratio is not None:
        told = _against(ratio, "long", f"with {base}")
        told = told if ratio.order in LEVEL else f"is {told}"
        text += f"; with {least}, which writes least, it {told}"
    return text + "."


LEVEL = (UNDECIDED, "equal")
"""Orders that rank neither of two."""
WORDS = {"much": ("less", "more"), "long": ("shorter", "longer")}


def _against(ratio: Ratio | None, what: str, other: str) -> str:
    """A ratio in words: `2.1 % less than greedy`, `3.2 times as much as greedy`."""
    assert ratio is not None, "configurations that are ranked have ratios"
    if ratio.order in LEVEL:
        return f"cannot be distinguished from {other.removeprefix('with ')}"
    if ratio.ratio >= 2:
        return f"{ratio.ratio:.2g} times as {what} as {other}"
    apart = 100 * abs(ratio.ratio - 1)
    digits = 0 if apart >= 10 else 1 if apart >= 1 else 2
    return f"{apart:.{digits}f} % {WORDS[what][ratio.ratio > 1]} than {other}"


def _as_good(done: Comparison, key: str, labels: Sequence[str], first: str) -> str:
    """Those not distinguishable from the first; empty if there are none."""
    ratios = {one: done.ratio(one, first, key) for one in labels}
    equal = [one for one, r in ratios.items() if r is not None and r.order == "equal"]
    open_ = [one for one in labels if one not in equal]
    texts = [f"equal: {_named(equal)}"] if equal else []
    texts += [f"{_named(open_)} cannot be distinguished from it"] if open_ else []
    return f" ({'; '.join(texts)})" if texts else ""


def _named(labels: Sequence[str]) -> str:
    """The first few of them."""
    left = len(labels) - MOST_NAMED
    return join_names([*labels[:MOST_NAMED], *[counted(left, "other")] * (left > 0)])


def _equal(done: Comparison, base: str, key: str) -> bool:
    """Whether a column is the same in all configurations, seed by seed."""
    ratios = [done.ratio(one, base, key) for one in done.repetitions if one != base]
    return all(r is not None and r.order == "equal" for r in ratios)


def _begun(sentence: str) -> str:
    """Capitalise a sentence that begins with a word of ours."""
    ours = ("no ", *TITLES.values())
    return sentence[0].upper() + sentence[1:] if sentence.startswith(ours) else sentence
