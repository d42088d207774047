"""Every score on the pages of papers follows from their results by the rules that they state."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from running import ROOT
from scores import Pairs, factor, near, of_json, published_pairs, ranks, scored, sign

FOLDER = ROOT / "docs/papers"
PAPERS = ("adaptive-channel", "deferred-gc-raid", "invalidation-rate", "noc-copyback")
ROW = re.compile(r"\| (?:\*\*)?([\w, ]+?)(?:\*\*)? \| (\d+) of (\d+) \| (\S+)(?: of \d+)? \|(.*)")


def printed(name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """The table of the scores of a page: by source and prediction."""
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    table = page[page.index("| prediction |") :].split("\n\n")[0]
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for label, direction, cells, near_, rest in ROW.findall(table):
        if label.startswith("here, "):
            source = label.split()[1]
        prediction = "here" if label.startswith("here, ") else label
        numbers = [cell.strip().replace("−", "-") for cell in rest.split("|")[:2]]
        found.setdefault(source, {})[prediction] = (cells, direction, near_, *numbers)
    return found


def alike(pairs: Pairs) -> float:
    return math.exp(sum(math.log(published) for published, _ in pairs) / len(pairs))


@pytest.mark.parametrize("name", PAPERS)
def test_scores_on_the_page(name: str) -> None:
    pairs = published_pairs(FOLDER, name)
    table = printed(name)
    assert table.keys() == pairs.keys()
    for source, lines in table.items():
        ours, mean = pairs[source], alike(pairs[source])
        guesses = {
            "here": ours,
            "no change": [(published, 1.0) for published, _ in ours],
            "all alike": [(published, mean) for published, _ in ours],
        }
        for prediction, guessed in guesses.items():
            cells, direction, close, error, rho = lines[prediction]
            own = scored(guessed) if prediction == "here" else counted(guessed)
            assert (int(cells), int(direction), int(close)) == (
                own["cells"],
                own["direction"],
                own["near"],
            )
            # A page prints four digits of its improvements, which are few near 100 %.
            assert float(error) == pytest.approx(own["error"], rel=5e-3)
            assert prediction != "here" or float(rho) == pytest.approx(own["rho"], abs=0.02)
        better = sum(sign(published) == 1 for published, _ in ours)
        assert lines["always better"][:2] == (str(len(ours)), str(better))


def counted(pairs: Pairs) -> dict[str, float]:
    """As `scored`, of guesses that have no order."""
    logs = [abs(math.log(guess / published)) for published, guess in pairs]
    return {
        "cells": len(pairs),
        "direction": sum(sign(a) == sign(b) for a, b in pairs),
        "near": sum(near(a, b) for a, b in pairs),
        "error": math.exp(sum(logs) / len(logs)),
    }


def test_scores_of_remapcom() -> None:
    page = (FOLDER / "remapcom.md").read_text(encoding="utf-8")
    pairs = published_pairs(FOLDER, "remapcom")["synthetic"]
    mean = alike(pairs)
    for label, guessed in (
        ("ssdlab", pairs),
        ("no change", [(published, 1.0) for published, _ in pairs]),
        ("all alike", [(published, mean) for published, _ in pairs]),
    ):
        row = re.search(rf"\| {label} \| (\d+) of (\d+) \| (\d+) of \d+ \| (\S+) \|", page)
        assert row is not None, label
        own = counted(guessed)
        assert [int(row[i]) for i in (1, 2, 3)] == [own["direction"], own["cells"], own["near"]]
        assert float(row[4]) == pytest.approx(own["error"], abs=0.006)
    rho = re.search(r"Rank correlation of the gains: (\S+)\. ", page)
    assert rho is not None
    assert float(rho[1].replace("−", "-")) == pytest.approx(scored(pairs)["rho"], abs=0.02)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_results_are_small_and_sorted(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    values = json.loads(text)
    assert text == json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    assert len(text) < 1 << 20


def test_the_rules() -> None:
    assert [sign(gain) for gain in (1.03, 1.031, 1 / 1.03, 0.97, 1.0)] == [0, 1, 0, -1, 0]
    assert near(1.44, 1.2)
    assert not near(1.44, 1.19)
    assert near(1.2, 1.44)
    assert not near(1.2, 0.8)
    assert near(1.01, 1.02)
    assert not near(1.01, 1.2)
    assert factor(50.0, 0) == 2
    assert factor(0.5, 1) == 0.5
    assert factor(100.0, 0) is factor(-1.0, 1) is factor(None, 0) is None
    assert ranks([3.0, 1.0, 3.0]) == [1.5, 0.0, 1.5]
    rows = [
        {"neutral": 0.0, "published": [50.0, None], "ours": {"synthetic": [20.0, 1.0]}},
        {"neutral": None, "published": [9.0, 9.0], "ours": {"synthetic": [8.0, 8.0]}},
    ]
    assert of_json({"tables": [{"rows": rows}]}) == {"synthetic": [(2.0, 1.25)]}
    assert of_json({"gains": [{"published": 1.2, "ours": 1.1}]}) == {"synthetic": [(1.2, 1.1)]}
