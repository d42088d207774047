"""The page of each policy and their list, from what the runs left and what the sources say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from measured.grid import (
    LOADS,
    METRICS,
    NEEDS,
    QUESTIONS,
    SETTINGS,
    WRITES,
    Question,
    cells,
)
from measured.picture import Line, forest
from measured.runs import KEPT, ROOT, Policy, baseline, policies, setting
from ssdlab.results.intervals import Ratio, paired_ratio

FOLDER = KEPT.parent
HEAD = "<!-- Written by `make policies`. -->\n\n"
DRAWN = ("waf", "write_mean_ns", "write_p99_9_ns", "read_mean_ns", "read_p99_9_ns")
WEAR = "erase_spread"
USUAL = {
    "gc.victim": "victim policy, victim selection",
    "gc.trigger": "trigger, threshold, watermark, background and idle-time collection",
    "gc.concurrency": "concurrency rule, parallel garbage collection",
    "gc.amount": "amount of collection, granularity",
    "gc.path": "copy path, copy-back, internal data move",
    "gc.blocking": "blocking of the host, interference of collection",
    "alloc.placement": "placement, page allocation, striping",
    "alloc.separation": "separation of hot and cold data, data placement, streams",
    "sched.order": "order, scheduling, priority of reads",
    "raid.redirect": "redirection of writes, parity, RAID",
    "wear": "wear levelling, wear leveling, endurance",
}
"""What people call a question: found by the search of the site."""


@cache
def measured_values() -> dict[str, Any]:
    """What the runs left."""
    values: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return values


def file_of(policy: Policy) -> str:
    """The page of a policy."""
    return f"{policy.question.key.rpartition('.')[2]}-{policy.name}.md"


def source_of(policy: Policy) -> str | None:
    """The head of the file in which the kernel decides it."""
    if policy.question.plug is None:
        return None
    module = ROOT / policy.question.plug / "mod.rs"
    names = re.findall(r"^ +(\w+) [A-Z]\w*,$", module.read_text(encoding="utf-8"), re.MULTILINE)
    for name in names:
        file = module.with_name(f"{name}.rs")
        if not file.exists():
            continue
        text = file.read_text(encoding="utf-8")
        if re.search(rf'name: "{re.escape(policy.name)}"', text):
            return file.relative_to(ROOT).as_posix()
    raise SystemExit(f"{policy.question.key} {policy.name}: no file has it")


PARTS = re.compile(r"(?=^(?:Paper|Source|Where it is silent|Decided|Index)\b)", re.MULTILINE)


def head_of(file: str) -> list[str]:
    """The paragraphs at the head of a source file; one for each thing that it tells."""
    lines = re.match(r"(?://![^\n]*\n)+", (ROOT / file).read_text(encoding="utf-8"))
    assert lines, f"{file}: no head"
    text = re.sub(r"^//! ?", "", lines[0], flags=re.MULTILINE)
    paragraphs = [part for block in text.split("\n\n") for part in PARTS.split(block)]
    return [_plain(" ".join(part.split())) for part in paragraphs if part.strip()]


def _plain(text: str) -> str:
    """Text of a source that Markdown must not read as its own."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([<*_\[\]])", r"\\\1", p) for p in parts)


def ratios(policy: Policy, key: str, name: str = "") -> dict[str, Ratio | None]:
    """Of a policy to the default of its question, in the cells that are judged."""
    rows = measured_values()["questions"][policy.question.key]
    own_rows, base = rows[policy.name], rows[name or baseline(policy)]
    ratio_of_cell: dict[str, Ratio | None] = {}
    for cell in cells():
        own_row, base_row = own_rows[cell], base[cell]
        if any("refused" in side or side["invalid"] for side in (own_row, base_row)):
            continue
        if None in own_row[key] or None in base_row[key]:
            continue
        ratio_of_cell[cell] = paired_ratio(own_row[key], base_row[key])
    return ratio_of_cell


def drawn(question: Question) -> str:
    """The number that the picture of the default is of: what the question is about."""
    if question.key == "wear":
        return WEAR
    about_time = {"gc.concurrency", "gc.path", "gc.blocking", "sched.order", "alloc.placement"}
    return "write_mean_ns" if question.key in about_time else "waf"


def metrics_of(question: Question) -> tuple[str, ...]:
    """The numbers that are judged; erases only where they are levelled."""
    return (*DRAWN, WEAR) if question.key == "wear" else DRAWN


def shown(ratio: Ratio | None) -> str:
    """A ratio of the table: bold where lower, bracketed where nothing can be told."""
    if ratio is None:
        return "–"
    text = f"{ratio.ratio:.3f}"
    if ratio.order == "lower":
        return f"**{text}**"
    return text if ratio.order == "higher" else f"({text})"


