"""The page of `ssdlab plan`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from ssdlab.html.answer import answer_list
from ssdlab.html.page import Section, document, figures, table, warnings_box
from ssdlab.html.plot import Axis, Curve, Figure, Floats, MissingPlot, Plot, Unit
from ssdlab.results.lifetime import FAR, Interval
from ssdlab.results.spare_plan import NAMES, ORDER, Bound, SparePlan
from ssdlab.results.text import by_reason

TITLES = {"waf": "Write amplification", "years": "Lifetime, years", "p99_9": "p99.9"}
MEETS = {"met": "met", "open": "open", "missed": "missed", "unknown": "not run"}
MOST_DRAWN = 3
"""Policies that are drawn: more intervals would hide each other."""
DRAWN = ("p99_9", "years", "waf")
"""The numbers that are drawn if they are bounded, in this order."""


def spare_page(plan: SparePlan) -> str:
    """The answer, over-provisioning against what is bounded, and all that was tried."""
    troubles = [
        f"{title} could not finish: {reason}" for title, reason in by_reason(plan.failures).items()
    ]
    troubles += ["Interrupted: runs are missing."] * plan.interrupted
    troubles += [f"No verdict: {plan.doubt}."] * bool(plan.doubt)
    troubles += plan.warnings
    answer = answer_list(plan.rows())
    sections = [
        Section("answer", "Answer", warnings_box(troubles) * bool(troubles) + answer),
        Section("spare", "What over-provisioning buys", figures(spare_figures(plan))),
        Section("tried", "What was tried", _outcome_table(plan)),
    ]
    if method := _method_text(plan):
        sections.append(Section("how", "Method", method))
    state = "" if plan.completed else ' · <strong class="bad">not completed</strong>'
    lead = f'<p class="lead">{escape(plan.lifetime.endurance.text)}{state}</p>'
    return document(plan.head, lead, sections)


def spare_figures(plan: SparePlan) -> list[Figure]:
    """A plot of over-provisioning against each number that is bounded."""
    bounds = {bound.name: bound for bound in plan.bounds}
    return [_figure(plan, bounds[name]) for name in DRAWN if name in bounds]


def _figure(plan: SparePlan, bound: Bound) -> Figure:
    key, title = f"spare-{bound.name}", f"Over-provisioning and {NAMES[bound.name]}"
    curves = []
    for tone, policy in enumerate(_drawn_policies(plan)):
        points = [
            (step.provision, outcome.values[bound.name])
            for step in plan.steps
            for outcome in step.outcomes
            if outcome.policy == policy and bound.name in outcome.values
        ]
        if points:
            curves.append(_curve(bound, policy, points, tone))
    if not curves:
        return MissingPlot(key, title, "No policy was judged by this number.")
    shares = [step.provision for step in plan.steps]
    x_ends = np.array([shares[0], shares[-1]])
    values = [bound.limit, *(float(end) for curve in curves for end in _band_values(curve))]
    low, high = min(values), max(values)
    is_log = high > 20 * low
    is_drawn = plan.answer is not None and plan.answer[0].provision < x_ends[1]
    if plan.answer is not None and is_drawn:
        start, bottom = plan.answer[0].provision, low if is_log else 0.0
        far_edge = high if bound.at_least else bottom
        curves.insert(0, _feasible(bound, np.array([start, x_ends[1]]), far_edge))
    curves.append(Curve(bound.text, x_ends, np.full(2, bound.limit), MOST_DRAWN + 1))
    area = (
        "; the shaded area is what meets it with the over-provisioning of the answer or more"
        if is_drawn
        else ""
    )
    caption = f"Intervals of the policies that write least. The line is the bound{area}. {ORDER}"
    if bound.name == "years":
        caption += f" Lifetimes beyond {FAR:g} years are drawn as {FAR:g}."
    unit: Unit = "ns" if bound.name == "p99_9" else "ratio"
    y_axis = Axis(TITLES[bound.name], unit, log=is_log, low=None if is_log else 0.0)
    x_axis = Axis("over-provisioning", "share", log=len(plan.steps) > 1)
    return Plot(key, title, caption, x_axis, y_axis, tuple(curves))


def _band_values(curve: Curve) -> Floats:
    """All values of a curve with a band."""
    return np.concatenate([bound for bound in (curve.low, curve.high) if bound is not None])


def _drawn_policies(plan: SparePlan) -> list[str]:
    """The policies that are drawn: that of the answer, and those that write least at some step."""
    policies = [plan.answer[1].policy] if plan.answer is not None else []
    policies += [step.outcomes[0].policy for step in reversed(plan.steps) if step.outcomes]
    return [*dict.fromkeys(policies)][:MOST_DRAWN]


def _curve(bound: Bound, policy: str, points: Sequence[tuple[float, Interval]], tone: int) -> Curve:
    x = np.array([provision for provision, _ in points])
    intervals = np.array([interval for _, interval in points])
    if bound.name == "years":
        intervals = np.minimum(intervals, FAR)
    middle: Floats = intervals.mean(axis=1)
    dots = np.zeros(len(x), dtype=bool)
    return Curve(policy, x, middle, tone, intervals[:, 0], intervals[:, 1], dots=dots)


def _feasible(bound: Bound, x: Floats, far_edge: float) -> Curve:
    """The area between the bound and the far end of the axis."""
    limit, far_line = np.full(2, bound.limit), np.full(2, far_edge)
    low, high = (limit, far_line) if bound.at_least else (far_line, limit)
    return Curve("feasible", x, limit, MOST_DRAWN, low, high, line=False)


def _outcome_table(plan: SparePlan) -> str:
    rows = []
    for step in plan.steps:
        for outcome in step.outcomes:
            cells = [outcome.text(name) for name in NAMES]
            rows.append((f"{step.name}, {outcome.policy}", [*cells, MEETS[plan.verdict(outcome)]]))
    head = ["over-provisioning, policy", *NAMES.values(), "all bounds"]
    return table(head, rows, "Interval of each policy") if rows else ""


def _method_text(plan: SparePlan) -> str:
    texts = [
        *(f"{doubt}." for doubt in dict.fromkeys(plan.doubts())),
        *(f"Without {policy}: {reason}" for policy, reason in plan.refused.items()),
    ]
    return "".join(f"<p>{escape(text)}</p>" for text in texts)
