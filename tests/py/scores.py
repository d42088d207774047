"""Scores of papers, computed from committed results without the scoring of the product.

`published_pairs` reads pairs of published gains and ours, from `docs/papers/NAME.json` if there is
one, and else from the tables of the page; `scored` counts them. The rules are those that the pages
state: within 3 % of 1 is no change, and near is a logarithm within a factor of two.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, TypeAlias

Pairs: TypeAlias = "list[tuple[float, float]]"
LABEL = re.compile(r"(improvement.*|gamma|reduction.*), published")


def factor(value: float | None, neutral: float) -> float | None:
    """A gain as a factor: given in percent of the baseline (neutral 0), or as a factor (1)."""
    if value is None or math.isnan(value):
        return None
    if neutral == 1:
        return value if value > 0 else None
    return 100 / (100 - value) if value < 100 else None


def of_json(values: dict[str, Any]) -> dict[str, Pairs]:
    """The pairs in the JSON of a paper, by source."""
    if "gains" in values:
        return {"synthetic": [(gain["published"], gain["ours"]) for gain in values["gains"]]}
    found: dict[str, Pairs] = {}
    for row in (row for table in values["tables"] for row in table["rows"]):
        if row["neutral"] is None:
            continue
        for source, ours in row["ours"].items():
            for pair in zip(row["published"], ours, strict=True):
                a, b = (factor(value, row["neutral"]) for value in pair)
                if a is not None and b is not None:
                    found.setdefault(source, []).append((a, b))
    return found


def number(cell: str) -> float | None:
    """A printed number, without the word after it."""
    text = cell.split(" (")[0].replace("−", "-").replace(",", "").strip()
    return None if text == "–" else float(text)


def of_page(text: str) -> dict[str, Pairs]:
    """The pairs in the tables of a page, by source."""
    lines = re.findall(r"^\| \w+ over stock: [^|]+\| ([+-][\d.]+) % \| ([+-][\d.]+) %", text, re.M)
    if lines:
        return {"synthetic": [(1 + float(a) / 100, 1 + float(b) / 100) for a, b in lines]}
    found: dict[str, Pairs] = {}
    for section in text[text.index("\n## Tables\n") :].split("\n### ")[1:]:
        cells = [line[2:-2].split(" | ") for line in section.splitlines() if line[:2] == "| "]
        rows = {label: values for label, *values in cells}
        for label in filter(None, map(LABEL.fullmatch, rows)):
            neutral = 1.0 if label[1] == "gamma" else 0.0
            for source in ("synthetic", "recorded"):
                ours = rows.get(f"{label[1]}, {source}", [])
                for pair in zip(rows[label[0]], ours, strict=False):
                    a, b = (factor(number(cell), neutral) for cell in pair)
                    if a is not None and b is not None:
                        found.setdefault(source, []).append((a, b))
    return found


def published_pairs(folder: Path, name: str) -> dict[str, Pairs]:
    """Published gains and ours of a paper, by source."""
    file = folder / f"{name}.json"
    if file.exists():
        return of_json(json.loads(file.read_text(encoding="utf-8")))
    return of_page((folder / f"{name}.md").read_text(encoding="utf-8"))


def sign(gain: float) -> int:
    """Better, worse (-1) or no change."""
    return (gain > 1.03 * (1 + 1e-12)) - (gain * 1.03 * (1 + 1e-12) < 1)


def near(published: float, ours: float) -> bool:
    """Whether a gain is near the published one."""
    if sign(published) == 0:
        return sign(ours) == 0
    return 0.5 - 1e-9 <= math.log(ours) / math.log(published) <= 2 + 1e-9


def ranks(values: list[float]) -> list[float]:
    """Ranks, equal values sharing their mean."""
    return [sum(b < a for b in values) + (sum(b == a for b in values) - 1) / 2 for a in values]


def scored(pairs: Pairs) -> dict[str, float]:
    """Counts, typical factor and rank correlation of our gains."""
    logs = [abs(math.log(ours / published)) for published, ours in pairs]
    a, b = (ranks([pair[i] for pair in pairs]) for i in (0, 1))
    mean = (len(pairs) - 1) / 2
    spread = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return {
        "cells": len(pairs),
        "direction": sum(sign(p) == sign(o) for p, o in pairs),
        "near": sum(near(p, o) for p, o in pairs),
        "error": math.exp(sum(logs) / len(logs)),
        "rho": sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True)) / spread,
    }
