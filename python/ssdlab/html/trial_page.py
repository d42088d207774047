"""The page of `ssdlab try`."""

from __future__ import annotations

from html import escape
from typing import Literal

from ssdlab.config.drives import title_of
from ssdlab.display.numbers import percent
from ssdlab.html.answer import answer_list
from ssdlab.html.compare_page import numbers_table
from ssdlab.html.page import Section, document, figure, number, table, warnings_box
from ssdlab.html.plot import Forest, Point
from ssdlab.results.prediction import ORDERS, Ranking
from ssdlab.results.text import by_reason
from ssdlab.results.trial import Trial


def trial_page(trial: Trial) -> str:
    """The answer, the predicted write amplification, latencies, and how they were found."""
    troubles = [
        f"{title} could not finish: {reason}" for title, reason in by_reason(trial.failures).items()
    ]
    troubles += ["Interrupted: runs are missing."] * trial.interrupted
    troubles += [*trial.doubts, *trial.warnings]
    sections = [
        Section("answer", "Answer", warnings_box(troubles) * bool(troubles) + _answer(trial)),
        *([Section("waf", "Write amplification", _amounts(trial))] * bool(trial.policies)),
        *([Section("latency", "Latency", latency)] if (latency := _latency(trial)) else []),
        Section("how", "Method", _method_text(trial)),
    ]
    state = "" if trial.completed else ' · <strong class="bad">not completed</strong>'
    lead = f'<p class="lead">{escape(trial.drive)}{state}</p>'
    return document(f"{trial.name} on {title_of(trial.drive)}", lead, sections)


def _answer(trial: Trial) -> str:
    forest = _forest(trial)
    # Without a verdict there may be no ratios.
    points = [point for _, rows in forest.panels for _, point in rows]
    is_drawn = len(trial.policies) > 1 and any(points)
    return answer_list(trial.rows(detailed=True)) + (figure(forest) if is_drawn else "")


def _forest(trial: Trial) -> Forest:
    """Write amplification against the baseline, a panel for each order of updates."""
    panels = tuple(
        (
            order,
            tuple((label, _point(trial, trial.rankings[name], label)) for label in trial.policies),
        )
        for name, order in ORDERS.items()
    )
    caption = (
        f"Write amplification of the drive over that with {trial.baseline}, with the interval of"
        " seeds and the size of blocks, for one application whose bursts grow with the drive and"
        " for many tenants whose bursts mix. Blue is lowest, grey the baseline and what may write"
        " as little. Arrows: beyond the axis."
    )
    return Forest(
        "waf-plot", f"Write amplification against {trial.baseline}", caption, panels, True
    )


def _point(trial: Trial, ranking: Ranking, label: str) -> Point | None:
    ratio = ranking.predicted[label].against(ranking.predicted[trial.baseline])
    if ratio is None:
        return None
    state: Literal["base", "lowest", "tie", "other"] = "other"
    if label == trial.baseline:
        state = "base"
    elif label in ranking.best and not trial.doubts:
        state = "lowest" if label == ranking.best[0] else "tie"
    return Point(ratio.ratio, ratio.low, ratio.high, state)


def _amounts(trial: Trial) -> str:
    rows = []
    for label in trial.policies:
        cells = []
        for name, ranking in trial.rankings.items():
            key = f"waf.{name}.{label}"
            predicted = ranking.predicted[label]
            cells.append(number(f"{key}.mean", predicted.mean, "waf"))
            bounds = zip(("low", "high"), predicted.interval or (), strict=False)
            cells.append(
                " to ".join(number(f"{key}.{bound}", value, "waf") for bound, value in bounds)
            )
            cells.append(number(f"{key}.seeds", len(predicted.values)))
        spares = trial.form.spares[label]
        cells += ["–" if spare is None else percent(spare) for spare in spares]
        rows.append((label, cells))
    head = ["policy"]
    for order in ORDERS.values():
        head += [order, "interval", "seeds"]
    head += ["effective spare", "of the drive"]
    return table(head, rows, "Predicted write amplification of the drive")


def _latency(trial: Trial) -> str:
    doubts = [
        f"No latency with {label}: {reason}."
        for label, reason in by_reason(trial.latency_doubts).items()
    ]
    bounds = "".join(f"<p>{escape(text)}.</p>" for text in trial.bounded())
    comparison = trial.timed_comparison
    numbers = "" if comparison is None else numbers_table(comparison)
    return warnings_box(doubts) * bool(doubts) + bounds + numbers


def _method_text(trial: Trial) -> str:
    texts = [
        *(f"{text}." for text in trial.unsettled()),
        *(f"{text}." for text in trial.set_aside()),
        *(f"Without {policy}: {reason}" for policy, reason in trial.refused.items()),
    ]
    return answer_list(trial.facts()) + "".join(f"<p>{escape(text)}</p>" for text in texts)
