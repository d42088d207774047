"""Who decided: runs that the reserve decided are said to be so before any of their numbers."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import ssdlab
from running import ssdlab_command
from ssdlab.config.space import Space
from ssdlab.display.numbers import Value
from ssdlab.html.compare_page import comparison_page
from ssdlab.html.run_page import run_page
from ssdlab.html.sweep_page import sweep_page
from ssdlab.results.report import Report
from ssdlab.results.sweep import COLUMNS, Outcome, Sweep

OP = "device.over_provisioning"

TIGHT = {
    "device.channels": 1,
    "device.chips_per_channel": 2,
    "device.blocks_per_plane": 64,
    "device.pages_per_block": 32,
    "device.over_provisioning": 0.05,
    "workload.requests": 5000,
}
"""64 blocks a pool, 61 of them filled; collection begins at 4 erased blocks."""
ROOMY = {**TIGHT, "device.over_provisioning": 0.25, "precondition.overwrite": 2.0}
SAID = "the reserve decided, not your policy"
POLICIES = {"gc.victim": ["greedy", "cost-benefit", "random"]}

TIGHT_TOML = """\
[device]
channels = 1
chips_per_channel = 2
blocks_per_plane = 64
pages_per_block = 32
over_provisioning = 0.05
[workload]
requests = 2000
"""


@pytest.mark.parametrize("mode", ["timed", "functional"])
def test_a_spare_below_the_watermark_is_the_verdict_of_a_run(mode: str) -> None:
    tight = ssdlab.run(
        set={**TIGHT, "run.mode": mode, "precondition.overwrite": 2.0}, progress=False
    )
    verdict = tight.verdict
    assert verdict.decided_by == "reserve"
    assert verdict.policy_share is not None
    assert verdict.policy_share < 0.05
    assert verdict.unmet_share is not None
    assert verdict.unmet_share > 0.9
    assert not tight.steady_state.reached
    assert tight.steady_state.reason == "the reserve decided, not the victim policy"
    head, _, rest = tight.summary().partition("\n\n")
    assert head.endswith(tight.provenance.ssdlab)
    assert rest.startswith(f"verdict         {SAID}: ")
    assert tight.warnings[0].startswith(f"{SAID}: for ")
    assert "over_provisioning" in tight.warnings[0]
    page = run_page(tight)
    lead = page[page.index('<p class="lead">') :].partition("</p>")[0]
    assert f'<strong class="bad">{SAID}</strong>' in lead
    assert 'data-key="verdict.policy_share"' in page

    roomy = ssdlab.run(set={**ROOMY, "run.mode": mode}, progress=False)
    assert (roomy.verdict.decided_by, roomy.verdict.policy_share) == ("policy", 1.0)
    assert roomy.steady_state.reached, roomy.steady_state.reason
    assert SAID not in roomy.summary() + run_page(roomy)


def test_a_device_barely_written_over_is_in_no_steady_state() -> None:
    written = {**ROOMY, "precondition.overwrite": 0.0, "run.mode": "functional"}
    user = ssdlab.load_config(set=written)["device.user_pages"]
    for requests, reached in ((user - 2, False), (user, True)):
        report = ssdlab.run(
            set={**written, "workload.kind": "sequential", "workload.requests": requests},
            progress=False,
        )
        assert report.steady_state.reached is reached, report.steady_state.reason
        assert reached or "of the live data" in report.steady_state.reason
    built = {"precondition.steady_state": "mean-field", "workload.requests": user // 2}
    assert ssdlab.run(set={**written, **built}, progress=False).steady_state.reached


def test_policies_are_not_compared_where_the_reserve_decided() -> None:
    done = ssdlab.compare([ssdlab.load_config(set=TIGHT)], vary=POLICIES, progress=False)
    assert list(done.reserve_decided) == ["greedy", "cost-benefit", "random"]
    text = done.summary()
    assert text.splitlines()[2].startswith(
        "The reserve decided, not the victim policy, in all runs"
    )
    assert "This is no comparison of policies." in " ".join(text.split())
    assert "lowest " not in text
    assert "x " not in text.partition("warnings")[0]
    assert json.loads(done.to_json())["reserve_decided"] == done.reserve_decided
    assert [row["decided_by"] for row in done.rows] == ["reserve"] * 3
    page = comparison_page(done)
    assert 'id="ratio-table"' not in page
    assert "no comparison of policies" in page
    assert page.count('<strong class="bad">reserve</strong>') == 3


def test_ratios_are_those_of_the_runs_that_policies_decided() -> None:
    base = ssdlab.load_config(set={**ROOMY, "workload.requests": 3000})
    tight: dict[str, list[object]] = {"device.over_provisioning": [0.25, 0.05]}
    done = ssdlab.compare([base], vary={"gc.victim": ["greedy", "random"], **tight}, progress=False)
    apart = [label for label in done.reports if "0.05" in label]
    assert list(done.not_compared) == apart
    assert len(apart) == 2
    rows: dict[str, str] = {}
    for line in done.summary().splitlines():
        # A wide table goes on below.
        label = line.split("  ")[0]
        rows[label] = rows.get(label, "") + line[len(label) :]
    assert "x " in rows["victim=random over_provisioning=0.25"]
    assert all("x " not in rows[label] for label in apart)
    assert "their rows have no ratios" in " ".join(done.summary().split())
    long = ssdlab.load_config(set={**ROOMY, "workload.requests": 20_000})
    vary: dict[str, list[object]] = {"gc.victim": ["greedy", "random"], **tight}
    repeated = ssdlab.compare([long], vary=vary, seeds=3, progress=False)
    (answer,) = repeated.answers
    assert answer.lowest["waf"] == ("victim=greedy over_provisioning=0.25",)
    assert "0.05" not in answer.text
    table = comparison_page(done).partition('id="ratio-table"')[2].partition("</table>")[0]
    assert "over_provisioning=0.25" in table
    assert "over_provisioning=0.05" not in table
    # Where one policy is run on several devices, their ratios mean something.
    one = ssdlab.compare([base], vary=tight, progress=False)
    assert (list(one.reserve_decided), one.not_compared) == (["0.05"], ())
    assert "x " in one.summary()
    assert "The reserve decided" in one.summary()


def test_repetitions_say_it_first_too() -> None:
    short = ssdlab.load_config(set={**TIGHT, "workload.requests": 1500})
    done = ssdlab.compare([short], vary=POLICIES, seeds=2, progress=False)
    assert done.summary().splitlines()[2].startswith("The reserve decided")
    assert "[" not in done.summary().partition("warnings")[0], "no ratio has an interval"
    assert 'id="ratio-table"' not in comparison_page(done)


def test_a_report_without_a_verdict_is_read() -> None:
    report = ssdlab.run(set={**ROOMY, "workload.requests": 500}, progress=False)
    values = dict(report.json)
    del values["verdict"]
    older = Report.of(json.dumps(values))
    assert (older.verdict.decided_by, older.verdict.policy_share) == ("policy", None)
    assert "older version without this analysis" in older.verdict.reason


def test_triggers_that_cannot_be_met_are_said_before_the_run_or_refused(tmp_path: Path) -> None:
    (tmp_path / "tight.toml").write_text(TIGHT_TOML)
    run = ("run", "tight.toml", "--no-html")
    done = ssdlab_command(*run, cwd=tmp_path)
    assert done.returncode == 0
    note, *_ = done.stderr.splitlines()
    assert note.startswith(
        "ssdlab: warning: the triggers of gc.trigger will never be met: the data"
    )
    assert "at most 3 of 64 blocks" in note
    quiet = ssdlab_command(*run, "--quiet", "--force", cwd=tmp_path)
    assert (quiet.returncode, quiet.stderr) == (0, "")
    endless = ["--set", 'gc.trigger={policy="used-space",at=0.5}', "--set", "gc.victim=fifo"]
    more = ["--set", "device.blocks_per_plane=256"]
    for verb in ("run", "compare"):
        refused = ssdlab_command(verb, "tight.toml", *endless, *more, cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "gc.trigger: collection would never end" in refused.stderr
        assert "page copies for each page the host writes" in refused.stderr


def test_preconditioning_with_many_copies_shows_progress_and_can_be_interrupted() -> None:
    seen: list[tuple[str, int, int | None]] = []

    def progress(stage: str, done: int, total: int | None) -> None:
        seen.append((stage, done, total))
        if len(seen) == 8:
            raise KeyboardInterrupt

    long = {**TIGHT, "precondition.overwrite": 1000}
    with pytest.raises(ssdlab.Interrupted):
        ssdlab.run(set=long, progress=progress)
    pages = 2 * 64 * 32 / 1.05
    assert {stage for stage, _, _ in seen} == {"precondition"}
    # 65,536 programs between two calls are about 2,000 pages of the host.
    steps = [b[1] - a[1] for a, b in itertools.pairwise(seen[1:])]
    assert all(0 < step < 65_536 / 16 for step in steps), seen
    assert seen[0][2] == pytest.approx(pages * 1001, rel=1e-3)


SHORT = "not in steady state: it still falls; write more (workload.requests)"


@pytest.mark.parametrize(
    ("invalid", "answer", "title", "order"),
    [
        ("", "lowest at 0.3 (1.000); highest at 0.1 (3.000). One seed: no interval.", "lowest", ""),
        (
            "2",
            "lowest at 0.2 (2.000); highest at 0.1 (3.000). One seed: no interval."
            f" Not ranked: 0.3: {SHORT}.",
            "lowest",
            "2",
        ),
        (
            "12",
            f"Only 0.1 is valid: write amplification 3.000. Not ranked: 0.2; 0.3: {SHORT}.",
            "lowest",
            "21",
        ),
        (
            "012",
            f"Nothing is ranked, since no run is valid. 0.1; 0.2; 0.3: {SHORT}.",
            "runs",
            "210",
        ),
    ],
)
def test_a_point_that_a_warning_invalidates_is_never_named(
    invalid: str, answer: str, title: str, order: str
) -> None:
    def values(waf: float) -> tuple[Value, ...]:
        return tuple(waf if name == "waf" else None for name in COLUMNS)

    outcomes = []
    for at, waf in enumerate((3.0, 2.0, 1.0)):
        warned = {"warnings": (SHORT,), "invalidating": 1} if str(at) in invalid else {}
        outcomes.append(Outcome(at, None, values(waf), **warned))  # type: ignore[arg-type]
    done = Sweep("x", Space({OP: ("0.1", "0.2", "0.3")}, is_drawn=False), tuple(outcomes), 3)
    assert done.answer.removeprefix("Write amplification is ") == answer
    text = done.summary()
    assert f"\n{title}" in text
    # Those that are not valid come last, in text and page.
    labels = [f"0.{int(at) + 1}" for at in order]
    rows = re.findall(r"^(0\.\d) \(invalid\)", text, re.MULTILINE)
    assert rows == labels
    page = sweep_page(done).partition('id="points-table"')[2].partition("</table>")[0]
    assert page.count('<strong class="bad">invalid</strong>') == len(invalid)
    assert list(done.decided) == []


@pytest.mark.parametrize(("wrong", "is_ranked"), [(1, True), (2, False), (3, False)])
def test_more_seeds_do_not_take_points_from_a_sweep(wrong: int, is_ranked: bool) -> None:
    outcomes = []
    for at in range(3):
        for seed in range(4):
            row = tuple(3.0 - at + 0.01 * seed if n == "waf" else None for n in COLUMNS)
            one = Outcome(at, seed, row)
            if at == 2 and seed < wrong:
                one = replace(one, warnings=(SHORT,), invalidating=1)
            outcomes.append(one)
    space = Space({OP: ("0.1", "0.2", "0.3")}, is_drawn=False)
    done = Sweep("x", space, tuple(outcomes), len(outcomes))
    assert ("0.3" in done.points.invalid) != is_ranked
    told = f"1 of 4 runs at 0.3 is invalid ({SHORT.partition(';')[0]})."
    assert (told in done.answer) == is_ranked
    assert ("lowest at 0.3 (1.015)" in done.answer) == is_ranked
    assert ("Not ranked: 0.3" in done.answer) != is_ranked


def test_what_decides_is_judged_over_valid_points() -> None:
    space = Space({OP: [str(i) for i in range(10)], "gc.window": ["1", "2"]}, is_drawn=False)
    outcomes = []
    for at in range(len(space)):
        over, window = (int(str(one)) for one in space[at].values())
        row = tuple(1.0 + over + 0.01 * window if n == "waf" else None for n in COLUMNS)
        outcomes.append(Outcome(at, None, row))
    done = Sweep("x", space, tuple(outcomes), len(space))
    assert [one.partition(" ")[0] for one in done.decided] == [OP]
    wrong = [replace(o, warnings=(SHORT,), invalidating=1) for o in outcomes]
    assert list(replace(done, outcomes=tuple(wrong)).decided) == []
