"""Traces that say too little about a drive: no verdict, and the command that would say more."""

from __future__ import annotations

import html
import json
import random
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import ssdlab
from running import ssdlab_command
from ssdlab.config.resolve import DEFAULT_DRIVE, load_config
from ssdlab.results.text import WIDTH, pasted
from ssdlab.running import scale, scarce, spare_plan, trial, trial_plan
from ssdlab.running.execution import Execution
from ssdlab.running.fitted import totals

PAGES = 25_000


def written(path: Path, lines: Iterable[tuple[str, int]]) -> Path:
    """A trace of requests for pages of 4 KiB, a millisecond apart."""
    rows = (f"{1000 * at},{op},{4096 * page},4096\n" for at, (op, page) in enumerate(lines))
    path.write_text("timestamp_us,op,offset_bytes,size_bytes\n" + "".join(rows))
    return path


def share(file: Path, **keys: object) -> float:
    config = load_config(DEFAULT_DRIVE, trace=file, set=keys)
    return scarce.invalidated_share(config, totals(config, 1 << 28))


ONCE = [("W", page) for page in range(100)]
CASES = [
    (ONCE, 0.0),
    # Reads are no overwrites, and make no difference to what is one.
    ([*ONCE, *(("R", page) for page in range(300))], 0.0),
    ([*ONCE, ("W", 7), ("R", 500)], 1 / 101),
    ([*ONCE, *ONCE[:25]], 0.2),
    # A page that is discarded is invalid, too.
    ([*ONCE, *(("D", page) for page in range(50))], 0.5),
    ([*ONCE, *(("D", page) for page in range(5))], 0.05),
]


@pytest.mark.parametrize(("lines", "expected"), CASES)
def test_overwrites_and_discards_are_counted(
    lines: list[tuple[str, int]], expected: float, tmp_path: Path
) -> None:
    found = share(written(tmp_path / "t.csv", lines))
    assert found == pytest.approx(expected)
    assert bool(scarce.doubt(found)) == (expected < 0.1)


def test_larger_pages_are_overwritten_where_their_bytes_are_not(tmp_path: Path) -> None:
    file = written(tmp_path / "t.csv", ONCE)
    assert share(file, **{"device.page_size": "16 KiB"}) == 0.75


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("once")
    return written(folder / "once.csv", (("W", page) for page in range(PAGES)))


