"""Other readings, as a section of the page of a reproduction and of its Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab.html.page import prose
from ssdlab.html.page import table as html_table
from ssdlab_lab.reproduce.calibration import AS_RUN
from ssdlab_lab.reproduce.readings import ExplanationFinding, Outcome, PaperReadings
from ssdlab_lab.reproduce.scoring import Score
from ssdlab_lab.reproduce.tables import Number, number

Rows = list[tuple[str, list[str]]]

HEADS = (
    "reading",
    "direction",
    "near",
    "rank correlation",
    "speed-up of mean writes: published",
    "ours",
    "baseline's mean write, ours / published",
    "WAF, proposed",
    "claims: hold",
    "do not hold",
    "verdicts changed",
)
LONGEST_HEAD = "baselines' longest writes and reads, typical factor (not fitted)"
"""For calibrated readings: what distinguishes orders without the proposed scheme."""
SUMMARY = "Main runs and other readings"
SUMMARY_HEADS = ("reading", "direction", "near", "error", "rank correlation")
CHANGED = "Claims whose verdict depends on the reading"
CLAIM_HEADS = ("claim", AS_RUN, "holds under", "does not hold under")
EFFECT = 1.05
"""Speed-up over the baseline below which the effect of a paper counts as gone."""
NO_CAUSE = "No explanation of this has been tested."


def _lead(read: PaperReadings) -> str:
    arrivals = (
        f"Readings keep the arrivals of the main runs, except {_list(read.own)}, calibrated on"
        " their own baseline, so where the baseline's mean write is far from the published one, the"
        " load differs from the paper's."
        if read.calibrated and read.own
        else "All readings keep the arrivals of the main runs unless their name gives another load,"
        " so where the baseline's mean write is far from the published one, the load differs from"
        " the paper's."
        if read.calibrated
        else "All readings use the arrival rates of the main runs unless their name gives another"
        " load, so where the baseline's mean write is far from the published one, the load differs"
        " from the paper's."
    )
    return (
        "The main comparison on synthetic requests, repeated under readings that each change one"
        " or more decisions of the main runs. The device and the number of requests are divided by"
        f" {read.divisor}; *as run* is the main reading on that smaller device. Factors are"
        f" geometric means over the workloads. {arrivals}"
    )


def _effects(read: PaperReadings) -> list[str]:
    """Which readings matter, in words."""
    first, *rest = read.outcomes
    without_effect = [
        outcome.name for outcome in rest if outcome.ours is not None and outcome.ours < EFFECT
    ]
    unchanged = [
        outcome.name
        for outcome in rest
        if outcome.verdicts == first.verdicts and _agreements(outcome) == _agreements(first)
    ]
    centre = (
        "As run, the proposed scheme reduces the mean write latency by a factor of"
        f" {number(first.ours)} relative to its fastest baseline (published:"
        f" {number(first.published)}). Readings with a factor below {number(EFFECT)}:"
        f" {_list(without_effect)}."
    )
    return [
        centre,
        f"Readings that change no verdict and no count of agreements: {_list(unchanged)}.",
    ]


def _agreements(outcome: Outcome) -> tuple[int, int | None]:
    return outcome.score.ours.direction, outcome.score.ours.near


def _list(names: Sequence[str]) -> str:
    return "; ".join(names) or "none"


def _name(outcome: Outcome) -> str:
    suffix = "" if outcome.made == outcome.runs else f" ({outcome.made} of {outcome.runs} runs)"
    return outcome.name + suffix


def _rows(read: PaperReadings) -> Rows:
    """A line for each reading."""
    return [
        (
            _name(outcome),
            [
                f"{outcome.score.ours.direction}/{outcome.score.ours.cells}",
                f"{outcome.score.ours.near}/{outcome.score.ours.cells}",
                "–" if outcome.score.correlation is None else f"{outcome.score.correlation:.2f}",
                *map(number, (outcome.published, outcome.ours, outcome.baseline, outcome.waf)),
                str(outcome.verdicts.count("holds")),
                str(outcome.verdicts.count("does not hold")),
                str(sum(1 for _ in read.differing(outcome))),
                *([number(_longest(outcome))] if read.calibrated else []),
            ],
        )
        for outcome in read.outcomes
    ]


def _longest(outcome: Outcome) -> Number:
    """How far the longest latencies of the baselines are from the published ones."""
    kinds = [
        errors.typical
        for errors in outcome.score.errors
        if (errors.schemes, errors.kind) == ("baselines", "longest")
    ]
    return kinds[0] if kinds else None


def heads(read: PaperReadings) -> tuple[str, ...]:
    """The heads of the table of readings."""
    return (*HEADS, LONGEST_HEAD) if read.calibrated else HEADS


def _by_claim(read: PaperReadings) -> Rows:
    """A line for each claim that some reading decides differently from the first."""
    changed = {index for outcome in read.outcomes for index, _ in read.differing(outcome)}
    return [
        (
            claim.text,
            [
                read.outcomes[0].verdicts[index],
                _names(read, index, read.under(index, "holds")),
                _names(read, index, read.under(index, "does not hold")),
            ],
        )
        for index, claim in enumerate(read.claims)
        if index in changed
    ]


def _names(read: PaperReadings, index: int, names: Sequence[str]) -> str:
    """The readings of a verdict, abbreviated if they are nearly all."""
    decided = [outcome for outcome in read.outcomes if outcome.verdicts[index] != "undecided"]
    remaining = [outcome.name for outcome in decided if outcome.name not in names]
    if 0 < len(remaining) < len(names) and len(decided) > 4:
        undecided = len(decided) < len(read.outcomes)
        return "all others with a verdict" if undecided else "all others"
    return _list(names)


def _why(explained: ExplanationFinding) -> tuple[str, str]:
    """The mechanism, and the outcome of its test."""
    outcome = {"holds": "Test passed", "does not hold": "Test failed", "undecided": "Not tested"}
    numbers = f": {explained.finding.numbers}" if explained.finding.numbers else ""
    result = f"{outcome[explained.finding.verdict]}{numbers} ({explained.explanation.metric})."
    return explained.explanation.why, result


def readings_html(read: PaperReadings) -> str:
    """The section of the page."""
    rows = [(title, [prose(cell) for cell in cells]) for title, cells in _rows(read)]
    texts = [_lead(read).replace("*", ""), *_effects(read)]
    parts = [
        *(f"<p>{prose(text)}</p>" for text in texts),
        html_table(heads(read), rows, "Readings"),
    ]
    changed = _by_claim(read)
    if changed:
        parts.append(f"<h3>{CHANGED}</h3><ul>")
        for claim, (first, holding, failing) in changed:
            text = f"{AS_RUN}: {first}; holds under: {holding}; does not hold under: {failing}"
            parts.append(f'<li>{prose(claim)} <p class="note">{prose(text)}</p></li>')
        parts.append("</ul>")
    for claim, explanations in read.explained.items():
        parts.append(f"<h3>Why not: {prose(claim)}</h3>")
        for explained in explanations:
            reason, result = _why(explained)
            parts.append(f'<p>{prose(reason)}</p><p class="note">{prose(result)}</p>')
        parts += [] if explanations else [f"<p>{NO_CAUSE}</p>"]
    return "".join(parts)


def markdown_table(head: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Lines of a table, with an empty one after it."""
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return [*lines, *(f"| {' | '.join([title, *cells])} |" for title, cells in rows), ""]


