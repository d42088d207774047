"""The page of `ssdlab plan`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from ssdlab.html.answer import titled
from ssdlab.html.page import Section, document, figures, table, warnings_box
from ssdlab.html.plot import Axis, Curve, Figure, Floats, Missing, Plot, Unit
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
        f"{title} could not finish: {why}" for title, why in by_reason(plan.failures).items()
    ]
    troubles += ["Interrupted: runs are missing."] * plan.interrupted
    troubles += [f"No verdict: {plan.doubt}."] * bool(plan.doubt)
    troubles += plan.warnings
    answer = titled(plan.rows())
    sections = [
        Section("answer", "Answer", warnings_box(troubles) * bool(troubles) + answer),
        Section("spare", "What over-provisioning buys", figures(spare_figures(plan))),
        Section("tried", "What was tried", _tried(plan)),
    ]
    if how := _how(plan):
        sections.append(Section("how", "Method", how))
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
    for tone, policy in enumerate(_shown(plan)):
        points = [
            (step.provision, one.values[bound.name])
            for step in plan.steps
            for one in step.outcomes
            if one.policy == policy and bound.name in one.values
        ]
        if points:
            curves.append(_curve(bound, policy, points, tone))
    if not curves:
        return Missing(key, title, "No policy was judged by this number.")
    shares = [step.provision for step in plan.steps]
    ends = np.array([shares[0], shares[-1]])
    values = [bound.limit, *(float(end) for one in curves for end in _ends(one))]
    low, high = min(values), max(values)
    is_log = high > 20 * low
    is_drawn = plan.answer is not None and plan.answer[0].provision < ends[1]
    if plan.answer is not None and is_drawn:
        start, bottom = plan.answer[0].provision, low if is_log else 0.0
        far = high if bound.at_least else bottom
        curves.insert(0, _feasible(bound, np.array([start, ends[1]]), far))
    curves.append(Curve(bound.text, ends, np.full(2, bound.limit), MOST_DRAWN + 1))
    area = (
        "; the shaded area is what meets it with the over-provisioning of the answer or more"
        if is_drawn
        else ""
    )
    caption = f"Intervals of the policies that write least. The line is the bound{area}. {ORDER}"
    if bound.name == "years":
        caption += f" Lifetimes beyond {FAR:g} years are drawn as {FAR:g}."
    unit: Unit = "ns" if bound.name == "p99_9" else "ratio"
    up = Axis(TITLES[bound.name], unit, log=is_log, low=None if is_log else 0.0)
    along = Axis("over-provisioning", "share", log=len(plan.steps) > 1)
    return Plot(key, title, caption, along, up, tuple(curves))


def _ends(curve: Curve) -> Floats:
    """All values of a curve with a band."""
    return np.concatenate([one for one in (curve.low, curve.high) if one is not None])


def _shown(plan: SparePlan) -> list[str]:
    """The policies that are drawn: that of the answer, and those that write least at some step."""
    best = [plan.answer[1].policy] if plan.answer is not None else []
    best += [step.outcomes[0].policy for step in reversed(plan.steps) if step.outcomes]
    return [*dict.fromkeys(best)][:MOST_DRAWN]


def _curve(bound: Bound, policy: str, points: Sequence[tuple[float, Interval]], tone: int) -> Curve:
    x = np.array([provision for provision, _ in points])
    ends = np.array([interval for _, interval in points])
    if bound.name == "years":
        ends = np.minimum(ends, FAR)
    middle: Floats = ends.mean(axis=1)
    dots = np.zeros(len(x), dtype=bool)
    return Curve(policy, x, middle, tone, ends[:, 0], ends[:, 1], dots=dots)


def _feasible(bound: Bound, x: Floats, far: float) -> Curve:
    """The area between the bound and the far end of the axis."""
    limit, end = np.full(2, bound.limit), np.full(2, far)
    low, high = (limit, end) if bound.at_least else (end, limit)
    return Curve("feasible", x, limit, MOST_DRAWN, low, high, line=False)


def _tried(plan: SparePlan) -> str:
    rows = []
    for step in plan.steps:
        for one in step.outcomes:
            cells = [one.text(name) for name in NAMES]
            rows.append((f"{step.name}, {one.policy}", [*cells, MEETS[plan.verdict(one)]]))
    head = ["over-provisioning, policy", *NAMES.values(), "all bounds"]
    return table(head, rows, "Interval of each policy") if rows else ""


def _how(plan: SparePlan) -> str:
    texts = [
        *(f"{doubt}." for doubt in dict.fromkeys(plan.doubts())),
        *(f"Without {policy}: {why}" for policy, why in plan.refused.items()),
    ]
    return "".join(f"<p>{escape(text)}</p>" for text in texts)
