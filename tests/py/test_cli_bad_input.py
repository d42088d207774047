"""Whatever a user gets wrong is said clearly, with the right exit code and nothing left behind."""

import gzip
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from running import (
    COMMAND,
    HANG_S,
    SMALL,
    SMALL_TOML,
    nothing_left,
    refused,
    report_of,
    sets,
    signalled_at,
    ssdlab_command,
    ssdlab_process,
)

LINE = "7,0 0 0 {seconds:.6f} 0 Q {op} {sector} + {sectors}\n"


def trace_line(seconds: float, sector: int, sectors: int = 8, op: str = "WS") -> str:
    return LINE.format(seconds=seconds, op=op, sector=sector, sectors=sectors)


# ---------------------------------------------------------------- configurations

BAD_CONFIGS: list[tuple[str, list[str]]] = [
    ("[device]\nchanels = 4\n", ["bad.toml:2: device.chanels: unknown key", '"channels"']),
    ("[devise]\n", ["bad.toml:1: devise: unknown table", "[device]"]),
    ("[timing]\nread = 25\n", ["timing.read: found 25", "a time with its unit"]),
    ('[timing]\nread = "4 KiB"\n', ["timing.read", "which is a size"]),
    ('[device]\npage_size = "4 KB"\n', ["device.page_size", "no unit", "KiB"]),
    ("[device]\nplanes_per_chip = 0\n", ["device.planes_per_chip: found 0", "from 1 to 64"]),
    ("[device]\nchannels = -1\n", ["device.channels: found -1"]),
    ("[gc]\nreserve = 200\n", ["gc.reserve", "spare", "lower gc.reserve"]),
    (
        "[device]\nchannels = 64\nblocks_per_plane = 16777216\npages_per_block = 4096\n",
        ["device.blocks_per_plane", "pages; the maximum is 2147483648"],
    ),
    ('[gc]\nvictim = "gredy"\n', ["gc.victim", '"greedy"']),
    ('preset = "nothing"\n', ["preset", "nothing", "greedy-8ch"]),
    ("[device\n", ["bad.toml:1"]),
    ("[device]\nchannels = \x00\n", ["bad.toml"]),
]


