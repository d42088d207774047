"""From a trace to an answer: `ssdlab try` and `ssdlab.try_trace`."""

from __future__ import annotations

import json
import math
import random
import re
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

import ssdlab
from running import nothing_left, refused, signalled_at, ssdlab_command, too_wide
from ssdlab.config.endurance import Endurance, endurance
from ssdlab.config.resolve import DEFAULT_DRIVE
from ssdlab.html import trial_page
from ssdlab.results.comparison import Comparison
from ssdlab.results.lifetime import Interval, Lifetime
from ssdlab.results.prediction import Predicted, Ranking
from ssdlab.results.trial import Form, Trial
from ssdlab.running import scale, trial, trial_plan
from ssdlab.running.compare_runs import FinishedRuns, run_into
from ssdlab.running.runner import PlannedRun

if TYPE_CHECKING:
    from ssdlab.results.report import Report
    from ssdlab.running.fitted import Totals

FEW: dict[str, dict[str, object]] = {
    "greedy": trial_plan.POLICIES["greedy"],
    "random": {"gc.victim": "random"},
}
PAGES = 45_000


def written(path: Path, lines: list[tuple[int, str, int]]) -> Path:
    """A trace in MSR's format: time in units of 100 ns, operation, page of 4 KiB."""
    path.write_text(
        "".join(
            f"{128166372003061629 + at},host,0,{op},{4096 * page},4096,0\n"
            for at, op, page in lines
        )
    )
    return path