def bullet(policy: Policy, key: str) -> str:
    """One number: where the policy is lowest of all, and where it differs from the default."""
    question = policy.question
    known_ratios = {cell: r for cell, r in ratios(policy, key).items() if r is not None}
    name = f"**{METRICS[key][0].upper()}{METRICS[key][1:]}**"
    if not known_ratios:
        return f"- {name}: no cell is judged."
    parts = []
    rivals_of_policy = rivals(policy)
    if rivals_of_policy:
        cells_won = _wins(policy, key)
        count = len(cells_won) or "none"
        parts.append(
            f"lowest of the {len(rivals_of_policy) + 1} policies in {count}{_some(cells_won)}"
        )
    if policy.name != question.default:
        parts += [
            f"compared with `{question.default}`, {text}" for text in [_compared(known_ratios)]
        ]
    return f"- {name}, of {len(known_ratios)} cells: {'; '.join(parts)}."


def _compared(ratio_of_cell: dict[str, Ratio]) -> str:
    """In how many cells a number is lower and higher, and by how much at most."""
    parts = []
    for word, pick in (("lower", min), ("higher", max)):
        side = {cell: r for cell, r in ratio_of_cell.items() if r.order == word}
        if side:
            extreme = pick(side, key=lambda cell: ratio_of_cell[cell].ratio)
            parts.append(f"{word} in {len(side)}, most in *{extreme}* ({_factor(side[extreme])})")
    equal = sum(r.order == "equal" for r in ratio_of_cell.values())
    undecided_count = sum(
        r.order not in ("equal", "lower", "higher") for r in ratio_of_cell.values()
    )
    parts += [f"equal in {equal}"] * bool(equal)
    parts += [f"indistinguishable in {undecided_count}"] * bool(undecided_count)
    return ", ".join(parts)


def _factor(ratio: Ratio) -> str:
    ends = "" if ratio.low is None else f" [{ratio.low:.3f}, {ratio.high:.3f}]"
    return f"{ratio.ratio:.3f}{ends}"


def verdict(policy: Policy) -> str:
    """Compare a policy with its default in one sentence: by the kind of writes, and by the load."""
    if policy.name == policy.question.default:
        return "The default, with which the others are compared."
    by_writes = {f"{kind} writes": f"{kind}," for kind in WRITES}
    statements = [_grouped(policy, "waf", by_writes)]
    if policy.question.key == "wear":
        statements.insert(0, _grouped(policy, WEAR, by_writes))
    statements += [_grouped(policy, key, LOAD_WORDS) for key in ("write_mean_ns", "read_mean_ns")]
    agreed = "; ".join(statement for statement in statements if statement)
    return f"Compared with `{policy.question.default}`: {agreed or 'no group of cells agrees'}."


LOAD_WORDS = {"a busy host": ", busy", "bursts": ", bursts"}
assert len(LOAD_WORDS) == len(LOADS)


def _grouped(policy: Policy, key: str, groups: dict[str, str]) -> str:
    """Where a number is lower, higher or equal in all cells of a group."""
    ratio_of_cell = ratios(policy, key)
    agreed: dict[str, list[str]] = {}
    for name, part in groups.items():
        orders = {r.order for cell, r in ratio_of_cell.items() if r is not None and part in cell}
        if len(orders) == 1:
            agreed.setdefault(orders.pop(), []).append(name)
    parts = []
    for order, word in (("lower", "lower"), ("higher", "higher"), ("equal", "the same")):
        if order in agreed:
            groups_of_order = agreed[order]
            place = (
                f"under all {len(groups)}"
                if len(groups_of_order) > 2
                else f"under {' and '.join(groups_of_order)}"
            )
            parts.append(f"{word} {place}{' kinds of writes' * (len(groups_of_order) > 2)}")
    return f"{METRICS[key]} is {' and '.join(parts)}" if parts else ""


def rivals(policy: Policy) -> list[Policy]:
    """The others of its question on the same drive: none if it needs another one."""
    policies_of_question = [
        candidate for candidate in policies() if candidate.question == policy.question
    ]
    comparable = [
        candidate
        for candidate in policies_of_question
        if baseline(candidate) == policy.question.default
    ]
    return (
        [candidate for candidate in comparable if candidate != policy]
        if policy in comparable
        else []
    )


def _some(names: list[str]) -> str:
    """The first few cells, in brackets; nothing of none."""
    ellipsis = "; ..." if len(names) > 3 else ""
    return f" ({'; '.join(f'*{name}*' for name in names[:3])}{ellipsis})" if names else ""