def summary_rows(main: Score, read: PaperReadings) -> Rows:
    """Score of the main runs, and of each reading of what the paper leaves open."""
    scores = [("**main runs**", main)]
    scores += [
        (f"{AS_RUN} on the small device" if outcome.name == AS_RUN else outcome.name, outcome.score)
        for outcome in read.outcomes
        if not outcome.detail
    ]
    return [
        (
            name,
            [
                f"{score.ours.direction}/{score.ours.cells}",
                f"{score.ours.near}/{score.ours.cells}",
                number(score.ours.error),
                "–" if score.correlation is None else f"{score.correlation:.2f}",
            ],
        )
        for name, score in scores
    ]


def summary_lead(read: PaperReadings) -> str:
    """Introduction to the table of `summary_rows`."""
    whole = [outcome.name for outcome in read.outcomes if outcome.whole]
    on_whole = f", or on the device of the main runs ({_list(whole)})" if whole else ""
    return (
        "On synthetic requests. Readings change one or more decisions of the main runs. They are"
        f" run on 1/{read.divisor} of the device with one seed, as *{AS_RUN}* is{on_whole}. More of"
        " each is in the appendix."
    )


def readings_markdown(read: PaperReadings) -> list[str]:
    """The lines of the Markdown page."""
    texts = [text for paragraph in (_lead(read), *_effects(read)) for text in (paragraph, "")]
    lines = ["## Other readings", "", *texts, *markdown_table(heads(read), _rows(read))]
    claims = _by_claim(read)
    if claims:
        lines += [f"### {CHANGED}", ""]
        lines += markdown_table(CLAIM_HEADS, claims)
    lines += ["### Why claims do not hold", ""] if read.explained else []
    for claim, explanations in read.explained.items():
        texts = [text for explained in explanations for text in _why(explained)] or [NO_CAUSE]
        lines += [
            f"**{claim}** {texts[0]}",
            "",
            *(text for paragraph in texts[1:] for text in (paragraph, "")),
        ]
    return lines
