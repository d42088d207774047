"""First screens of `try` and `plan`: at most twelve lines of 80 columns, whatever they say."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from ssdlab.results.lifetime import Interval
from ssdlab.results.prediction import ORDERS, Ranking
from ssdlab.results.spare_plan import Outcome, Step
from ssdlab.results.text import CUT, first_screen
from test_plan import an_answer
from test_try_answer import CLEAR, COLUMNS, a_trial, certain, run, timed

DRIVE = "samsung-pm9a3 (960 GB, 16 dies, 686 superblocks, OP 15.1 %)"
HEADS = {"mysql": DRIVE, 20 * "trace of a week, ": f"{DRIVE}, changed"}
FILES = ("my.toml", "a-folder-with-a-long-name/" * 3 + "my.toml")
CONTRADICTION = (
    "{}: user_gb = 720, but the keys of [device] give 961 GB: there are no years until one of them"
    " is corrected"
)
DOUBT = (
    "the trace touches so little that an erase unit of the trial has 12 pages, and at least 32 are"
    " needed: use a trace that touches 75.0 MiB or more"
)
OVERLOAD = (
    "the recorded arrivals overload the drive (12,783 requests pending, busiest 23.2 %):"
    " --pace closed, or --set workload.time_scale=4"
)
POLICIES = ("greedy", "sepbit", "a-policy-whose-label-" + 3 * "has-thirty-further-characters-")
OTHER = {
    order: Ranking(certain(**dict(zip(POLICIES, means, strict=True))))
    for order, means in zip(ORDERS, ((2.4, 1.9, 2.7), (4.1, 3.8, 3.1)), strict=True)
}
"""The winner depends on the order of updates, and has a long label under one of them."""


def assert_fits(screen: list[str], rows: list[tuple[str, str]]) -> bool:
    """Whether something was cut; every row still has a line."""
    assert len(screen) <= 12, "\n".join(screen)
    assert max(map(len, screen)) <= 80, "\n".join(screen)
    shown = [line[:12].strip() for line in screen[1:]]
    titles = [title for title, text in rows if text]
    assert [title for title in titles if title not in shown] == []
    return any(line.endswith(CUT) for line in screen)


@pytest.mark.parametrize("detailed", [False, True])
def test_the_first_screen_of_try(detailed: bool) -> None:
    cuts: dict[str, list[bool]] = {name: [] for name in HEADS}
    unsettled = {f"{label}, recorded": "unsettled" for label in POLICIES}
    for (name, drive), file, doubts, overload, options, (rankings, unpredicted) in product(
        HEADS.items(),
        (None, *FILES),
        ((), (DOUBT,)),
        ("", OVERLOAD),
        ("", f" --set workload.columns={COLUMNS}", 90 * "x"),
        (({order: Ranking(CLEAR) for order in ORDERS}, {}), (OTHER, unsettled)),
    ):
        labels = [*rankings["recorded"].predicted]
        contradiction = "" if file is None else CONTRADICTION.format(file)
        form = a_trial().form
        done = a_trial(
            name=name,
            drive=drive,
            form=replace(form, spares=dict.fromkeys(labels, form.spares["greedy"])),
            rankings=rankings,
            doubts=doubts,
            lifetime=replace(a_trial().lifetime, contradiction=contradiction),
            latency=timed({label: {1: run(1e6), 2: run(1.2e6)} for label in labels}),
            latency_doubts=dict.fromkeys(labels, overload) if overload else {},
            unpredicted=unpredicted,
            options=options,
        )
        *rows, _ = done.rows(detailed=detailed)
        is_cut = assert_fits(done.screen(detailed=detailed), rows)
        if is_cut:
            # What is cut is told whole in the details.
            details = " ".join("\n".join(done.details()).split())
            assert all(text in details for text in (contradiction, *doubts, overload))
        cuts[name].append(is_cut)
    short, long = cuts.values()
    assert not all(short)
    assert any(long)


def test_the_first_screen_of_plan() -> None:
    plain, cuts = an_answer(), []
    for name, file, doubt, drive_file, options, limits, policy in product(
        ("t", 20 * "trace of a week, "),
        (None, *FILES),
        ("", DOUBT, OVERLOAD),
        ("runs/plan/drive.toml", 4 * "a-folder-with-a-long-name/" + "drive.toml"),
        ("", f" --set workload.columns={COLUMNS}", 90 * "x"),
        ((9, 0.1), (1, 50)),
        POLICIES,
    ):
        contradiction = "" if file is None else CONTRADICTION.format(file)
        values = {
            "waf": Interval(1.8, 2.4),
            "years": Interval(5.4, 6.6),
            "p99_9": Interval(2.1e6, 2.3e6),
        }
        done = replace(
            plain,
            name=name,
            doubt=doubt,
            drive_file=drive_file,
            options=options,
            lifetime=replace(plain.lifetime, contradiction=contradiction),
            steps=(Step(0.2, 2304 * 10**9, (Outcome(policy, values),)),),
            bounds=tuple(
                replace(bound, limit=limits[bound.name == "years"] if bound.name != "p99_9" else 1)
                for bound in plain.bounds
            ),
        )
        *rows, _ = done.rows()
        cuts.append(assert_fits(done.screen(), rows))
    assert 0 < sum(cuts) < len(cuts)


def test_the_longest_text_loses_its_end_and_a_command_is_said_in_words() -> None:
    line = 60 * "w" + " "
    rows = [("a", 2 * line), ("b", 6 * line), ("none", ""), ("c", 4 * line)]
    assert first_screen("head", rows[:1], "ssdlab try t.csv", "the same") == [
        "head",
        f"a           {60 * 'w'}",
        f"            {60 * 'w'}",
        "next        ssdlab try t.csv",
    ]
    screen = first_screen("head", rows, "ssdlab try " + 80 * "x", "the same")
    assert [line[:5].strip() for line in screen] == [
        *("head", "a", "", "b", "", "", "", "c", "", "", "", "next")
    ]
    assert screen[-1] == "next        the same"
    assert screen[6].endswith(CUT)
    assert [line for line in screen if line.endswith(CUT)] == [screen[6]]
    # Of equally long texts the answer, which comes first, is kept.
    several = [(title, 2 * line) for title in ("answer", *"bcdef")]
    kept = first_screen("head", several, "ssdlab try t.csv", "the same")
    assert [line[:6].strip() for line in kept[:4]] == ["head", "answer", "", "b"]
    assert [line[0] for line in kept if line.endswith(CUT)] == ["e", "f"]
    # So is a command that is too wide for a line, however much room there is.
    assert first_screen("head", rows[:1], "ssdlab try " + 80 * "x", "the same")[-1] == screen[-1]
    (wide,) = first_screen(100 * "x", [], "", "")
    assert wide == 76 * "x" + CUT