def test_what_a_reader_of_the_trace_should_know_is_said(tmp_path: Path) -> None:
    """The warnings are those of `trace info`: here how the columns were guessed."""
    rows = "".join(f"{at / 100:.2f},W,{100 * at + 7},4096\n" for at in range(60))
    (tmp_path / "t.csv").write_text("time_s,op,lba,size_bytes\n" + rows)
    known = ssdlab.Trace(tmp_path / "t.csv").info().source.warnings
    assert len(known) == 1
    expected = known[0].replace(f"{tmp_path}/", "")
    for verb in (["try", "--no-open"], ["plan", "--waf", "2"]):
        made = ssdlab_command(*verb, "t.csv", "--details", "--out", verb[0], cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        assert f"warning: {expected}\n" in made.stderr
        assert expected in " ".join(made.stdout.split())
        results = json.loads((tmp_path / verb[0] / f"{verb[0]}.json").read_text())
        assert results["warnings"] == [expected]
        assert html.escape(expected) in (tmp_path / verb[0] / "report.html").read_text()


def test_a_trace_that_overwrites_nothing_decides_nothing(once: Path) -> None:
    made = ssdlab_command("try", once.name, "--out", "out", "--no-open", cwd=once.parent)
    assert made.returncode == 0, made.stderr
    text = " ".join(made.stdout.split())
    assert "no verdict: the trace overwrites nothing: it writes every page once" in text
    assert "confidence none next ssdlab trace info once.csv" in text
    for number in ("WAF", "p99.9", "years", "spare"):
        assert number not in text
    assert [*(once.parent / "out").rglob("report.json")] == []
    asked = spare_plan.ask(once, spare_plan.bounds_of(None, None, 2.0), progress=False)
    with Execution(None, 1, None, None, False, False, False).runner(1) as runner:
        how = Execution(None, 1, None, None, False, False, False)
        planned = spare_plan.run_plan(asked, runner, how, 2, 1.0)
    assert planned.doubt.startswith("the trace overwrites nothing")
    assert dict(planned.rows())["next"] == f"ssdlab trace info {shlex.quote(str(once))}"


def test_the_pages_of_several_volumes_lie_side_by_side(tmp_path: Path) -> None:
    file = tmp_path / "two.csv"
    rows = (f"{128166372003061629 + at},h,{at % 2},Write,{4096 * at},4096,0\n" for at in range(50))
    file.write_text("".join(rows))
    plan = trial_plan.plan_trial(file, set={"workload.volume": "all"}, progress=False)
    text = trial._read(plan)
    assert text.endswith(". The trial puts the pages that its volumes touch side by side")
    assert "TiB" not in text


def test_a_policy_without_separation_has_none_on_a_drive_that_separates(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    rows = (f"{128166372003061629 + at},h,0,Write,{4096 * (at % 40)},4096,0\n" for at in range(80))
    file.write_text("".join(rows))
    keys = {"alloc.separation": "sepbit", "precondition.steady_state": "none"}
    drive = ssdlab.load_config(DEFAULT_DRIVE, set=keys)
    plan = trial_plan.plan_trial(file, drive=drive, progress=False)
    for policy in plan.policies:
        separation = plan.drive_with(policy)["alloc.separation.policy"]
        assert separation == (policy.partition(" + ")[2] or "none")


def test_a_trace_with_few_overwrites_says_how_few(once: Path) -> None:
    draw = random.Random(1)
    pages = [*range(PAGES), *(draw.randrange(PAGES) for _ in range(PAGES // 20))]
    file = written(once.parent / "few.csv", (("W", page) for page in pages))
    done = ssdlab.try_trace(file, progress=False)
    assert done.verdict is None
    assert done.doubts[0].startswith("the trace overwrites or discards only 4.76 % of the pages")


def test_the_next_command_makes_the_trace_large_enough(tmp_path: Path) -> None:
    draw = random.Random(2)
    lines = [("W", draw.randrange(6000)) for _ in range(20_000)]
    written(tmp_path / "short.csv", lines)
    made = ssdlab_command("try", "short.csv", "--seeds", "2", "--no-open", cwd=tmp_path)
    assert "no verdict: the trace touches so little" in " ".join(made.stdout.split())
    command = made.stdout.partition("next ")[2]
    merge, _, again = command.replace("\\\n", "").partition(" && ")
    program = f"{shlex.quote(sys.executable)} -m ssdlab"
    shell = merge.strip().replace("ssdlab", program, 1)
    subprocess.run(["sh", "-c", shell], cwd=tmp_path, check=True, capture_output=True)
    verb, trace, *options = shlex.split(again)[1:]
    assert verb == "try"
    assert options == ["--set", "workload.volume=all", "--seeds", "2"]
    plan = trial_plan.plan_trial(tmp_path / trace, set={"workload.volume": "all"}, progress=False)
    assert plan.device("greedy").pages >= scale.FEWEST_PAGES


def test_a_part_of_a_trace_is_followed_by_the_whole() -> None:
    cut = {"workload.until": "1s", "workload.format": "msr", "gc.window": 4}
    words = "--set workload.format=msr --set gc.window=4"
    whole = scarce.whole_file_command("a b.csv", cut, " --drive x", " --seeds 3")
    assert whole == f"ssdlab try 'a b.csv' --drive x {words} --seeds 3"
    one = scarce.whole_file_command("t.csv", {"workload.volume": 3}, "", "")
    assert one == "ssdlab try t.csv --set workload.volume=all"
    keys = {"workload.volume": "all", "workload.unit": "pages"}
    assert scarce.whole_file_command("t.csv", keys, "", "") == ""
    # More copies than are useful, or a name that a shell takes for several.
    for trace, factor in (("t.csv", 1000), ("a b.csv", 2)):
        expected = f"ssdlab trace info {shlex.quote(trace)}"
        assert scarce.copies_command(trace, {}, factor, "", "") == expected


@pytest.mark.parametrize(
    "command",
    [
        "ssdlab try t.csv --details",
        "ssdlab try '" + 8 * "a long name " + ".csv' --drive 'my drive.toml' --set gc.window=8",
        "ssdlab trace merge $(yes t.csv | head -n 9) --out t-9.ssdtrace && ssdlab try t-9.ssdtrace"
        """ --set 'workload.columns=time=a b,op="c d"' --details""",
    ],
)
def test_a_command_in_several_lines_is_one_for_a_shell(command: str) -> None:
    lines = [*pasted("next".ljust(12), command)]
    assert all(len(line) <= WIDTH or "long name" in line for line in lines)
    assert all(line.endswith(" \\") for line in lines[:-1])
    text = "\n".join([lines[0][12:], *lines[1:]])
    assert shlex.split(text.replace("\\\n", "")) == shlex.split(command)
