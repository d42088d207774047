"""Traces that say little, and bounds that nothing meets: an answer, or a sentence and code 2."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from running import STEADY, refused, signalled_at, ssdlab_command

DAY_TICKS = 24 * 36_000_000_000
"""Of 100 ns, as MSR's traces have them."""


def lines(name: str) -> Iterator[str]:
    stream = random.Random(1)
    begin = 128_166_372_003_061_629

    def line(at: int, op: str, page: int) -> str:
        return f"{begin + at},host,0,{op},{4096 * page},4096,100\n"

    if name == "one":
        yield line(0, "Write", 1)
    for i in range(2000):
        if name == "reads":
            yield line(1000 * i, "Read", i % 100)
        if name == "page":
            yield line(1000 * i, "Write", 1)
        if name == "wide":
            yield line(1000 * i, "Write", stream.randrange(2**32))
        if name in ("large", "larger"):
            place = stream.randrange(150_000_000 if name == "large" else 2**31)
            yield line(10_000_000 * i, "Write", place).replace(",4096,100", f",{1 << 30},100")
        if name == "again":
            place = (i % 10) << 18
            yield line(10_000_000 * i, "Write", place).replace(",4096,100", f",{1 << 30},100")
        if name == "days":
            yield line(30 * DAY_TICKS // 2000 * i, "Write", stream.randrange(500))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("odd")
    for name in ("one", "reads", "page", "wide", "large", "larger", "again", "days"):
        (made / f"{name}.csv").write_text("".join(lines(name)))
    return made


@pytest.mark.parametrize("name", ["one", "page", "wide", "days"])
def test_a_trial_of_little_has_no_verdict_and_says_what_it_takes(name: str, folder: Path) -> None:
    words = ["--no-open", "--seeds", "2", "--out", f"t-{name}"]
    done = ssdlab_command("try", f"{name}.csv", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "no verdict: the trace touches so little that" in text
    # 683 erase units of 32 pages of 4 KiB each, less the over-provisioning.
    assert "use a trace that touches 74.6 MiB or more" in text
    assert "confidence none" in text
    page = (folder / f"t-{name}" / "report.html").read_text()
    # No ratio is drawn where none is known, and "use" has no microseconds in it.
    assert 'id="waf-plot"' not in page
    assert "needed: use a trace" in page


@pytest.mark.parametrize("verb", ["try", "plan"])
def test_an_answer_is_a_success_and_a_run_that_could_not_finish_is_none(
    verb: str, folder: Path
) -> None:
    bound = ["--waf", "2"] * (verb == "plan")
    words = [verb, "page.csv", *bound, "--seeds", "2", "--no-html", "--out"]
    done = ssdlab_command(*words, f"{verb}-answered", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "no verdict" in done.stdout
    worn = ("--set", "wear.endurance=1")
    refused(
        ssdlab_command(*words, f"{verb}-worn", *worn, cwd=folder),
        1,
        "error: ",
        "is worn out",
        out_is_empty=False,
    )


def test_a_trace_of_reads_has_nothing_to_collect(folder: Path) -> None:
    for verb in ("try", "plan"):
        done = ssdlab_command(verb, "reads.csv", *(["--years", "5"] * (verb == "plan")), cwd=folder)
        refused(done, 2, "reads.csv: the trace writes nothing: there is nothing to collect")
    done = ssdlab_command("run", "greedy-8ch", "--trace", "reads.csv", cwd=folder)
    assert done.returncode == 0
    assert "no GC happened, because the host wrote nothing" in done.stdout
    space = ("--space", "gc.victim=greedy,fifo", "--minimize", "waf")
    done = ssdlab_command("search", "greedy-8ch", *space, "--trace", "reads.csv", cwd=folder)
    refused(done, 2, "waf: baseline has no such number", out_is_empty=False)


@pytest.mark.parametrize("verb", ["try", "plan"])
def test_a_pipe_is_refused_since_it_can_be_read_only_once(verb: str, folder: Path) -> None:
    options = ["--waf", "2"] if verb == "plan" else ["--no-open"]
    done = ssdlab_command(verb, "-", *options, cwd=folder)
    refused(done, 2, "TRACE", "reads its trace several times", "write it to a file")


def test_a_trace_without_times_needs_a_rate_for_years(folder: Path) -> None:
    done = ssdlab_command("plan", "one.csv", "--years", "5", cwd=folder)
    refused(done, 2, "the requests of one.csv span no time", "--set wear.daily_writes=500GB")


def test_a_trace_that_is_wider_than_the_device_names_what_fits_it(folder: Path) -> None:
    done = ssdlab_command("run", "greedy-8ch", "--trace", "wide.csv", "--out", "w", cwd=folder)
    refused(done, 2, "wide.csv, line 1: expected addresses on the device", 'fit = "compact"')


def test_bounds_that_nothing_meets_name_the_nearest(folder: Path) -> None:
    words = ["--space", "gc.victim=greedy,fifo", "--minimize", "waf", "--subject-to", "waf < 0.5"]
    steady = [word for key, value in STEADY.items() for word in ("--set", f"{key}={value}")]
    sets = [*steady, "--out", "s"]
    done = ssdlab_command("search", "greedy-8ch", *words, *sets, cwd=folder)
    assert done.returncode == 2
    assert "error: no point meets waf < 0.5: the nearest, greedy, misses" in done.stderr


def test_a_trace_that_touches_more_than_the_drive_is_refused(folder: Path) -> None:
    (folder / "small.toml").write_text(
        "[device]\nchannels = 1\nchips_per_channel = 1\nplanes_per_chip = 1\n"
        "blocks_per_plane = 40\npages_per_block = 32\nover_provisioning = 0.15\n"
    )
    told = "--drive: it has 4.35 MiB, and the trace touches 7.81 MiB: expected a drive with"
    for verb in (("try",), ("plan", "--waf", "2")):
        words = [*verb, "wide.csv", "--drive", "small.toml", "--out", "m"]
        refused(ssdlab_command(*words, cwd=folder), 2, told)
        assert not (folder / "m").exists()


@pytest.mark.parametrize("name", ["large", "larger"])
def test_a_trace_that_writes_more_than_a_trial_can_names_the_part_that_it_takes(
    name: str, folder: Path
) -> None:
    part = "--set workload.until=1024.000s"
    # Both verbs read the trace in the same way, which takes long for the larger one.
    for verb in (("try",), ("plan", "--waf", "2"))[: 1 if name == "larger" else 2]:
        done = ssdlab_command(*verb, f"{name}.csv", "--out", "l", cwd=folder)
        told = f"{name}.csv: the first 1,025 requests write more than 268,435,456 pages of 4 KiB"
        refused(done, 2, told, "(1 TiB)", f"use a part of it, such as {part}")
        assert not (folder / "l").exists()
    if name == "larger":
        words = ["try", "larger.csv", "--out", "l", *part.split()]
        done = ssdlab_command(*words, cwd=folder)
        refused(done, 2, "--drive: it has 895 GiB, and the trace touches")


def test_a_trace_beyond_any_device_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    lines = (f"{at},{'R' if at else 'W'},{at << 21},{1 << 21}" for at in range(20_000))
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    columns = "time=1:s,op=2,offset=3:sectors,size=4:sectors"
    words = ["try", "t.csv", "--columns", columns, "--out", "o"]
    done = ssdlab_command(*words, cwd=tmp_path)
    refused(
        done, 2, "t.csv: the trace touches 2^32 pages or more, which is more than any device has"
    )


@pytest.mark.parametrize("stage", ["precondition", "reading"])
def test_an_interrupt_of_the_first_runs_leaves_no_verdict(stage: str, folder: Path) -> None:
    sets = ["--set", "precondition.overwrite=1000", "--set", "workload.until=20s"]
    words = ["try", "again.csv", *sets, "--no-html", "--out", f"i-{stage}"]
    done = signalled_at(stage, words, folder)
    refused(done, 130, "interrupted", out_is_empty=stage == "reading")
    if stage == "precondition":
        assert "no verdict: 12 of 12 predictions are missing" in done.stdout
    else:
        assert not (folder / f"i-{stage}").exists()