def _wins(policy: Policy, key: str) -> list[str]:
    """Cells in which no other policy is distinguishably lower, and at least one is higher."""
    ratios_of_rivals = [ratios(policy, key, rival.name) for rival in rivals(policy)]
    cells_won = []
    for cell in ratios(policy, key, policy.question.default):
        orders = {ratio.order for rows in ratios_of_rivals if (ratio := rows.get(cell)) is not None}
        if "lower" in orders and "higher" not in orders:
            cells_won.append(cell)
    return cells_won


def _short(reason: str) -> str:
    """The first words of a warning."""
    if "overloaded" in reason:
        return "the drive is overloaded"
    return re.split(r"[:;]", reason.removeprefix("--set: "))[0]


def not_judged(policy: Policy) -> list[str]:
    """Why cells are left out, each reason once."""
    rows = measured_values()["questions"][policy.question.key]
    reasons: dict[str, list[str]] = {}
    for side in dict.fromkeys((policy.name, baseline(policy))):
        for cell, row in rows[side].items():
            reason = row.get("refused") or row["invalid"]
            if reason:
                text = f"`{side}`: {_short(reason)}"
                reasons.setdefault(re.sub(r"\d[\d.,]*", "…", text), []).append(cell)
    count = len(cells())
    return [
        f"{text}, in {len(cells_of_reason)} of {count} cells"
        for text, cells_of_reason in sorted(reasons.items())
    ]


def page(policy: Policy) -> str:
    """What it is, its paper, when it wins, and the picture of the runs."""
    question, name = policy.question, policy.name
    lines = [f"# {name}: {question.title[0].lower()}{question.title[1:]}", ""]
    summary = policy.summary[0].upper() + policy.summary[1:].rstrip(".")
    role = "The default of" if name == question.default else "A policy of"
    key = f"`{question.key}`" if question.key != "wear" else "the table `wear`"
    lines += [f"{_plain(summary)}. {role} {key} ({USUAL[question.key]}).", ""]
    lines += ["```toml", *_toml(question, name), "```", ""]
    if policy.parameters:
        lines += ["| parameter | default | meaning |", "|---|---|---|"]
        for parameter in policy.parameters:
            description = _plain(parameter["doc"]).replace("|", "\\|")
            lines.append(f"| `{parameter['name']}` | `{parameter['default']}` | {description} |")
        lines.append("")
    lines += ["## Source", ""]
    file = source_of(policy)
    paragraphs = head_of(file) if file else [_plain(policy.source[0].upper() + policy.source[1:])]
    for paragraph in paragraphs:
        lines += [paragraph if paragraph.endswith(".") else f"{paragraph}.", ""]
    if file:
        lines += [f"Code: [`{Path(file).name}`](../../{file}).", ""]
    return "\n".join(lines + _measured(policy))


def _toml(question: Question, name: str) -> list[str]:
    """How a configuration chooses it."""
    keys = question.values.get(name, {question.key: name})
    [table] = {key.partition(".")[0] for key in keys}
    return [f"[{table}]", *(f"{k.partition('.')[2]} = {json.dumps(v)}" for k, v in keys.items())]


def _measured(policy: Policy) -> list[str]:
    question, name = policy.question, policy.name
    lines = ["## When it wins", "", verdict(policy), ""]
    lines += [*(bullet(policy, key) for key in metrics_of(question)), ""]
    if rivals(policy):
        lines += [
            "*Lowest*: no other policy is distinguishably lower, and at least one is higher.",
            "",
        ]
    identity = (question.key, name)
    if identity in SETTINGS:
        keys = json.dumps(setting(question, name), ensure_ascii=False)
        lines += [f"Run with `{keys}`: {SETTINGS[identity][1]}.", ""]
    if shared_keys := question.needs | NEEDS.get(identity, {}):
        shared_text = json.dumps(shared_keys, ensure_ascii=False)
        lines += [f"Both sides run with `{shared_text}`, which it cannot do without.", ""]
    if omissions := not_judged(policy):
        lines += [f"Not judged: {'; '.join(omissions)}.", ""]
    picture = f"pictures/{Path(file_of(policy)).stem}.svg"
    lines += [f"![{_alt(policy)}]({picture})", ""]
    if name != question.default:
        lines += _table(policy)
    lines += ["Drive, cells and what is compared: [policies](index.md#how-they-were-measured)."]
    return [*lines, ""]


def _alt(policy: Policy) -> str:
    if policy.name == policy.question.default:
        name = METRICS[drawn(policy.question)]
        return f"Ratios of {name} of the other policies to {policy.name}, by cell"
    return f"Ratios of {policy.name} to {policy.question.default} with 95 % intervals, by cell"