@pytest.mark.parametrize(("text", "words"), BAD_CONFIGS)
def test_bad_config(text: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(text)
    first = text == BAD_CONFIGS[0][0]
    verbs = (["run"], ["compare"], ["config", "check"], ["config", "show"])
    for verb in verbs if first else verbs[:1]:
        refused(ssdlab_command(*verb, "bad.toml", cwd=tmp_path), 2, *words)
    nothing_left(tmp_path, "bad.toml")


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[device]\nchanels = 4\n[timing]\nread = 5\n[gc]\nx = 1\n")
    done = ssdlab_command(
        "run", "bad.toml", "--set", "workload.size=3", "--seed", "-4", cwd=tmp_path
    )
    refused(done, 2, "5 errors", "device.chanels", "timing.read", "gc.x", "workload.size", "-4")


def test_unknown_names(tmp_path: Path) -> None:
    refused(ssdlab_command("run", "greedy-8hc", cwd=tmp_path), 2, "did you mean greedy-8ch?")
    refused(ssdlab_command("run", "none.toml", cwd=tmp_path), 2, "none.toml: no such file")
    refused(ssdlab_command("run", ".", cwd=tmp_path), 2, "cannot be read")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    refused(ssdlab_command("run", "binary.toml", cwd=tmp_path), 2, "byte 0 is not UTF-8")
    remedy = "to try it as a trace: ssdlab try binary.toml"
    refused(ssdlab_command("run", "binary.toml", cwd=tmp_path), 2, remedy)
    done = ssdlab_command("run", "greedy-8ch", "--set", "gc.victim", cwd=tmp_path)
    refused(done, 2, "--set gc.victim: expected KEY=VALUE")
    done = ssdlab_command("compare", "greedy-8ch", "--vary", "gc.victim=", cwd=tmp_path)
    refused(done, 2, "--vary gc.victim: nothing to vary")
    done = ssdlab_command("compare", "greedy-8ch", "--vary", "gc.victim=fifo,best", cwd=tmp_path)
    refused(done, 2, "gc.victim", "best")


@pytest.mark.parametrize("words", [["runn"], ["run"], ["list", "x"], ["run", "a", "--jobs", "1"]])
def test_usage(words: list[str], tmp_path: Path) -> None:
    refused(ssdlab_command(*words, cwd=tmp_path), 2, "Usage:")


def test_device_larger_than_memory(tmp_path: Path) -> None:
    huge = {"device.blocks_per_plane": 1 << 14, "device.pages_per_block": 4096}
    done = ssdlab_command(
        "run", "greedy-8ch", *sets(huge), "--set", "device.over_provisioning=0.07", cwd=tmp_path
    )
    if "GiB are available" not in done.stderr:
        pytest.skip("this machine holds 2^31 flash pages")
    refused(done, 2, "GiB of memory", "fewer blocks")


# ---------------------------------------------------------------- traces

GOOD = trace_line(0.1, 0) + trace_line(0.2, 8)
LONGER = "".join(trace_line(i / 100, i * i % 997 * 8) for i in range(500))
BAD_TRACES: list[tuple[str, bytes, list[str]]] = [
    ("empty", b"", ["the trace is empty"]),
    ("blank", b"\n\n", ["no events in 2 lines"]),
    ("binary", bytes(range(256)) * 8, ["binary data of no known format"]),
    ("garbage", b"hello, world\n", ["match no known format", "workload.format"]),
    ("torn", (GOOD + "7,0 0 0 0.3").encode(), ["line 3"]),
    ("unsorted", (GOOD + trace_line(0.15, 8)).encode(), ["line 3", "not before"]),
    ("beyond", trace_line(0.1, 1 << 33).encode(), ["workload.fit"]),
    ("overflow", trace_line(0.1, (1 << 64) - 1).encode(), ["line 1"]),
    ("zero", trace_line(0.1, 0, 0).encode(), ["line 1", "at least one sector"]),
    ("four-gib", trace_line(0.1, 0, 1 << 23).encode(), ["line 1", "(1 GiB)"]),
    ("cut.gz", gzip.compress(LONGER.encode())[:-20], ["cut short"]),
    ("cut.zst", b"\x28\xb5\x2f\xfd\x04", ["cut short"]),
]


@pytest.mark.parametrize(("name", "content", "words"), BAD_TRACES, ids=[t[0] for t in BAD_TRACES])
def test_bad_trace(name: str, content: bytes, words: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    for verb in ("run", "compare") if name == "empty" else ("run",):
        done = ssdlab_command(verb, "greedy-8ch", "--trace", name, "--out", "o", cwd=tmp_path)
        refused(done, 2, f"error: {name}", *words)
    nothing_left(tmp_path, name)


def test_trace_that_is_not_there(tmp_path: Path) -> None:
    done = ssdlab_command("run", "greedy-8ch", "--trace", "none", cwd=tmp_path)
    refused(done, 2, "none: cannot open the trace: No such file")
    refused(ssdlab_command("run", "greedy-8ch", "--trace", ".", cwd=tmp_path), 2, "directory")
    done = ssdlab_command("run", "greedy-8ch", "--trace", "-", cwd=tmp_path)
    refused(done, 2, "the trace is empty")
    assert not (tmp_path / "runs").exists()


def test_trace_on_standard_input(tmp_path: Path) -> None:
    done = ssdlab_command("run", "greedy-8ch", "--trace", "-", cwd=tmp_path, stdin=GOOD.encode())
    assert done.returncode == 0, done.stderr
    assert report_of(tmp_path / "runs/greedy-8ch")["requests"]["write"] == 2


# ---------------------------------------------------------------- output


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    return tmp_path


def test_existing_folder(small: Path) -> None:
    first = ssdlab_command("run", "small.toml", cwd=small)
    assert first.returncode == 0, first.stderr
    before = (small / "runs/small/report.json").read_bytes()
    refused(ssdlab_command("run", "small.toml", cwd=small), 2, "runs/small", "--force")
    assert (small / "runs/small/report.json").read_bytes() == before
    (small / "runs/small/notes.txt").write_text("mine")
    # What somebody else has put there is not lost.
    spared = ssdlab_command("run", "small.toml", "--force", cwd=small)
    refused(spared, 2, "runs/small: contains notes.txt, which is not from a run")
    (small / "runs/small/notes.txt").unlink()
    again = ssdlab_command("run", "small.toml", "--force", "--seed", "5", cwd=small)
    assert again.returncode == 0, again.stderr
    assert report_of(small / "runs/small")["provenance"]["seed"] == 5
    nothing_left(small / "runs", "small")
    done = ssdlab_command("compare", "small.toml", "--out", "runs/small", cwd=small)
    refused(done, 2, "contains a run; --force")


def test_force_spares_what_is_no_run(small: Path) -> None:
    (small / "precious").mkdir()
    (small / "precious/thesis.tex").write_text("...")
    for verb in ("run", "compare"):
        done = ssdlab_command(verb, "small.toml", "--out", "precious", "--force", cwd=small)
        refused(done, 2, "files that are not from a run")
    done = ssdlab_command("run", "small.toml", "--out", "small.toml", "--force", cwd=small)
    refused(done, 2, "is not a folder")
    nothing_left(small, "precious", "small.toml")
    nothing_left(small / "precious", "thesis.tex")


def test_empty_folder_is_taken(small: Path) -> None:
    (small / "mine").mkdir()
    done = ssdlab_command("run", "small.toml", "--out", "mine", cwd=small)
    assert done.returncode == 0, done.stderr
    assert report_of(small / "mine")["completed"]


def test_unwritable_place(small: Path) -> None:
    done = ssdlab_command("run", "small.toml", "--out", "small.toml/run", cwd=small)
    refused(done, 2, "small.toml/run: cannot be created")
    nothing_left(small, "small.toml")
    if os.getuid() == 0:
        return
    (small / "closed").mkdir(mode=0o500)
    done = ssdlab_command("run", "small.toml", "--out", "closed/run", cwd=small)
    refused(done, 2, "closed/run: cannot be created: Permission denied")


def no_large_files() -> None:
    """From here on no file may grow beyond 3250 bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (3250, 3250))


@pytest.mark.parametrize("log", [False, True])
def test_disk_full(log: bool, small: Path) -> None:
    options = ["--set", f"metrics.op_log={str(log).lower()}", "--out", "o"]
    done = ssdlab_process("run", "small.toml", *options, cwd=small, limit=no_large_files)
    name = "o/state.csv.zst" if log else "o/series.csv"
    refused(done, 2, f"error: {name}: cannot be written: File too large", out_is_empty=False)
    # The numbers of a run that was made are not lost with its files.
    assert ("write amplification" in done.stdout) != log
    nothing_left(small, "small.toml")


def no_files_beyond_64_kib() -> None:
    """From here on no file may grow beyond 64 KiB, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


def test_a_disk_that_fills_while_a_run_is_logged(small: Path) -> None:
    # Some MB of text: the disk is full long before the end of the run.
    sets = ("metrics.request_log=true", "workload.requests=50000")
    options = [word for assignment in sets for word in ("--set", assignment)]
    done = ssdlab_process(
        "run", "small.toml", *options, "--out", "o", cwd=small, limit=no_files_beyond_64_kib
    )
    message = "error: o/requests.csv.zst: cannot be written: File too large"
    refused(done, 2, message, out_is_empty=False)
    # What had been simulated until then is printed.
    assert "NOT COMPLETED" in done.stdout
    nothing_left(small, "small.toml")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_standard_output_full(small: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = ssdlab_process("run", "small.toml", "--json", cwd=small, stdout=full)
    refused(done, 2, "standard output: No space left")


def test_broken_pipe_is_quiet(small: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    for words in (["run", "small.toml", "--quiet", "--json"], ["list", "policies"]):
        done = ssdlab_process(*words, cwd=small, stdout=writer)
        assert done.returncode == 0
        assert done.stderr == ""
    os.close(writer)


# ---------------------------------------------------------------- runs that end early


def test_device_that_cannot_free_a_block(tmp_path: Path) -> None:
    crowded = {
        "device.blocks_per_plane": 64,
        "device.over_provisioning": 0.07,
        "alloc.placement": "round-robin",
        "gc.reserve": 1,
        "gc.trigger": '{policy="free-blocks",soft=3}',
        "precondition.overwrite": 0,
        "workload.read": 0,
        "workload.requests": 200_000,
    }
    small = tmp_path / "small.toml"
    small.write_text(SMALL_TOML)
    done = ssdlab_command("run", small, *sets(crowded), "--out", "o", cwd=tmp_path)
    refused(done, 1, "could not finish", "cannot free a block", "request ", out_is_empty=False)
    assert "NOT" in done.stdout.upper()
    report = report_of(tmp_path / "o")
    assert report["completed"] is False
    assert 0 < report["requests"]["completed"] < report["requests"]["submitted"]
    nothing_left(tmp_path, "o", "small.toml")
    done = ssdlab_command("compare", small, *sets(crowded), "--out", "c", cwd=tmp_path)
    refused(done, 1, "cannot free a block", out_is_empty=False)
    assert json.loads((tmp_path / "c/compare.json").read_text())["completed"] is False


LONG: dict[str, dict[str, object]] = {
    "workload": {"workload.requests": 1 << 38},
    "precondition": {"precondition.overwrite": 1000, "device.blocks_per_plane": 16384},
    "logged": {"workload.requests": 1 << 38, "metrics.op_log": "true"},
}


@pytest.mark.parametrize("stage", LONG)
@pytest.mark.parametrize("verb", ["run", "compare"])
def test_interrupt(verb: str, stage: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    words = [verb, "small.toml", *sets(LONG[stage]), "--out", "o"]
    number = signal.SIGTERM if stage == "logged" else signal.SIGINT
    reported = "precondition" if stage == "precondition" else "workload"
    done = signalled_at(reported, words, tmp_path, number)
    refused(done, 130, "interrupted: the completed part is kept", out_is_empty=False)
    run = tmp_path / "o" if verb == "run" else tmp_path / "o/small"
    assert report_of(run)["completed"] is False
    assert (run / "ops.csv.zst").exists() == (stage == "logged")
    if verb == "compare":
        assert json.loads((tmp_path / "o/compare.json").read_text())["completed"] is False
    nothing_left(tmp_path, "o", "small.toml")


def test_an_interrupt_ends_the_wait_for_a_trace(tmp_path: Path) -> None:
    words = ["run", "greedy-8ch", "--trace", "-", "--out", "o"]
    with subprocess.Popen(
        [*COMMAND, *words],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        # More than a pipe holds: when all of it is written, the command is reading its trace.
        running.stdin.write(trace_line(0.0, 0).encode() * 100_000)
        running.stdin.flush()
        running.send_signal(signal.SIGINT)
        # The end of the trace never comes; `communicate` would bring it.
        code = running.wait(HANG_S)
        assert running.stderr is not None
        errors = running.stderr.read()
        assert running.stdout is not None
        assert (code, running.stdout.read()) == (130, b"")
        assert b"interrupted" in errors
        assert b"Traceback" not in errors
    nothing_left(tmp_path)


def test_small_runs_are_sound(tmp_path: Path) -> None:
    """The configuration that the tests above vary is itself good."""
    done = ssdlab_command(
        "run",
        "greedy-8ch",
        *sets(SMALL),
        "--set",
        "precondition.fill=1",
        "--out",
        "o",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert report_of(tmp_path / "o")["gc"]["calls"] > 0


def test_a_trace_and_a_job_of_fio_are_no_configurations(tmp_path: Path) -> None:
    """The message has the commands that take them; of a file named as TOML it has not."""
    text = "[global]\nrw=randwrite\n[a]\n"
    for name in ("a b.fio", "mine.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = ssdlab_command("config", "check", "a b.fio", cwd=tmp_path)
    refused(done, 2, "ssdlab try 'a b.fio'")
    refused(done, 2, "ssdlab run greedy-8ch --set 'workload.job=a b.fio'")
    done = ssdlab_command("config", "check", "mine.toml", cwd=tmp_path)
    refused(done, 2, "not TOML")
    assert "ssdlab try" not in done.stderr