def skewed(path: Path, gap: int) -> Path:
    """Skewed writes to `PAGES` of a million pages, three times as many as pages, `gap` apart."""
    draw = random.Random(3)
    pages = draw.sample(range(1 << 20), PAGES)
    lines = [(gap * at, "Write", page) for at, page in enumerate(pages)]
    for at in range(PAGES, 3 * PAGES):
        hot = int(PAGES * draw.random() ** 3)
        lines.append((gap * at, "Write" if at % 5 else "Read", pages[hot]))
    return written(path, lines)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 us between requests."""
    return skewed(tmp_path_factory.mktemp("try") / "skewed.csv", 2000)


@pytest.fixture(scope="module")
def tried(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """What the command finds."""
    out = tmp_path_factory.mktemp("tried") / "out"
    return ssdlab.try_trace(trace, policies=FEW, seeds=2, out=out, progress=False)


def test_the_trial_stands_for_the_drive(tried: Trial) -> None:
    assert tried.completed
    assert not tried.doubts
    assert tried.form.drive_blocks == 683
    assert tried.form.blocks == pytest.approx(683, rel=scale.NEAR)
    # 45,000 pages and 14.5 % on 683 blocks.
    assert tried.form.pages == pytest.approx(PAGES * 1.145 / 683, rel=scale.NEAR)
    assert tried.drive.startswith("tlc-960gb (961 GB, 16 dies, 683")
    for ranking in tried.rankings.values():
        assert list(ranking.predicted) == ["greedy", "random"]
        assert ranking.best == ("greedy",)
        assert all(len(one.values) == 2 for one in ranking.predicted.values())
    assert tried.verdict is not None
    assert tried.verdict.decided
    assert tried.confidence.startswith("high")


def test_details_page_and_json_have_the_same_facts(tried: Trial) -> None:
    facts = dict(tried.facts())
    assert [*facts] == ["trace", "trial", "seeds", "drive", "endurance", "needed"]
    assert facts["seeds"].startswith("2 for each write amplification")
    details = " ".join("\n".join(tried.details()).split())
    html = trial_page.trial_page(tried)
    assert tried.json["facts"] == facts
    for title, text in facts.items():
        assert f"{title} {text}" in details
        assert f"<dt>{title}</dt>" in html
    assert all(one["seeds"] == 2 for of in tried.json["waf"].values() for one in of.values())


def test_what_the_host_writes_is_beside_what_the_flash_takes() -> None:
    rated = Endurance(1000, "", years=5)
    lifetime = Lifetime(rated, 1.2e12, 1e12, 5e11)
    amount = Interval(2.0, 3.0)
    years = lifetime.years(amount)
    assert years is not None
    assert lifetime.needed(amount) == (
        f"0.500 drive writes a day; the flash takes {years.low / 10:.3f} to {years.high / 10:.3f}"
        " a day for 5 years at WAF 2.000 to 3.000"
    )
    assert replace(lifetime, daily_bytes=None).needed(amount) == ""
    assert lifetime.needed(None) == ""


def test_the_first_screen_has_twelve_lines_of_eighty_columns(tried: Trial) -> None:
    screen = tried.screen()
    assert len(screen) <= 12
    assert max(map(len, screen)) <= 80
    text = "\n".join(screen)
    assert "no policy writes less than greedy" in text
    intervals = [ranking.predicted["greedy"].interval for ranking in tried.rankings.values()]
    low = min(interval[0] for interval in intervals if interval)
    assert f"greedy {low:.3f}" in text
    # Beside the details the next command is another.
    summary, beside = tried.summary(), "\n".join(tried.screen(detailed=True))
    assert summary.startswith(beside)
    assert summary.endswith(beside + "\n")
    assert beside.partition("\nnext")[0] == text.partition("\nnext")[0]


LONG = ("greedy", "greedy + sepbit", "cost-benefit + fadac")


def ranked(*means: float) -> Ranking:
    """A prediction for each of `LONG`."""
    return Ranking(
        {
            label: Predicted((mean, mean * 1.001), mean * 0.99)
            for label, mean in zip(LONG, means, strict=True)
        }
    )


@pytest.mark.parametrize("overloads", [False, True])
@pytest.mark.parametrize("drive", ["tlc-960gb", "drive:micron-7450-max-800"])
def test_the_longest_first_screen_has_twelve_lines(drive: str, overloads: bool) -> None:
    config = ssdlab.load_config(drive)
    shape, rated = scale.Pool.of(config), endurance(drive, config)
    latency = SimpleNamespace(write=SimpleNamespace(p99_9=1.23e6), read=SimpleNamespace(p99_9=1e6))
    device = SimpleNamespace(utilisation=SimpleNamespace(chip=(0.004, 0.0041), channel=(0.001,)))
    run = SimpleNamespace(latency=latency, device=device, config={"host.mode": "open"})
    slower = SimpleNamespace(write=SimpleNamespace(p99_9=1.61e6), read=SimpleNamespace(p99_9=2e6))
    other = SimpleNamespace(latency=slower, device=device, config=run.config)
    by_seed = {label: cast("dict[int, Report]", {1: run, 2: other}) for label in LONG}
    first_seeds = {label: reports[1] for label, reports in by_seed.items()}
    doubt = (
        "the recorded arrivals overload the drive (12,783 requests pending, busiest 23.2 %):"
        " --pace closed, or --set workload.time_scale=4"
    )
    done = Trial(
        name="varmail",
        trace="traces/varmail.trace.zst",
        drive_name="" if drive == DEFAULT_DRIVE else drive,
        drive=trial._drive(trial_plan.Plan(config, drive, "", cast("Totals", None), {}, {}, rated)),
        read="",
        form=Form(1, 683, 352, shape.blocks, shape.pages, {}),
        rankings={"recorded": ranked(2.4, 1.9, 2.7), "independent": ranked(4.1, 3.8, 3.1)},
        doubts=(),
        lifetime=Lifetime(rated, 2.2e12, 1.9e12, 2.963 * 1.9e12),
        latency=None if overloads else Comparison(first_seeds, repetitions=by_seed),
        latency_doubts=dict.fromkeys(LONG, doubt) if overloads else {},
        options=" --columns time=timestamp_us:us,op=op,offset=offset:B,size=bytes:B",
    )
    assert done.verdict is not None
    assert not done.verdict.common
    screen = done.screen()
    assert len(screen) <= 12, "\n".join(screen)
    assert max(map(len, screen)) <= 80
    assert " ".join(" ".join(screen).split()).endswith(
        "--pace closed" if overloads else "--details"
    )
    idle = "load        0.410 % busy; for the trace of a slower machine: --pace closed"
    assert (idle in screen) != overloads
    assert done.json["busy"] == (None if overloads else 0.0041)


@pytest.mark.parametrize(
    ("mode", "busy", "load"),
    [("open", 0.06, "6.00 % busy at the recorded times"), ("closed", 0.001, "")],
)
def test_the_load_is_stated_at_the_recorded_times(mode: str, busy: float, load: str) -> None:
    """There is none where requests come as fast as the drive answers."""
    done = Trial("", "", "", "", "", cast("Any", None), {}, (), cast("Any", None))
    device = SimpleNamespace(utilisation=SimpleNamespace(chip=(0.0, busy), channel=(0.0,)))
    run = cast("Report", SimpleNamespace(device=device, config={"host.mode": mode}))
    latency = Comparison({"greedy": run}, repetitions={"greedy": {1: run}})
    assert replace(done, latency=latency)._load() == load


@pytest.mark.parametrize(
    ("doubts", "states"),
    [
        ((), ["base", "lowest", "tie", "other"]),
        (("doubtful",), ["base", "other", "other", "other"]),
    ],
)
def test_without_a_verdict_no_policy_is_marked_as_lowest(
    doubts: tuple[str, ...], states: list[str]
) -> None:
    predicted = {
        "greedy": Predicted((2.4, 2.41), 2.4),
        "lowest": Predicted((1.9, 1.91), 1.9),
        "tie": Predicted((1.91, 1.90), 1.9),
        "highest": Predicted((2.7, 2.71), 2.7),
    }
    done: Any = SimpleNamespace(
        policies=tuple(predicted),
        baseline="greedy",
        rankings=dict.fromkeys(("recorded", "independent"), Ranking(predicted)),
        doubts=doubts,
    )
    for _, points in trial_page._forest(done).panels:
        assert [point and point.state for _, point in points] == states


def test_its_files_say_the_same(tried: Trial) -> None:
    assert tried.folder is not None
    values = json.loads((tried.folder / "try.json").read_text())
    assert values == json.loads(json.dumps(tried.json))
    assert values["verdict"]["winners"] == {"recorded": ["greedy"], "independent": ["greedy"]}
    assert (tried.folder / "summary.txt").read_text() == tried.summary()
    page = (tried.folder / "report.html").read_text()
    titles = [title for title, text in tried.rows(detailed=True) if text]
    assert re.findall("<dt>(.*?)</dt>", page.split('id="waf"')[0]) == titles
    for label in FEW:
        mean = values["waf"]["recorded"][label]["mean"]
        assert f'data-key="waf.recorded.{label}.mean" value="{mean!r}"' in page


def test_the_runs_are_those_of_the_drive_without_time(trace: Path) -> None:
    plan = trial_plan.plan_trial(trace, policies=FEW, progress=False)
    runs = plan.functional_runs(1, 1)
    assert [one.label for one in runs] == [
        f"{policy}, {phases}" for phases in ("recorded", "independent") for policy in FEW
    ]
    before, measured = plan.loops(1)
    for one in runs:
        assert one.config["run.mode"] == "functional"
        assert one.config["device.user_pages"] == pytest.approx(PAGES, rel=1e-3)
        assert one.config["workload.loops"] == before + measured
        assert one.config["workload.warmup_share"] == before / (before + measured)
    # Four times the pages before, twice in the measurement: a loop writes 117,000.
    writes = plan.totals.page_writes
    assert writes < plan.totals.requests
    assert (before, measured) == (-(-4 * PAGES // writes), -(-2 * PAGES // writes))


def test_simulated_time_is_shorter_on_a_drive_with_more_units(tmp_path: Path) -> None:
    gap = 20 * 864_000_000_000 // 20_000
    file = written(tmp_path / "t.csv", [(gap * at, "Write", at) for at in range(20_001)])
    for drive, passes in (("tlc-960gb", 2), ("drive:kioxia-cm7-r-3.84t", 0)):
        plan = trial_plan.plan_trial(file, drive=drive, policies=FEW, progress=False)
        assert plan.passes == passes


@pytest.mark.parametrize(
    ("days", "passes", "loops"), [(1, 52, 6), (20, 2, 2), (30, 1, 1), (60, 0, 0)]
)
def test_passes_of_a_timed_run_fit_into_simulated_time(
    days: int, passes: int, loops: int, tmp_path: Path
) -> None:
    gap = days * 864_000_000_000 // 20_000
    file = written(tmp_path / "t.csv", [(gap * at, "Write", at) for at in range(20_001)])
    plan = trial_plan.plan_trial(file, policies=FEW, progress=False)
    assert plan.passes == passes
    functional = plan.device("greedy")
    assert plan.plan_run("", functional, "greedy", 1, {}).config["workload.loops"] == 6
    if not passes:
        ranked = {"recorded": Ranking({"greedy": Predicted((2.0, 2.0), 2.0)})}
        runs = trial.Runs(plan, cast("Any", None), False, 2, 1.0)
        done = cast("Any", SimpleNamespace(rankings=ranked))
        assert runs.timed(done, ["greedy"], None) == (None, {"greedy": trial.TOO_LONG}, ())
        return
    keys = {key: one for key, one in functional.keys.items() if key not in scale.FUNCTIONAL}
    config = plan.plan_run("", replace(functional, keys=keys), "greedy", 1, {}).config
    assert config["run.mode"] == "timed"
    assert config["workload.loops"] == loops
    warmup = config["workload.warmup_share"]
    assert warmup == (0.2 if loops == 1 else max(1, min(4, loops - 1)) / loops)


def test_a_drive_that_is_smaller_than_the_trace_is_refused(trace: Path) -> None:
    small: dict[str, object] = {"device.channels": 1, "device.chips_per_channel": 1}
    small |= {"device.blocks_per_plane": 64, "device.pages_per_block": 32}
    with pytest.raises(ssdlab.ConfigError, match="trace touches 176 MiB: expected a drive"):
        ssdlab.try_trace(trace, policies=FEW, set=small, progress=False)


def test_arrivals_that_overload_the_drive_have_no_latency(tmp_path: Path) -> None:
    fast = skewed(tmp_path / "fast.csv", 10)
    done = ssdlab.try_trace(fast, policies={"greedy": FEW["greedy"]}, seeds=2, progress=False)
    assert "overload" in done.latency_doubt
    assert "--pace closed" in " ".join(done.screen())
    assert done.latency is None
    closed = {"host.mode": "closed", "host.queue_depth": 32}
    paced = ssdlab.try_trace(
        fast, policies={"greedy": FEW["greedy"]}, seeds=2, progress=False, set=closed
    )
    assert "overload" not in paced.latency_doubt


def test_a_trace_that_touches_little_has_numbers_and_no_verdict(tmp_path: Path) -> None:
    draw = random.Random(1)
    lines = [(2000 * at, "Write", draw.randrange(9000)) for at in range(20_000)]
    file = written(tmp_path / "t.csv", lines)
    done = ssdlab.try_trace(file, policies=FEW, seeds=2, progress=False)
    assert done.verdict is None
    assert "at least 32 are needed" in done.doubts[0]
    assert "no verdict" in "\n".join(done.screen())
    alike = {"greedy": Predicted((1.00049,), None)}
    same = replace(done, rankings={name: Ranking(alike) for name in done.rankings})
    assert "greedy 1.000 in the trial" in "\n".join(same.screen())
    assert done.confidence == "none"
    assert set(done.policies) == set(FEW)
    # The first runs show that no verdict can come: no others are made.
    for ranking in done.rankings.values():
        for predicted in ranking.predicted.values():
            assert len(predicted.values) == 1
            assert predicted.interval is None
    assert done.latency is None
    assert done.latency_doubt == trial.NO_VERDICT
    assert "in the trial" in "\n".join(done.screen())
    assert "-" in done.summary()


def test_a_policy_that_the_drive_refuses_is_left_out(trace: Path) -> None:
    made = trial_plan.plan_trial(trace, set={"alloc.frontiers": "single"}, progress=False)
    assert set(made.refused) == {"greedy + sepbit", "cost-benefit + fadac"}
    assert all("frontiers" in why for why in made.refused.values())
    with pytest.raises(ssdlab.ConfigError, match="frontiers"):
        trial_plan.plan_trial(
            trace,
            policies={"sepbit": {"alloc.separation": "sepbit"}},
            set={"alloc.frontiers": "single"},
            progress=False,
        )


def test_a_named_drive_stays_itself(trace: Path) -> None:
    name = "drive:micron-7450-max-800"
    plan = trial_plan.plan_trial(trace, drive=name, policies=FEW, progress=False)
    whole = ssdlab.load_config(name)
    small = scale.timed_device(plan.drive, plan.pages)
    assert small is not None
    timed = plan.plan_run("greedy", small, "greedy", 1, {}).config
    for key in ("channels", "chips_per_channel", "planes_per_chip"):
        assert timed["device"][key] == whole["device"][key]
    assert timed["gc.trigger"] == whole["gc.trigger"]
    pages = [config["device.pages_per_block"] for config in (timed, whole)]
    # Erases take the share of a plane's time that they take in the whole drive.
    erase = whole["timing.erase_ns"] * pages[0] / pages[1]
    assert timed["timing"] == {**whole["timing"], "erase_ns": round(erase)}
    own = ("mode", "write_buffer_pages", "write_buffer_threshold")
    assert timed["host"] == {**whole["host"], **{key: timed["host"][key] for key in own}}


def test_keys_of_the_drive_are_those_of_its_trials(trace: Path) -> None:
    keys = {"device.channels": 4, "device.pages_per_block": 768, "host.write_buffer_pages": 64}
    plan = trial_plan.plan_trial(trace, policies=FEW, set=keys, progress=False)
    assert plan.drive["device.channels"] == 4
    assert plan.device("greedy") == trial_plan.plan_trial(
        trace, policies=FEW, progress=False
    ).device("greedy")
    for run in plan.functional_runs(1, 1):
        assert run.config["device.channels"] == 1
        assert run.config["device.blocks_per_plane"] == plan.device("greedy").blocks
        assert run.config["host.write_buffer_pages"] == 0
    small = scale.timed_device(plan.drive, plan.pages)
    assert small is not None
    timed = plan.plan_run("greedy", small, "greedy", 1, {}).config
    assert timed["device.channels"] == 4
    assert timed["host.write_buffer_pages"] == 32


def test_a_capacity_that_is_set_is_that_of_the_drive(trace: Path) -> None:
    keys = {"device.user_capacity": "900 GB"}
    plan = trial_plan.plan_trial(trace, set=keys, progress=False)
    assert not plan.refused
    pool = scale.Pool.of(plan.drive_with("greedy"))
    (run, *_) = plan.functional_runs(1, 1)
    device = run.config.values["device"]
    planes = device["channels"] * device["chips_per_channel"] * device["planes_per_chip"]
    raw = planes * device["blocks_per_plane"] * device["pages_per_block"]
    assert raw / device["user_pages"] - 1 == pytest.approx(pool.over_provisioning, rel=0.03)


def test_no_run_is_made_twice(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def noted(planned: Sequence[PlannedRun], *others: Any) -> FinishedRuns:  # noqa: ANN401
        made.extend(run.config.text for run in planned)
        return run_into(planned, *others)

    monkeypatch.setattr(trial, "run_into", noted)
    done = ssdlab.try_trace(trace, policies=FEW, seeds=2, progress=False)
    assert done.latency is not None
    assert {label: list(by_seed) for label, by_seed in done.latency.repetitions.items()} == {
        "greedy": [1, 2]
    }
    timed = [text for text in made if json.loads(text)["run"]["mode"] == "timed"]
    assert len(timed) == 2
    assert len(made) == len(set(made))


@pytest.mark.parametrize(
    ("wafs", "found"),
    [
        ([2.0], 0),  # as on the drive
        ([2.6, 2.2, 2.01], 2),
        ([2.6, 1.9, 2.3, 2.4, 2.5], 1),  # the last one is further away
        ([2.6, 1.9, None], 1),  # its run did not finish
        ([2.6, 2.4, 2.2, 2.15, 2.1, 2.0], 4),  # no sixth run is made
    ],
)
def test_the_timed_device_is_the_nearest_that_was_measured(
    wafs: list[float | None], found: int, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def batch(_: object, planned: list[PlannedRun], *__: object) -> Any:  # noqa: ANN401
        (run,) = planned
        waf = wafs[len(made)]
        made.append(run.config["device.user_pages"] + run.config["device.blocks_per_plane"])
        report = SimpleNamespace(waf=SimpleNamespace(total=waf))
        return SimpleNamespace(reports={} if waf is None else {"greedy": report})

    plan = trial_plan.plan_trial(trace, policies=FEW, progress=False)
    devices: list[scale.ScaledDevice] = []

    def device(drive: ssdlab.Config, pages: int, provision: float = 0.145) -> scale.ScaledDevice:
        of = scale.functional_device(drive, pages)
        keys = {**of.keys, "device.over_provisioning": provision}
        devices.append(replace(of, keys=keys))
        return devices[-1]

    monkeypatch.setattr(scale, "timed_device", device)
    monkeypatch.setattr(trial.Runs, "_batch", batch)
    runs = trial.Runs(plan, cast("Any", None), False, 2, 1.0)
    assert runs._match_device("greedy", 2.0) is devices[found]
    assert len(made) == min(len(wafs), trial.MATCHES)


def test_the_search_for_an_over_provisioning_follows_the_newest_two_runs() -> None:
    # WAF - 1 is in inverse proportion: 1.5 at 0.1, 1 at 0.15, so 0.75 at 0.2.
    assert scale.next_provision([(9.0, 9.0), (0.1, 2.5), (0.15, 2.0)], 1.75) == pytest.approx(0.2)
    # A first run has no other one beside it.
    assert scale.next_provision([(0.1, 2.0)], 1.5) == pytest.approx(0.1 * 2 ** (1 / 1.3))
    # Runs that differ by chance neither, and no step is longer than a factor of two.
    rising = [(0.1, 2.0), (0.2, 2.1)]
    assert scale.next_provision(rising, 1.9) == pytest.approx(0.2 * (1.1 / 0.9) ** (1 / 1.3))
    assert scale.next_provision([(0.1, 2.0)], 1.0) == pytest.approx(0.1 * math.exp(0.7))
    assert scale.next_provision([(0.1, 2.0)], 9.0) == pytest.approx(0.1 / math.exp(0.7))


def test_the_command_says_what_it_does_and_answers(trace: Path, tmp_path: Path) -> None:
    command = ("try", trace, "--seeds", "2", "--out", "out", "--pace", "closed")
    done = ssdlab_command(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    timed = [file.read_text() for file in (tmp_path / "out" / "time").rglob("config.toml")]
    assert timed
    assert all('mode = "closed"' in text for text in timed)
    values = json.loads((tmp_path / "out" / "try.json").read_text())
    assert done.stdout.splitlines() == values["screen"]
    assert too_wide(done.stdout) == []
    assert set(values["waf"]["recorded"]) == set(trial_plan.POLICIES)
    again = ssdlab_command("try", trace, "--seeds", "2", "--out", "out", cwd=tmp_path)
    assert again.returncode == 2
    assert "--force" in again.stderr


def test_a_trial_that_timeout_ends_is_kept(trace: Path, tmp_path: Path) -> None:
    # `timeout` signals its command, and then the group, to which the command belongs.
    words = ["try", str(trace), "--out", "out", "--no-open"]
    done = signalled_at("workload", words, tmp_path, signal.SIGTERM, times=2)
    refused(done, 130, "interrupted: the completed part is kept", out_is_empty=False)
    values = json.loads((tmp_path / "out/try.json").read_text())
    assert values["completed"] is False
    nothing_left(tmp_path, "out")


@pytest.mark.parametrize("batch", [0, 1])
def test_an_interrupt_within_a_timed_run_tells_nothing_of_the_drive(
    batch: int, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed: list[Sequence[PlannedRun]] = []

    def cut(planned: Sequence[PlannedRun], *others: Any) -> FinishedRuns:  # noqa: ANN401
        done = run_into(planned, *others)
        if planned[0].config["run.mode"] == "timed":
            timed.append(planned)
            if len(timed) == batch + 1:
                # What has piled up by then looks like an overload, and the run like an invalid one.
                done.reports = {one: cut_off(report) for one, report in done.reports.items()}
                done.interrupted = True
        return done

    def cut_off(report: Report) -> Report:
        end = "the run ended after 10 requests, within its warm-up"
        of: dict[str, Any] = {
            "little": replace(report.little, peak_in_system=trial.DEEP),
            "latency": replace(report.latency, write=replace(report.latency.write, p99=None)),
        }
        return replace(report, completed=False, warnings=(end,), invalidating=1, **of)

    monkeypatch.setattr(trial, "run_into", cut)
    out = tmp_path / "out"
    with pytest.raises(ssdlab.Interrupted) as stopped:
        ssdlab.try_trace(trace, policies=FEW, seeds=2, progress=False, out=out)
    done = stopped.value.trial
    assert done is not None
    assert len(timed) == batch + 1
    values = json.loads((out / "try.json").read_text())
    assert values["latency_doubts"] == dict.fromkeys(done.named, "interrupted")
    rows = dict(done.rows())
    assert rows["answer"].startswith("no policy writes less than greedy")
    assert rows["write p99.9"] == "none: interrupted"
    assert rows["next"] == f"ssdlab try {trace} --seeds 2 --out {out} --force"
    assert "overload" not in done.summary() + (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("first", "answer"),
    [
        (True, "no verdict: 4 of 4 predictions have fewer than 2 seeds, because the trial was"),
        (False, "no policy writes less than greedy"),
    ],
)
def test_an_interrupt_between_seeds_leaves_no_verdict_on_one_of_them(
    first: bool, answer: str, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(planned: Sequence[PlannedRun], *others: Any) -> FinishedRuns:  # noqa: ANN401
        done = run_into(planned, *others)
        seed = max(one.seed or 0 for one in planned)
        if seed > 1:
            wanted = 2 if first else seed
            done.reports = {
                one: replace(report, completed=one.seed != wanted)
                for one, report in done.reports.items()
            }
            done.interrupted = True
        return done

    monkeypatch.setattr(trial, "run_into", cut)
    with pytest.raises(ssdlab.Interrupted) as stopped:
        ssdlab.try_trace(trace, policies=FEW, seeds=2 if first else 3, progress=False)
    done = stopped.value.trial
    assert done is not None
    # Seeds that were cut off do not count.
    wafs = [one for ranking in done.rankings.values() for one in ranking.predicted.values()]
    assert {len(one.values) for one in wafs} == {1 if first else 2}
    assert (done.verdict is None) is first
    rows = dict(done.rows())
    assert rows["answer"].startswith(answer)
    assert rows["write p99.9"] == "none: interrupted"


def test_an_interrupt_before_anything_has_settled_leaves_no_verdict(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[Sequence[PlannedRun]] = []

    def cut(planned: Sequence[PlannedRun], *others: Any) -> FinishedRuns:  # noqa: ANN401
        done = run_into(planned, *others)
        batches.append(planned)
        done.interrupted = len(batches) == 2
        done.reports = {
            one: replace(
                report,
                completed=not done.interrupted,
                steady_state=replace(report.steady_state, reached=False),
            )
            for one, report in done.reports.items()
        }
        return done

    monkeypatch.setattr(trial, "run_into", cut)
    monkeypatch.setattr(trial_plan.Plan, "is_periodic", lambda *_: False)
    with pytest.raises(ssdlab.Interrupted) as stopped:
        ssdlab.try_trace(trace, policies=FEW, seeds=2, progress=False)
    done = stopped.value.trial
    assert done is not None
    assert len(batches) == 2
    assert done.verdict is None
    assert not done.unpredicted
    assert dict(done.rows())["answer"] == (
        "no verdict: 4 of 4 predictions are missing, because the trial was interrupted"
    )
    assert "has not settled" not in done.summary()


WRONG = [
    ([(0, "Read", 1), (1, "Read", 2)], [], "writes nothing"),
    ([(5, "Write", 1), (1, "Write", 2)], [], "--sort"),
    ([(at, "Write", at) for at in range(50)], ["--drive", "micron"], "there are: tlc-960gb, "),
    ([(at, "Write", at) for at in range(50)], ["--drive", ""], "--drive '': no such drive"),
    (
        [(at, "Write", at) for at in range(50)],
        ["--budget", "soon"],
        "--budget soon: expected a time",
    ),
    ([(at, "Write", at) for at in range(50)], ["--seeds", "1"], "x>=2"),
    ([(at, "Write", at) for at in range(50)], ["--set", "gc.victum=fifo"], 'did you mean "victim"'),
    ([(at, "Write", at) for at in range(50)], ["--drive", "raid.toml"], "parity groups span pools"),
    ([], [], "empty"),
]


@pytest.mark.parametrize(("lines", "arguments", "words"), WRONG)
def test_bad_input_is_told_before_anything_runs(
    lines: list[tuple[int, str, int]], arguments: list[str], words: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "t.csv", lines)
    (tmp_path / "raid.toml").write_text('preset = "deferred-gc-raid"\n')
    done = ssdlab_command("try", file, *arguments, "--out", "out", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("page", [[5], [5] * 30, list(range(50))])
def test_a_trace_of_next_to_nothing_gets_one_sentence(page: list[int], tmp_path: Path) -> None:
    file = written(tmp_path / "t.csv", [(at, "Write", one) for at, one in enumerate(page)])
    done = ssdlab_command("try", file, "--seeds", "2", "--out", "out", cwd=tmp_path)
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    if done.returncode == 0:
        assert "no verdict" in done.stdout