def _table(policy: Policy) -> list[str]:
    keys = metrics_of(policy.question)
    lines = [
        f"Ratios to `{policy.question.default}`: bold is lower;"
        " brackets: not distinguishable from 1.",
        "",
        "| cell | " + " | ".join(METRICS[key] for key in keys) + " |",
        "|---" * (len(keys) + 1) + "|",
    ]
    columns = [ratios(policy, key) for key in keys]
    judged = [cell for cell in cells() if any(cell in column for column in columns)]
    lines += [
        f"| {c} | " + " | ".join(shown(ratios_of_cell.get(c)) for ratios_of_cell in columns) + " |"
        for c in judged
    ]
    return [*lines, ""]


def picture(policy: Policy) -> str:
    """The ratios of a policy in all cells; of a default those of the others."""
    question = policy.question
    if policy.name != question.default:
        columns = {METRICS[key]: ratios(policy, key) for key in metrics_of(question)}
        rows = [cell for cell in cells() if any(cell in column for column in columns.values())]
        lines = [Line(c, [column.get(c) for column in columns.values()]) for c in rows]
        return forest(_alt(policy), f"ratio to {question.default}", list(columns), lines)
    rivals_drawn = [rival for rival in policies() if rival.question == question and rival != policy]
    key = drawn(question)
    by_name = {rival.name: ratios(rival, key) for rival in rivals_drawn}
    shown_cells = [cell for cell in cells() if cell.endswith("busy")]
    lines = [
        Line(name, [ratio_of_cell.get(c) for c in shown_cells])
        for name, ratio_of_cell in by_name.items()
    ]
    panels = [c.removesuffix(", busy") for c in shown_cells]
    return forest(_alt(policy), f"{METRICS[key]}, ratio to {policy.name}", panels, lines)


INDEX = """# Policies

Every decision of a drive is a question with several answers, and every answer has a page: what it
does, the paper it is from, and when it wins. `ssdlab list policies` lists those that are plugs,
with their parameters; all other keys are in the [reference](../reference/config.md).

{tables}
## How they were measured

{grid}

Each number is compared with that of the default of the question, paired by seed, and called lower
or higher only if the 95 % interval of the ratio excludes 1 ([statistics](../statistics.md)).
About one in twenty intervals excludes 1 by chance, so a single cell proves little. All numbers are
in `docs/policies/measured.json`; `make policies` repeats the runs, which have version {results} of
the results. The drive is small and the writes are synthetic: for your own traces, use `ssdlab try`
or `ssdlab compare`.
"""


def index() -> str:
    """All questions with their policies."""
    from measured import grid

    assert grid.__doc__
    paragraphs = grid.__doc__.strip().split("\n\n", 1)[1]
    tables = []
    for question in QUESTIONS:
        wear = "`wear.dynamic`, `wear.static_threshold`"
        key = wear if question.key == "wear" else f"`{question.key}`"
        tables += [f"## {question.title}", "", f"{key}: {USUAL[question.key]}.", ""]
        tables += ["| policy | what it does |", "|---|---|"]
        for policy in policies():
            if policy.question == question:
                default = " (default)" if policy.name == question.default else ""
                tables.append(
                    f"| [{policy.name}]({file_of(policy)}){default} | {_plain(policy.summary)} |"
                )
        tables.append("")
    text = re.sub(r"\(`Question`\s+has the others that are held\), ", "", paragraphs)
    text = re.sub(r" \(`NEEDS`\)|`SETTINGS`, ", "", text)
    text = text.replace("but for those in where", "except where")
    return INDEX.format(tables="\n".join(tables), grid=text, results=measured_values()["results"])


def texts() -> Iterator[tuple[Path, str]]:
    """Every file with what belongs in it."""
    yield FOLDER / "index.md", HEAD + index()
    for policy in policies():
        yield FOLDER / file_of(policy), HEAD + page(policy)
        yield FOLDER / f"pictures/{Path(file_of(policy)).stem}.svg", picture(policy)


def stale() -> list[str]:
    """Files that are not what they should be, and pages of no policy."""
    expected = dict(texts())
    existing = {*FOLDER.glob("*.md"), *FOLDER.glob("pictures/*")}
    different = {
        path
        for path, text in expected.items()
        if path not in existing or path.read_text(encoding="utf-8") != text
    }
    return sorted(
        path.relative_to(ROOT).as_posix() for path in different | (existing - set(expected))
    )


def write_all() -> None:
    """Write every page and picture, and remove those of no policy."""
    expected = dict(texts())
    for path in {*FOLDER.glob("*.md"), *FOLDER.glob("pictures/*")} - set(expected):
        path.unlink()
    for path, text in expected.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
