"""The least over-provisioning that meets bounds: `ssdlab plan` and `ssdlab.plan_drive`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import ssdlab
from running import ssdlab_command
from ssdlab.config.endurance import Endurance, endurance, raw_bytes
from ssdlab.results.lifetime import Interval, Lifetime
from ssdlab.results.prediction import Predicted, Ranking
from ssdlab.results.spare_plan import Bound, Outcome, SparePlan, Step
from ssdlab.results.trial import Form, Spare, Trial
from ssdlab.running import spare_plan
from ssdlab.running.spare_plan import ask
from test_try import FEW, PAGES, skewed

RATED = 'preset = "tlc-960gb"\n\n[published]\nrated = { dwpd = 1, years = 5, waf = 4.0 }\n'
NAMED = [name for name in ssdlab.preset_names() if name.startswith("drive:")]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 us between requests."""
    return skewed(tmp_path_factory.mktemp("plan") / "skewed.csv", 2000)


@pytest.fixture(scope="module")
def planned(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> SparePlan:
    """A plan that all bounds limit."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "my.toml").write_text(RATED)
    return ssdlab.plan_drive(
        trace,
        drive=folder / "my.toml",
        policies=FEW,
        years=5,
        waf=2.5,
        p99_9="5 ms",
        seeds=2,
        out=folder / "out",
        progress=False,
    )


def test_the_least_over_provisioning_meets_all_bounds(planned: SparePlan) -> None:
    assert planned.completed
    assert planned.answer is not None
    step, outcome = planned.answer
    assert outcome.policy == "greedy"
    assert outcome.values["waf"].high <= 2.5
    assert outcome.values["years"].low >= 5
    assert outcome.values["p99_9"].high <= 5e6
    tried = [one.provision for one in planned.steps]
    assert len(tried) <= 6
    assert tried == sorted({*tried})
    # The step below the answer was tried, and neither it nor any other below meets the bounds.
    assert planned.below is not None
    at = spare_plan.STEPS.index(step.provision)
    assert spare_plan.STEPS[at - 1] == planned.below.provision
    below = [one for one in planned.steps if one.provision < step.provision]
    assert not any(planned.meets(one) for one in below)
    wafs = [one.outcomes[0].values["waf"].high for one in planned.steps]
    assert wafs == sorted(wafs, reverse=True)


def test_latency_is_run_only_where_the_other_bounds_are_met(planned: SparePlan) -> None:
    others = [bound for bound in planned.bounds if bound.name != "p99_9"]
    for step in planned.steps:
        for one in step.outcomes:
            met = all(bound.verdict(one.values[bound.name]) == "met" for bound in others)
            assert met or ("p99_9" not in one.values and not one.doubt)


def test_its_files_say_the_same(planned: SparePlan) -> None:
    assert planned.folder is not None
    values = json.loads((planned.folder / "plan.json").read_text())
    assert values == json.loads(json.dumps(planned.json))
    step, outcome = planned.answer or pytest.fail("no answer")
    assert values["answer"] == {"provision": step.provision, "policy": outcome.policy}
    assert (planned.folder / "summary.txt").read_text() == planned.summary()
    assert planned.summary().startswith("\n".join(planned.screen()))
    assert planned.summary().endswith("\n".join(planned.screen()) + "\n")
    page = (planned.folder / "report.html").read_text()
    for name in ("waf", "years", "p99_9"):
        assert f'id="spare-{name}"' in page
    drive = ssdlab.load_config(planned.folder / "drive.toml")
    assert drive["gc.victim.policy"] == outcome.policy
    assert raw_bytes(drive) == step.raw_bytes
    whole = ssdlab.load_config("tlc-960gb")
    assert drive["device.user_pages"] == whole["device.user_pages"]
    lasts = endurance(planned.folder / "drive.toml", drive)
    assert lasts.cycles == pytest.approx(planned.lifetime.endurance.cycles, rel=1e-3)


def an_answer(**changes: object) -> SparePlan:
    """A plan without any run."""
    rated = endurance("drive:samsung-pm9a3", ssdlab.load_config("drive:samsung-pm9a3"))
    steps = (
        Step(0.1, 10**12, (Outcome("greedy", {"waf": Interval(3, 4), "years": Interval(3, 4)}),)),
        Step(
            0.2,
            2304 * 10**9,
            (
                Outcome(
                    "cost-benefit + fadac",
                    {
                        "waf": Interval(1.8, 2.4),
                        "years": Interval(5.4, 6.6),
                        "p99_9": Interval(2.1e6, 2.3e6),
                    },
                ),
            ),
        ),
    )
    values = {
        "name": "mysql",
        "trace": "traces/mysql.trace.zst",
        "drive_name": "drive:samsung-pm9a3",
        "provision": 0.151,
        "lifetime": Lifetime(rated, 2.2e12, 1.92e12, 2.51e10),
        "bounds": (Bound("waf", 2.5), Bound("years", 5), Bound("p99_9", 5e6)),
        "steps": steps,
        "drive_file": "runs/plan-mysql/drive.toml",
    }
    return SparePlan(**{**values, **changes})  # type: ignore[arg-type]


def test_the_first_screen() -> None:
    assert an_answer().screen() == [
        "mysql on samsung-pm9a3 of 1.92 TB, 25.1 GB written a day",
        "answer      20 % over-provisioning with cost-benefit + fadac; 10 % is not enough",
        "WAF         1.800 to 2.400 (at most 2.500)",
        "years       5.40 to 6.60 (at least 5.00)",
        "p99.9       2.10 ms to 2.30 ms, as one application (at most 5.00 ms)",
        "flash       2.3 TB in all; the drive has 15.1 %",
        "confidence  high: every interval lies within its bound",
        "next        ssdlab try traces/mysql.trace.zst --drive runs/plan-mysql/drive.toml",
    ]


@pytest.mark.parametrize(
    ("daily", "years", "spare"),
    [
        (
            0.96e12,
            "6.27 to 9.37",
            "needs at most 15.1 %, which the drive has, for the 5-year warranty",
        ),
        (
            1.5e12,
            "4.01 to 6.00",
            "may need over 15.1 % for the 5-year warranty: see `ssdlab plan`",
        ),
        (
            9.6e12,
            "0.627 to 0.937",
            "needs over 15.1 % for the 5-year warranty: see `ssdlab plan`",
        ),
    ],
)
def test_the_first_screen_of_try_says_how_long_the_drive_lasts(
    daily: float, years: str, spare: str
) -> None:
    config = ssdlab.load_config("drive:samsung-pm9a3")
    rated = endurance("drive:samsung-pm9a3", config)
    lifetime = Lifetime(rated, raw_bytes(config), 959_663_980_544, daily)
    # 1 write a day for 5 years at WAF 4.2; here it is 2.24 to 3.35.
    ends = {"recorded": 2.24, "independent": 3.35}
    tried = Trial(
        name="mysql",
        trace="traces/mysql.trace.zst",
        drive_name="drive:samsung-pm9a3",
        drive="samsung-pm9a3 (960 GB, 16 dies, 686 superblocks, OP 15.1 %)",
        read="",
        form=Form(1, 686, 100, 686, 24576, {"greedy": Spare(0.14, 0.14)}),
        rankings={
            phases: Ranking({"greedy": Predicted((waf, waf), waf)}) for phases, waf in ends.items()
        },
        doubts=(),
        lifetime=lifetime,
    )
    screen = tried.screen()
    assert len(screen) <= 12
    assert max(map(len, screen)) <= 80
    assert any(line.startswith(f"years       {years} with greedy, at ") for line in screen)
    assert f"spare       {spare}" in "\n".join(screen)
    assert tried.json["endurance"] in tried.summary().replace("\n           ", " ")
    waf = Interval(2.24, 3.35)
    assert tried.json["years"] == lifetime.years(waf)
    unrated = Endurance(None, "none", None, "`dwpd`")
    no_rating = replace(tried, lifetime=replace(lifetime, endurance=unrated))
    assert "lacks `dwpd` (--details)" in " ".join("\n".join(no_rating.screen()).split())


def test_bounds_that_nothing_meets_say_the_nearest() -> None:
    done = an_answer(bounds=(Bound("waf", 1.5), Bound("years", 6), Bound("p99_9", 1e6)))
    assert done.answer is None
    assert done.screen()[1:-1] == [
        "answer      no over-provisioning up to 20 % meets all bounds",
        "WAF         at most 1.500: missed, nearest 1.800 to 2.400 (cost-benefit + fadac,",
        "            20 %)",
        "years       at least 6.00: open, nearest 5.40 to 6.60 (cost-benefit + fadac,",
        "            20 %)",
        "p99.9       at most 1.00 ms: missed, nearest 2.10 ms to 2.30 ms, as one",
        "            application (cost-benefit + fadac, 20 %)",
        "flash       the drive has 15.1 %",
        "confidence  high: bounds are clearly missed",
    ]
    assert done.confidence == "high: bounds are clearly missed"
    nothing = an_answer(steps=(), doubt="the trace touches too little")
    assert nothing.screen()[1] == "answer      no verdict: the trace touches too little"
    assert nothing.confidence == "none"


def test_years_that_nothing_meets_say_what_would() -> None:
    def said(limit: float, years: Interval, daily: float) -> str:
        values = {"waf": Interval(2.0, 2.5), "years": years}
        step = Step(1.0, 4 * 10**12, (Outcome("greedy", values),))
        life = Lifetime(Endurance(1000.0, "rated", 5.0), 2.2e12, 1.92e12, daily)
        done = an_answer(steps=(step,), bounds=(Bound("years", limit),), lifetime=life)
        assert len(done.screen()) <= 12
        return done.rows()[1][1]

    # 4e15 bytes last 1 year at WAF 1 with 4e15 / 365 a day.
    none = "no over-provisioning up to 100 % meets all bounds"
    assert said(5.0, Interval(0.4, 0.5), 4e15 / 365) == (
        f"{none}: at this load 5 years take 12.5 times the capacity, or 1 / 12.5 of the load"
        " (5.00 times even at write amplification 1)"
    )
    assert said(5.0, Interval(4.0, 4.5), 4e14 / 365) == (
        f"{none}: at this load 5 years take 1.25 times the capacity, or 1 / 1.25 of the load"
    )
    # An interval that contains the bound misses nothing clearly.
    assert said(5.0, Interval(4.0, 5.5), 4e14 / 365) == none
    assert an_answer(options=" --columns a=1").rows()[-1][1].endswith("drive.toml --columns a=1")


@pytest.mark.parametrize(
    ("name", "limit", "interval", "verdict"),
    [
        ("waf", 2.0, (1.5, 2.0), "met"),
        ("waf", 2.0, (1.5, 2.1), "open"),
        ("waf", 2.0, (2.1, 2.2), "missed"),
        ("years", 5.0, (5.0, 9.0), "met"),
        ("years", 5.0, (4.9, 5.1), "open"),
        ("years", 5.0, (3.0, 4.9), "missed"),
    ],
)
def test_a_bound_is_met_by_the_whole_interval(
    name: str, limit: float, interval: tuple[float, float], verdict: str
) -> None:
    assert Bound(name, limit).verdict(Interval(*interval)) == verdict
    assert Bound(name, limit).verdict(None) == "unknown"


@pytest.mark.parametrize("name", [*NAMED, "tlc-960gb"])
def test_a_drive_that_is_used_as_rated_lasts_as_long_as_rated(name: str) -> None:
    config = ssdlab.load_config(name)
    rated = endurance(name, config)
    device = config.values["device"]
    user = device["user_pages"] * device["page_bytes"]
    known = json.loads(ssdlab._core.registry())["presets"]
    figures = next(one for one in known if one["name"] == name)["published"].get("rated", {})
    assert rated.years == figures.get("years")
    assert (rated.cycles is None) == ("waf" not in figures)
    if "waf" not in figures:
        assert (
            "`waf` (write amplification of the writes for which the drive is rated)" in rated.text
        )
        assert "wear.endurance" in rated.text
        return
    assert rated.cycles is not None
    assert 4_500 < rated.cycles < 7_500
    used = Lifetime(rated, raw_bytes(config), user, figures["dwpd"] * user)
    same = Interval(figures["waf"], figures["waf"])
    assert used.years(same) == pytest.approx((figures["years"], figures["years"]))
    assert used.largest_waf(figures["years"]) == pytest.approx(figures["waf"])
    full = next(one for one in known if one["name"] == name)["published"].get("uniform")
    assert full is None or full[-1][1] == figures["waf"]


def test_erases_replace_the_rating(tmp_path: Path) -> None:
    name = "drive:hynix-pe8110"
    config = ssdlab.load_config(name, set={"wear.endurance": 3000})
    assert endurance(name, config).cycles == 3000
    (tmp_path / "tbw.toml").write_text(
        f'preset = "{name}"\n[published]\nrated = {{ tbw = 1752, waf = 4 }}\n'
    )
    of_file = ssdlab.load_config(tmp_path / "tbw.toml")
    found = endurance(tmp_path / "tbw.toml", of_file).cycles
    assert found == pytest.approx(1752e12 * 4 / raw_bytes(of_file))


def test_another_capacity_has_dies_in_proportion() -> None:
    drive = ssdlab.load_config("tlc-960gb")
    own = drive["device.user_pages"]
    same = spare_plan.sized(drive, own, raw_bytes(drive) / own / 4096 - 1)
    assert same["device"] == drive["device"]
    twice = spare_plan.sized(drive, 2 * own, 0.145)
    assert twice["device.chips_per_channel"] == 4
    assert twice["device.blocks_per_plane"] == 683
    assert twice["device.user_pages"] == 2 * own
    # A quarter has one chip a channel, of half the blocks.
    quarter = spare_plan.sized(drive, own // 4, 0.145)
    assert quarter["device.chips_per_channel"] == 1
    assert quarter["device.blocks_per_plane"] in (341, 342)
    more = spare_plan.sized(drive, own, 0.4)
    assert more["device.user_pages"] == own
    assert raw_bytes(more) == pytest.approx(1.4 * own * 4096, rel=1e-3)


def test_the_file_of_a_user_may_end_with_what_is_published(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(RATED)
    assert ssdlab.load_config(file)["device"] == ssdlab.load_config("tlc-960gb")["device"]
    file.write_text(RATED + "[gc]\nreserve = 3\n")
    with pytest.raises(ssdlab.ConfigError, match=r"\[gc\] follows \[published\]"):
        ssdlab.load_config(file)
    file.write_text(RATED + "rated = 3\n")
    with pytest.raises(ssdlab.ConfigError, match="line 5: duplicate key"):
        ssdlab.load_config(file)


WRONG = [
    ([], "", "give at least one of --p99.9 5ms, --years 5, --waf 2"),
    (["--waf", "0.9"], "", "--waf 0.9: expected a write amplification of at least 1"),
    (["--waf", "nan"], "", "--waf nan: expected a write amplification of at least 1"),
    (["--years", "0"], "", "--years 0: expected a number of years above 0"),
    (["--p99.9", "5"], "", "--p99.9 5: expected a time with its unit, such as 5ms"),
    (["--p99.9", "5GB"], "", "--p99.9 5GB: expected a time with its unit, such as 5ms"),
    (["--waf", "2", "--capacity", "big"], "", "--capacity big: expected a size with its unit"),
    (["--waf", "2", "--capacity", "960g"], "", "1.92TB; did you mean 960GB or 960GiB?"),
    (["--waf", "2", "--capacity", "0T"], "", "expected a size with its unit, such as 1.92TB\n"),
    (["--waf", "2", "--capacity", "10MB"], "", "--capacity 10MB: the trace touches 176 MiB"),
    (["--waf", "2", "--capacity", "1GB"], "", "--capacity 1GB: the drive cannot have this size"),
    (["--waf", "2", "--capacity", "1GB"], "", "expected a larger one, such as "),
    (["--waf", "2", "--capacity", "9PB"], "", "expected a smaller one, such as "),
    (["--waf", "2", "--drive", "micron"], "", "no such drive; there are: tlc-960gb, "),
    (
        ["--years", "5", "--drive", "mine.toml"],
        "user_gb = 720\nrated = { dwpd = 1, years = 5, waf = 4 }",
        "--years: mine.toml: user_gb = 720, but the keys of [device] give 961 GB",
    ),
    (
        ["--years", "5", "--drive", "mine.toml"],
        "rated = {}",
        "lacks `dwpd` (drive writes a day), `years` (years of the warranty) and `waf` (write",
    ),
    (["--years", "5", "--drive", "hynix-pe8110"], "", "its file lacks `waf`"),
    (
        ["--years", "5", "--drive", "mine.toml"],
        "rated = { dwpb = 1, years = 5, waf = 4 }",
        "mine.toml: [published] rated: no such key: `dwpb`; did you mean `dwpd`?",
    ),
    (
        ["--years", "5", "--drive", "mine.toml"],
        "rated = { dwpd = 1, tbw = 100, waf = 4 }",
        "`tbw` and `dwpd` are both given",
    ),
    (
        ["--years", "5", "--drive", "mine.toml"],
        'rated = { tbw = "100 TB", waf = 4 }',
        "`tbw`: found '100 TB'; expected terabytes that the host may write, a number from 0",
    ),
    (["--years", "5", "--drive", "mine.toml"], "rated = 5", "rated: found 5; expected rated = {"),
    (["--years", "5", "--drive", "mine.toml"], "rated = ", "mine.toml: line 3: "),
]


def test_the_capacity_that_is_named_in_place_of_an_impossible_one_is_possible(
    tmp_path: Path,
) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text(
        "".join(f"{128166372003061629 + at},h,0,Write,{4096 * at},4096,0\n" for at in range(50))
    )
    bounds = (Bound("waf", 2.0),)
    for impossible in ("1GB", "100PB"):
        with pytest.raises(ssdlab.ConfigError) as told:
            ask(trace, bounds, capacity=impossible, progress=False)
        (message,) = told.value.messages
        ask(trace, bounds, capacity=message.rpartition(" ")[2], progress=False)


@pytest.mark.parametrize(("arguments", "rated", "words"), WRONG)
def test_bad_input_is_told_before_anything_runs(
    trace: Path, arguments: list[str], rated: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(f'preset = "tlc-960gb"\n[published]\n{rated}\n')
    done = ssdlab_command("plan", trace, *arguments, "--out", "out", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_command_says_the_nearest_where_nothing_meets_a_bound(
    trace: Path, tmp_path: Path
) -> None:
    """`random` alone is quick; its write amplification never comes down to 1."""
    done = ssdlab_command(
        *("plan", trace, "--waf", "1", "--seeds", "2", "--quiet", "--no-html", "--json"),
        *("--out", "out", "--set", "alloc.frontiers=single"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert values["answer"] is None
    assert values["screen"][1] == "answer      no over-provisioning up to 100 % meets all bounds"
    assert "at most 1.000: missed, nearest 1." in values["screen"][2]
    assert values["steps"][-1]["provision"] == 1
    assert not (tmp_path / "out" / "drive.toml").exists()


def test_a_drive_that_contradicts_itself_has_no_years(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(RATED + "user_gb = 720\n")
    few = {"greedy": FEW["greedy"]}
    given = {"policies": few, "seeds": 2, "waf": 9, "progress": False, "html": False}
    drive = tmp_path / "mine.toml"
    done = ssdlab.plan_drive(trace, drive=drive, out=tmp_path / "out", **given)  # type: ignore[arg-type]
    assert done.answer is not None
    assert done.lifetime.contradiction.startswith(f"{drive}: user_gb = 720")
    assert all([*one.values] == ["waf"] for step in done.steps for one in step.outcomes)
    assert done.rows()[0] == ("drive", done.lifetime.contradiction)
    assert len(done.screen()) <= 12
    # Nor has the drive of the answer, whose file no longer shows the contradiction.
    assert ssdlab.load_config(tmp_path / "out" / "drive.toml")["wear.endurance"] == 0


def test_arrivals_that_overload_every_drive_leave_no_verdict(tmp_path: Path) -> None:
    fast = skewed(tmp_path / "fast.csv", 10)
    few = {"greedy": FEW["greedy"]}
    done = ssdlab.plan_drive(fast, p99_9="1 ms", policies=few, seeds=2, progress=False)
    assert done.answer is None
    assert "overload the drive" in done.doubt
    assert done.screen()[1].startswith("answer      no verdict: the recorded arrivals overload")
    assert done.confidence == "none"


def test_a_trace_that_touches_little_has_no_verdict(tmp_path: Path) -> None:
    small = tmp_path / "small.csv"
    lines = skewed(small, 2000).read_text().splitlines(keepends=True)
    small.write_text("".join(lines[: PAGES // 10]))
    done = ssdlab.plan_drive(small, waf=2, policies=FEW, seeds=2, progress=False)
    assert "at least 32 are needed" in done.doubt
    assert done.screen()[1].startswith("answer      no verdict: the trace touches so little")
    assert len(done.steps) == 1
