"""What the first screen of `ssdlab try` says, and what it leaves out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import ssdlab
from running import ssdlab_command
from ssdlab.config.capacity import contradiction
from ssdlab.config.endurance import Endurance
from ssdlab.config.resolve import DEFAULT_DRIVE, options
from ssdlab.display.argument import on_the_command_line, register_option
from ssdlab.html import trial_page
from ssdlab.results.comparison import Comparison
from ssdlab.results.lifetime import Interval, Lifetime
from ssdlab.results.prediction import ORDERS, Predicted, Ranking, verdict
from ssdlab.results.trial import Form, Spare, Trial
from ssdlab.results.trial_answer import answer
from ssdlab.running import timed_doubts, trial, trial_plan
from ssdlab.running.fitted import totals

COLUMNS = "time=1:us,op=2,offset=3:bytes,size=4:bytes"


def certain(**values: float) -> dict[str, Predicted]:
    return {label: Predicted((value, value), value) for label, value in values.items()}


def said(recorded: Mapping[str, Predicted], independent: Mapping[str, Predicted]) -> str:
    rankings = dict(zip(ORDERS, (Ranking(recorded), Ranking(independent)), strict=True))
    return answer(verdict(rankings), rankings, "greedy")


CLEAR = certain(greedy=3.0, sepbit=2.4, fifo=4.0)
TIED = {label: Predicted((7.4, 7.5), 7.4 + at / 100) for at, label in enumerate(CLEAR)}
"""No two policies can be distinguished."""


def test_a_tie_under_one_order_is_no_win_under_it() -> None:
    assert said(CLEAR, TIED) == (
        "as one application, sepbit writes least (20 % less than greedy); as many tenants, the"
        " policies cannot be distinguished"
    )
    assert said(TIED, CLEAR) == (
        "as one application, the policies cannot be distinguished; as many tenants, sepbit writes"
        " least (20 % less than greedy)"
    )
    some = {**TIED, "fifo": Predicted((9.0, 9.0), 9.0)}
    assert said(some, TIED) == (
        "as one application, greedy and sepbit cannot be distinguished; as many tenants, the"
        " policies cannot be distinguished"
    )
    assert said(some, some) == (
        "greedy and sepbit cannot be distinguished, as one application and as many tenants"
    )


def test_a_winner_under_both_orders_writes_less_by_a_whole_interval() -> None:
    both = " writes least, as one application and as many tenants"
    assert said(CLEAR, CLEAR) == f"sepbit{both} (20 % less than greedy)"
    assert said(CLEAR, certain(greedy=3.0, sepbit=2.7, fifo=4.0)) == (
        f"sepbit{both} (10 to 20 % less than greedy)"
    )
    assert said(CLEAR, certain(greedy=3.0, sepbit=2.99, fifo=4.0)) == (
        f"sepbit{both} (up to 20 % less than greedy)"
    )
    alone = certain(greedy=3.0, fifo=4.0)
    assert said(alone, alone) == (
        "no policy writes less than greedy, as one application and as many tenants"
    )
    assert said(CLEAR, certain(greedy=3.0, sepbit=3.4, fifo=2.0)) == (
        "one application: sepbit; many tenants: fifo: no policy wins under both orders of updates"
    )


def test_all_of_a_tie_write_less_than_the_baseline() -> None:
    tied = {"greedy": Predicted((4.0, 4.0), 4.0), "a": Predicted((3.0, 3.2), 3.1)}
    tied["b"] = Predicted((3.2, 3.0), 3.1)
    tied = {label: replace(one, values=one.values * 5) for label, one in tied.items()}
    text = "a and b cannot be distinguished, as one application and as many tenants"
    # Ratios of 0.75 and 0.8, five each: 0.7746 within a factor of exp(2.262 * 0.0340 / 10 ** 0.5).
    assert said(tied, tied) == f"{text} (21 to 24 % less than greedy)"
    near = {**tied, "b": Predicted((2.5, 4.5) * 5, 3.5)}
    assert said(near, near) == text


def test_a_policy_that_another_certainly_beats_is_in_no_tie() -> None:
    # The interval of the lowest mean contains all others, of which one beats the baseline.
    wide = Predicted((3.4, 3.41), 3.4, 0.4)
    middle, base = Predicted((3.9, 3.91), 3.9), Predicted((4.5, 4.51), 4.5)
    ranking = Ranking({"greedy": base, "cost-benefit": wide, "d-choices": middle})
    assert ranking.best == ("cost-benefit", "d-choices")
    rankings = dict.fromkeys(ORDERS, ranking)
    text = answer(verdict(rankings), rankings, "greedy")
    assert text.startswith("cost-benefit and d-choices cannot be distinguished")


def test_of_equal_policies_the_baseline_is_named() -> None:
    tied = {**CLEAR, "greedy": Predicted((2.4, 2.5), 2.45), "sepbit": Predicted((2.4, 2.4), 2.4)}
    done = a_trial(rankings={order: Ranking(tied) for order in ORDERS})
    assert done.named[0] == "greedy"
    assert row(done, "answer").startswith("greedy and sepbit cannot be distinguished")


def test_a_trace_that_is_repeated_tells_no_small_differences() -> None:
    near = certain(greedy=3.0, sepbit=2.95, fifo=4.0)
    close = {order: Ranking(near) for order in ORDERS}
    assert close["recorded"].lead == pytest.approx(3.0 / 2.95 - 1)
    short = {"passes": 5, "overwrites": 3.3}
    assert row(a_trial(rankings=close, **short), "confidence") == (
        "medium: a trace that writes a page 3.3 times and is repeated does not tell differences"
        " below 5 %"
    )
    assert row(a_trial(rankings=close), "confidence").startswith("high")
    assert row(a_trial(rankings=close, passes=5, overwrites=10.0), "confidence").startswith("high")
    assert row(a_trial(**short), "confidence").startswith("high")


def test_there_are_no_years_at_rates_that_no_die_programs() -> None:
    rated = Endurance(1.0, "rated", 5.0)
    fast = a_trial(lifetime=Lifetime(rated, 2e12, 1.9e12, 1e15, "", 1e14))
    assert row(fast, "years") == (
        "none: the trace writes 11.6 GB/s, and the dies program 1.16 GB/s: is its unit of time"
        " right?"
    )
    assert row(fast, "spare") == ""


def test_many_that_are_tied_are_counted() -> None:
    labels = ("greedy", "a", "b", "c", "d")
    tied = {label: Predicted((7.4, 7.5), 7.4) for label in labels}
    tied["worst"] = Predicted((9.0, 9.0), 9.0)
    assert said(tied, tied).startswith("greedy, a and 3 others cannot be distinguished, as one")


def run(p99_9: float | None, p99_99: float | None = None) -> Any:  # noqa: ANN401
    percentiles = SimpleNamespace(p99_9=p99_9, p99_99=p99_99, max=5e6)
    device = SimpleNamespace(utilisation=SimpleNamespace(chip=(0.4,), channel=(0.1,)))
    latency = SimpleNamespace(write=percentiles, read=SimpleNamespace(p99_9=None))
    return SimpleNamespace(latency=latency, device=device, config={"host.mode": "open"})


class TimedComparison(Comparison):
    """Timed runs whose numbers are their labels."""

    def summary(self) -> str:
        return f"latencies of {', '.join(self.reports)}"


def timed(by_seed: dict[str, dict[int, Any]]) -> TimedComparison:
    return TimedComparison({label: runs[1] for label, runs in by_seed.items()}, repetitions=by_seed)


def a_trial(**changes: object) -> Trial:
    """A trial without any run."""
    by_seed = {1: run(1e6), 2: run(1.2e6)}
    values: dict[str, object] = {
        "name": "t",
        "trace": "t 1.csv",
        "drive_name": "my.toml",
        "drive": "mine",
        "read": "read",
        "form": Form(1, 1, 1, 1, 1, dict.fromkeys(CLEAR, Spare(None, None))),
        "rankings": {order: Ranking(CLEAR) for order in ORDERS},
        "doubts": (),
        "lifetime": Lifetime(Endurance(1.0, "rated", 5.0), 2e12, 1.9e12, 1e12),
        "latency": timed(dict.fromkeys(CLEAR, by_seed)),
        **changes,
    }
    return Trial(**values)  # type: ignore[arg-type]


def row(done: Trial, title: str, *, detailed: bool = False) -> str:
    return dict(done.rows(detailed=detailed))[title]


def test_latency_has_its_interval_and_its_order_of_updates() -> None:
    # Student's t of two values 0.1 ms apart: 12.706 * 0.05 ms.
    by_seed = {1: run(1e6), 2: run(1.1e6)}
    done = a_trial(latency=timed(dict.fromkeys(CLEAR, by_seed)))
    assert row(done, "write p99.9") == "sepbit 1.05 ms +- 635 us, as one application"
    # With 0.2 ms between them the interval would be wider than the mean.
    text = "sepbit undecided (1.00 ms to 1.20 ms in 2 seeds), as one application"
    assert row(a_trial(), "write p99.9") == text
    assert row(a_trial(), "read p99.9") == ""


def test_an_interrupt_after_one_seed_leaves_no_latency() -> None:
    of_one = timed({label: {1: run(1e6)} for label in CLEAR})
    assert row(a_trial(latency=of_one), "write p99.9") == ""


def test_the_details_name_what_is_extrapolated_too_far_but_cannot_win() -> None:
    # 2.9 with half the pages, so 10 % above the drive at 3.2: even 2.6 is more than 2.4.
    loser = {**CLEAR, "fifo": Predicted((3.0, 3.0), 2.8)}
    done = a_trial(rankings={order: Ranking(loser) for order in ORDERS})
    assert done.verdict is not None
    assert done.verdict.decided
    text = (
        "the size of erase units changes its write amplification by 6.25 %, but it writes no less"
    )
    details = " ".join("\n".join(done.details()).split())
    for order in ORDERS:
        assert f" - fifo, as {ORDERS[order]}: {text} than the best in any case" in details
        assert f"fifo, as {ORDERS[order]}: {text}" in trial_page._method_text(done)
    assert not [*a_trial().set_aside()]
    # What may win has a doubt of its own.
    unclear = {**CLEAR, "fifo": Predicted((2.5, 2.5), 2.3)}
    assert [*Ranking(unclear).undecided] == ["fifo"]
    assert not [*a_trial(rankings={order: Ranking(unclear) for order in ORDERS}).set_aside()]


def test_no_gain_over_a_baseline_that_is_unclear() -> None:
    unclear = {**CLEAR, "greedy": Predicted((5.0, 5.0), 6.0)}
    assert said(unclear, unclear) == ("sepbit writes least, as one application and as many tenants")


def test_without_a_verdict_there_is_no_latency() -> None:
    done = a_trial(doubts=("too small",))
    assert done.confidence == "none"
    assert row(done, "write p99.9") == ""
    assert not any("p99.9" in line for line in done.screen())


def test_the_next_command_has_the_options_of_this_one() -> None:
    with on_the_command_line():
        register_option("workload.columns", "--columns")
        register_option("workload.sort", "--sort")
        given = {"workload.columns": COLUMNS, "workload.sort": True, "gc.window": "8"}
        words = options(given)
    assert words == f" --columns {COLUMNS} --sort --set gc.window=8"
    done = a_trial(options=words)
    command = f"ssdlab try 't 1.csv' --drive my.toml{words}"
    assert row(done, "next") == f"{command} --details"
    # The details are there: what is left is the over-provisioning that the warranty takes.
    plan = f"ssdlab plan 't 1.csv' --drive my.toml{words} --years 5"
    assert row(done, "next", detailed=True) == plan
    assert " ".join(plan.split()) in " ".join(done.summary().replace("\\\n", "").split())
    assert "--details" not in done.summary()
    lasting = replace(done, lifetime=replace(done.lifetime, daily_bytes=1.0))
    assert row(lasting, "next", detailed=True) == plan
    doubt = "it overloads: --pace closed"
    overloaded = replace(done, latency_doubts=dict.fromkeys(CLEAR, doubt))
    assert row(overloaded, "next", detailed=True) == f"{command} --pace closed"
    # A command that takes too many lines is described in words.
    long = replace(
        done, drive=10 * "a long name ", options=10 * f" --set workload.columns={COLUMNS}"
    )
    assert long.screen()[-1] == "next        the same command with --details"
    assert len(long.screen()) <= 12
    stopped = replace(long, interrupted=True)
    assert stopped.screen()[-1] == "next        the same command again"
    again = replace(stopped, options=f"{long.options} --out t --force")
    assert again.screen()[-1] == "next        the same command again, with --force"
    other = replace(stopped, remedy=f"ssdlab try {'long/' * 20}t.csv --drive my.toml{long.options}")
    assert "the same command" not in "\n".join(other.screen())
    assert shlex.split(row(done, "next"))[2] == "t 1.csv"


@pytest.mark.parametrize("detailed", [False, True])
def test_every_first_screen_has_a_next_command(detailed: bool) -> None:
    about = "ssdlab trace info 't 1.csv'"
    unrated = Lifetime(Endurance(None, "unknown", None, "`waf`"), 2e12, 1.9e12, 1.9e12)
    nothing = {order: Ranking({}) for order in ORDERS}
    details = "ssdlab try 't 1.csv' --drive my.toml --details"
    plan = "ssdlab plan 't 1.csv' --drive my.toml --years 5"
    # The trial, the command on its first screen, and that beside the details.
    cases: list[tuple[dict[str, object], str, str]] = [
        ({"doubts": ("greedy has not settled",)}, details, about),
        ({"doubts": ("no run could finish",), "rankings": nothing}, about, about),
        ({"lifetime": unrated}, details, about),
        ({"latency_doubts": dict.fromkeys(CLEAR, "a run could not finish")}, details, plan),
    ]
    for case, short, beside in cases:
        done = a_trial(about=about, **case)
        assert row(done, "next", detailed=detailed) == (beside if detailed else short)
        assert done.screen(detailed=detailed)[-1].startswith("next ")


def test_an_extrapolation_that_is_too_long_leads_to_copies_of_the_trace() -> None:
    def remedy(pages: int, interrupted: bool = False, share: float = 1.0, **share_of: float) -> str:
        plan: Any = SimpleNamespace(
            device=lambda _: SimpleNamespace(pages=pages),
            drive=ssdlab.load_config("drive:samsung-pm9a3"),
            drive_name="drive:samsung-pm9a3",
            policies=["greedy"],
            pages=28_672,
            trace="t.csv",
            given={},
            invalidated=share,
        )
        runs = trial.Runs(plan, cast("Any", None), False, 2, 30.0, interrupted=interrupted)
        return runs._remedy({"recorded": share_of, "independent": {}})

    # 112 MiB where 128 MiB are needed: 0.0571 / 0.05 copies.
    copies = "$(yes t.csv | head -n 2) --out t-2.ssdtrace"
    command = f"ssdlab trace merge {copies} && ssdlab try t-2.ssdtrace --drive samsung-pm9a3"
    assert remedy(47, fifo=0.02, sepbit=0.0571).startswith(command)
    assert remedy(47) == ""
    assert remedy(47, interrupted=True, sepbit=0.0571) == ""
    assert remedy(47, share=0.05, sepbit=0.0571) == "ssdlab trace info t.csv"
    assert "head -n" in remedy(12)


def test_the_screen_of_a_slow_trace_is_whole() -> None:
    """Every row has a text: the load and the years are short."""
    label = "cost-benefit + fadac"
    predicted = certain(**{"greedy": 4.6, label: 3.9, "fifo": 4.9})
    slow = run(1e6)
    slow.latency.read.p99_9 = 161e3
    slow.device.utilisation = SimpleNamespace(chip=(3.6e-5,), channel=(1e-5,))
    done = a_trial(
        name="days30",
        trace="days30.csv",
        drive_name=DEFAULT_DRIVE,
        drive="tlc-960gb (961 GB, 16 dies, 683 superblocks, OP 14.5 %)",
        rankings={order: Ranking(predicted) for order in ORDERS},
        form=Form(1, 1, 1, 1, 1, dict.fromkeys(predicted, Spare(None, None))),
        latency=timed({one: {1: slow, 2: slow} for one in predicted}),
        lifetime=Lifetime(Endurance(6954.0, "rated", 5.0), 1.1e12, 9.61e11, 1.1e8),
    )
    assert all(row(done, title) for title in ("load", "years", "read p99.9", "spare"))
    assert "at <0.001 drive writes" in row(done, "years")
    assert [line for line in done.screen() if line.endswith("...")] == []


def test_years_name_the_figure_that_is_missing() -> None:
    rated = Endurance(None, "unknown", None, "`waf`")
    done = a_trial(lifetime=Lifetime(rated, 2e12, 1.9e12, 1.9e12))
    assert row(done, "years") == (
        "unknown at 1.00 drive writes a day: the rating of the drive lacks `waf` (--details)"
    )


def erased(config: dict[str, Any], erases: int, waf: float = 2.0, busy: float = 0.5) -> Any:  # noqa: ANN401
    """A timed run of a second with so many erases, in which one of two chips is as busy."""
    return SimpleNamespace(
        config={"device": {"channels": 2, "chips_per_channel": 4, "planes_per_chip": 4}, **config},
        flash=SimpleNamespace(erases=erases),
        time=SimpleNamespace(simulated=10**9),
        waf=SimpleNamespace(total=waf),
        device=SimpleNamespace(utilisation=SimpleNamespace(chip=(0.1, busy))),
        invalid="",
        completed=True,
    )


@pytest.mark.parametrize(
    ("erase", "erases", "unit", "judged"),
    [
        # 8 chips of 4 planes for a second; 0.01 % of a plane is 100 us.
        (10_000, 319, "plane", "known"),
        (10_000, 321, "plane", "bounded"),
        (10_000, 1279, "plane", "bounded"),
        (10_000, 1281, "plane", "withheld"),
        (10_000, 79, "chip", "known"),
        (10_000, 81, "chip", "bounded"),
        (10_000, 321, "chip", "withheld"),
        (1_760_000, 10_000, "plane", "known"),  # erases half as long as the drive's
    ],
)
def test_short_erases_that_decide_a_percentile_withhold_it(
    erase: int, erases: int, unit: str, judged: str
) -> None:
    drive = ssdlab.load_config("tlc-960gb")
    config = {"timing.erase_ns": erase, "timing.busy_unit": unit, "device.pages_per_block": 4}
    seeds = {1: erased(config, 0), 2: erased(config, erases)}
    doubt = timed_doubts.short_erases(drive, 100_000, seeds)
    # 1,536 pages a block: 100,000 pages of 4 KiB times 192 make blocks that are half as large.
    expected = (
        "the blocks of the trial are so small that erases (10.0 us instead of 3.50 ms) would decide"
        " it: use a trace that touches 73.2 GiB or more"
    )
    assert doubt == (expected if judged == "withheld" else "")
    assert timed_doubts.is_bounded(drive, seeds) is (judged != "known")
    # Without the run with these erases the other one tells its percentile.
    assert timed_doubts.short_erases(drive, 100_000, {1: seeds[1]}) == ""
    assert not timed_doubts.is_bounded(drive, {1: seeds[1]})
    # On a busy drive more requests wait behind those that an erase delays.
    busy = {1: erased(config, erases, busy=0.51)}
    assert bool(timed_doubts.short_erases(drive, 100_000, busy)) is (judged != "known")


def test_a_percentile_that_is_bounded_reaches_up_to_the_next() -> None:
    by_seed = {1: run(1e6, p99_99=3e6), 2: run(1.1e6, p99_99=2.9e6)}
    done = a_trial(latency=timed(dict.fromkeys(CLEAR, by_seed)), latency_bounded=["sepbit"])
    # From 1.05 ms - 12.706 * 0.05 ms to 2.95 ms + 12.706 * 0.05 ms.
    ends = "415 us to 3.59 ms"
    assert row(done, "write p99.9") == f"sepbit {ends}, as one application"
    text = (
        f"p99.9 of the drive with sepbit: write {ends}: at most the p99.99 of the timed runs, in"
        " which erases are shorter"
    )
    assert text in " ".join(line.strip() for line in done.details())
    assert done.json["latency_bounded"] == ["sepbit"]
    assert [*done.bounded()] == [text]
    # Where the p99.99 of two seeds is not decided, nor is the p99.9 of the drive.
    by_seed = {1: run(1e6, p99_99=3e6), 2: run(1.01e6, p99_99=2e6)}
    wide = a_trial(latency=timed(dict.fromkeys(CLEAR, by_seed)), latency_bounded=["sepbit"])
    undecided = "undecided (1.00 ms to 3.00 ms in 2 seeds)"
    assert row(wide, "write p99.9") == f"sepbit {undecided}, as one application"
    assert f"with sepbit: write {undecided}: at most" in next(wide.bounded())
    # With fewer than ten requests beyond it, the p99.99 is not known, and the slowest is above it.
    few = a_trial(
        latency=timed({label: {1: run(1e6), 2: run(1e6)} for label in CLEAR}),
        latency_bounded=["sepbit"],
    )
    assert row(few, "write p99.9") == "sepbit 1.00 ms to 5.00 ms, as one application"


@pytest.mark.parametrize(("waf", "differs"), [(2.19, False), (2.21, True), (1.79, True)])
def test_a_timed_trial_that_writes_another_amount_tells_no_latency(
    waf: float, differs: bool
) -> None:
    seeds = {1: erased({}, 0), 2: erased({}, 0, waf)}
    text = f"write amplification of the timed trial is {waf:.3f} with greedy, where the drive has"
    assert timed_doubts.mismatch("greedy", seeds, 2.0).startswith(text) is differs


def test_short_erases_of_the_baseline_leave_the_winner_its_latency() -> None:
    """What is withheld on the screen is withheld in the details, on the page and in JSON."""
    doubt = "an erase takes 10.0 us, not 3.50 ms"
    done = a_trial(latency_doubts={"greedy": doubt})
    assert row(done, "write p99.9").startswith("sepbit undecided (1.00 ms to 1.20 ms")
    details = done.details()
    assert "latencies of sepbit, fifo" in details
    assert f"  ! no latency with greedy: {doubt}" in details
    assert done.json["latency_doubts"] == {"greedy": doubt}
    assert done.busy == 0.4
    of_winner = replace(done, latency_doubts={"sepbit": doubt, "greedy": doubt})
    assert row(of_winner, "write p99.9") == f"none: {doubt}"
    assert row(of_winner, "read p99.9") == ""
    assert of_winner.busy is None
    details = of_winner.details()
    assert "latencies of fifo" in details
    assert f"  ! no latency with sepbit; greedy: {doubt}" in details
    untold = replace(done, latency_doubts=dict.fromkeys(CLEAR, doubt))
    assert not [line for line in untold.details() if line.startswith("latencies")]
    without_verdict = replace(a_trial(), doubts=("too small",))
    assert not [line for line in without_verdict.details() if line.startswith("latencies")]


@pytest.mark.parametrize(
    ("erases", "withheld"),
    [({"sepbit": 0, "greedy": 1900}, ["greedy"]), ({"sepbit": 1900, "greedy": 0}, ["sepbit"])],
)
def test_each_timed_policy_is_judged_by_its_own_runs(
    erases: dict[str, int], withheld: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"timing.erase_ns": 10_000, "timing.busy_unit": "plane", "device.pages_per_block": 4}
    config["timing.program_ns"] = 1

    def made(_: object, planned: list[tuple[str, int]], *__: object) -> Comparison:
        by_seed: dict[str, dict[int, Any]] = {}
        for label, seed in planned:
            report = erased(config, erases[label], CLEAR[label].mean)
            report.little = SimpleNamespace(peak_in_system=1)
            report.latency = SimpleNamespace(write=SimpleNamespace(p99=None))
            by_seed.setdefault(label, {})[seed] = report
        return Comparison(
            {label: runs[1] for label, runs in by_seed.items() if 1 in runs}, repetitions=by_seed
        )

    monkeypatch.setattr(trial.Runs, "_match_device", lambda *_: "device")
    monkeypatch.setattr(trial.Runs, "_batch", made)
    monkeypatch.setattr(
        trial,
        "repeat",
        lambda runs, seeds: [(one, 1 + seed) for seed in range(seeds) for one in runs],
    )
    plan: Any = SimpleNamespace(
        drive=ssdlab.load_config("tlc-960gb"),
        pages=100_000,
        passes=9,
        is_periodic=lambda _: False,
        plan_run=lambda label, *_: label,
    )
    runs = trial.Runs(plan, cast("Any", None), False, 2, 1.0)
    latency, doubts, _ = runs.timed(a_trial(), ["sepbit", "greedy"], None)
    assert [*doubts] == withheld
    assert latency is not None
    assert [*latency.repetitions] == ["sepbit", "greedy"]
    assert all(len(by_seed) == 2 for by_seed in latency.repetitions.values())


@dataclass(frozen=True)
class WarnedRun:
    """A run with warnings, of which the first ones invalidate it."""

    warnings: tuple[str, ...]
    invalidating: int

    @property
    def invalid(self) -> str:
        return self.warnings[0] if self.invalidating else ""


def test_thirds_of_whole_loops_may_differ_and_other_invalid_runs_have_no_latency() -> None:
    thirds = "not in steady state: 1.27 over the third and 1.20 over the last; write more"
    nothing = "no GC happened: write more"

    def doubt_of(by_seed: dict[int, Any]) -> str:
        return timed_doubts.invalid(by_seed).removeprefix("a timed run is invalid ")

    for warnings, invalidating, left, before, after in (
        ((thirds, "a note"), 1, ("a note",), "(not in steady state)", ""),
        ((thirds, nothing), 2, (nothing,), "(not in steady state)", "(no GC happened)"),
        (("a note",), 0, ("a note",), "", ""),
    ):
        one: Any = WarnedRun(warnings, invalidating)
        assert doubt_of({1: one}) == before
        timed = Comparison({"a": one}, repetitions={"a": {1: one, 2: one}})
        done = timed_doubts.in_whole_loops(timed)
        assert done.reports["a"].warnings == left
        assert done.reports["a"] == done.repetitions["a"][2]
        assert doubt_of(dict(done.repetitions["a"])) == after


def test_the_page_withholds_the_same_latencies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_page, "numbers_table", lambda done: done.summary())
    assert trial_page._latency(a_trial()) == "latencies of greedy, sepbit, fifo"
    doubtful = a_trial(latency_doubts={"greedy": "its erases are short"})
    text = trial_page._latency(doubtful)
    assert text.endswith("latencies of sepbit, fifo")
    assert "No latency with greedy: its erases are short." in text
    untold = a_trial(latency_doubts=dict.fromkeys(CLEAR, "its erases are short"))
    assert "latencies of" not in trial_page._latency(untold)


def written(file: Path, requests: list[tuple[int, int]]) -> Path:
    """Writes of pages of 8 KiB: at which time, and which page."""
    file.write_text("".join(f"{at},W,{8192 * page},8192\n" for at, page in requests))
    return file


@pytest.mark.parametrize(("page_size", "halves"), [("4 KiB", 2), ("8 KiB", 1), ("16 KiB", 1)])
def test_warm_up_and_measurement_are_counted_in_pages_of_the_drive(
    page_size: str, halves: int, tmp_path: Path
) -> None:
    """With independent phases every page of the drive that is written is a request."""
    file = written(tmp_path / "t.csv", [(at, 2 * (at % 3000)) for at in range(6000)])
    keys: dict[str, object] = {"workload.columns": COLUMNS, "device.page_size": page_size}
    plan = trial_plan.plan_trial(file, set=keys, progress=False)
    assert plan.pages == halves * 3000
    assert plan.totals.page_writes == halves * 6000
    assert plan.loops(1) == (2, 1)
    for planned in plan.functional_runs(1, 1):
        if planned.label.startswith("greedy, "):
            of_loop = 6000 if planned.label.endswith("recorded") else halves * 6000
            report = ssdlab.run(planned.config, progress=False)
            assert report.requests.warmup == 2 * of_loop
            assert report.requests.submitted == of_loop, "the measurement is one loop"


def test_trims_are_a_part_of_the_warm_up(tmp_path: Path) -> None:
    """With independent phases a TRIM of a page is an update like a write."""
    lines = [f"{at},{'D' if at % 3 == 2 else 'W'},{8192 * (at % 600)},8192" for at in range(6000)]
    file = tmp_path / "t.csv"
    file.write_text("".join(f"{line}\n" for line in lines))
    plan = trial_plan.plan_trial(file, set={"workload.columns": COLUMNS}, progress=False)
    (planned,) = [run for run in plan.functional_runs(1, 1) if run.label == "greedy, independent"]
    report = ssdlab.run(planned.config, progress=False)
    before, measured = plan.loops(1)
    assert report.requests.submitted * before == report.requests.warmup * measured


def test_a_warm_up_that_is_set_replaces_that_of_the_trial(tmp_path: Path) -> None:
    file = written(tmp_path / "t.csv", [(at, 2 * (at % 3000)) for at in range(6000)])
    keys: dict[str, object] = {"workload.columns": COLUMNS, "workload.warmup_requests": 100}
    plan = trial_plan.plan_trial(file, set=keys, progress=False)
    for planned in plan.functional_runs(1, 1):
        workload = planned.config["workload"]
        assert (workload["warmup_requests"], workload.get("warmup_share")) == (100, None)


def test_a_trace_that_reaches_beyond_the_drive_is_named(tmp_path: Path) -> None:
    inside = written(tmp_path / "inside.csv", [(at, at) for at in range(500)])
    beyond = written(tmp_path / "beyond.csv", [(at, (at % 2) << 31) for at in range(500)])
    keys: dict[str, object] = {"workload.columns": COLUMNS}
    config = ssdlab.load_config(DEFAULT_DRIVE, trace=beyond, set=keys)
    assert totals(config, 1 << 28).span_pages == (1 << 32) + 2
    for file, is_beyond in ((inside, False), (beyond, True)):
        plan = trial_plan.plan_trial(file, set=keys, progress=False)
        text = "Its addresses reach up to 16.0 TiB, beyond the 895 GiB of the drive"
        assert (text in trial._read(plan)) is is_beyond


def own_drive(file: Path, stated: float) -> Path:
    file.write_text(
        f'preset = "tlc-960gb"\n[published]\ntitle = "Mine"\nuser_gb = {stated}\n', encoding="utf-8"
    )
    return file


def test_a_capacity_that_the_keys_do_not_give_is_named(tmp_path: Path) -> None:
    right, wrong = own_drive(tmp_path / "a.toml", 960), own_drive(tmp_path / "b.toml", 720)
    assert contradiction(ssdlab.load_config(str(right))) == ""
    assert contradiction(ssdlab.load_config("tlc-960gb")) == ""
    text = contradiction(ssdlab.load_config(str(wrong)))
    assert text.startswith(f"{wrong}: user_gb = 720, but the keys of [device] give 961 GB")
    # Keys that are set are no mistake of the file.
    changed = ssdlab.load_config(str(right), set={"device.channels": 4})
    assert contradiction(changed) == ""
    rated = a_trial().lifetime
    done = a_trial(lifetime=replace(rated, contradiction=text))
    assert (row(done, "drive"), row(done, "years"), row(done, "spare")) == (text, "", "")
    assert done.json["years"] is None
    assert a_trial().json["years"] == rated.years(Interval(2.4, 2.4))


def test_a_misspelt_key_is_named_before_a_missing_one(tmp_path: Path) -> None:
    file = written(tmp_path / "t.csv", [(0, 0)])
    (tmp_path / "my.toml").write_text(
        '[device]\nchannels = 4\nover_provisoning = 0.1\n[published]\ntitle = "Mine"\n'
    )
    done = ssdlab_command("try", file, "--columns", COLUMNS, "--drive", "my.toml", cwd=tmp_path)
    assert done.returncode == 2
    expected = 'my.toml:3: device.over_provisoning: unknown key; did you mean "over_provisioning"?'
    assert expected in done.stderr
    assert "lacks" not in done.stderr
