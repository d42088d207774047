"""Traces with columns of the user's: every verb reads them, and messages have commands to paste."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import ssdlab
from running import COMMAND, SMALL, refused, sets, ssdlab_command

COLUMNS = "time=2:us,op=3,offset=5:512B,size=4"
ROWS = [(f"x{i}", 10 * i, "W" if i % 3 else "R", 4096, 8 * (i % 100)) for i in range(300)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = "".join(f"{name},{us},{op},{size},{sector}\n" for name, us, op, size, sector in ROWS)
    (tmp_path / "mine.csv").write_text(text)
    return tmp_path


def test_every_verb_takes_columns(folder: Path) -> None:
    how = ("--columns", COLUMNS)
    done = ssdlab_command("trace", "info", "mine.csv", *how, "--json", cwd=folder)
    info = json.loads(done.stdout)
    assert (info["requests"], info["ops"]["write"]["requests"]) == (300, 200)
    assert info["duration_ns"] == 2_990_000
    assert info["source"]["units"] == f"--columns {COLUMNS}"
    for verb in (
        ["trace", "convert", "mine.csv", "mine.ssdtrace"],
        ["trace", "split", "mine.csv", "--out", "volumes"],
        [
            "trace",
            "generate",
            "app:mysql",
            "like.ssdtrace",
            "--size",
            "64MiB",
            "--like",
            "mine.csv",
        ],
    ):
        done = ssdlab_command(*verb, *how, "--quiet", cwd=folder)
        assert done.returncode == 0, done.stderr
    device = {key: value for key, value in SMALL.items() if not key.startswith("workload.")}
    keys = sets({**device, "workload.fit": "wrap"})
    common = ("greedy-8ch", "--trace", "mine.csv", *keys, "--quiet", "--no-html")
    for verb in (["run"], ["compare"], ["sweep", "--vary", "gc.victim=greedy,fifo"]):
        done = ssdlab_command(verb[0], *common, *verb[1:], *how, cwd=folder)
        assert done.returncode == 0, done.stderr
    plain = ssdlab.Trace(folder / "mine.ssdtrace").info()
    named = ssdlab.Trace(folder / "mine.csv").info(set={"workload.columns": COLUMNS})
    assert (plain.requests, plain.ops.write.bytes) == (named.requests, named.ops.write.bytes)


def test_commands_of_a_message_can_be_pasted(folder: Path) -> None:
    (folder / "a trace").write_text("".join(f"{i}000 0 {8 * i} 8 {i % 2}\n" for i in range(20)))
    done = ssdlab_command("trace", "info", "a trace", cwd=folder)
    refused(done, 2, "disksim", "mqsim", "10 reads, 10 writes, 80 KiB")
    commands = re.findall(r"ssdlab (trace info '[^']*' --format \w+)", done.stderr)
    durations = set()
    for command in commands:
        done = ssdlab_command(*shlex.split(command), "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        info = json.loads(done.stdout)
        assert info["ops"]["write"]["requests"] == 10
        durations.add(info["duration_ns"])
    assert durations == {19_000, 19_000_000_000}


def _pasted(stderr: str) -> list[str]:
    """The commands that a message lists, without what it says of them."""
    lines = (line for line in stderr.splitlines() if "  # " in line)
    return [line.partition("  # ")[0].strip() for line in lines]


def test_commands_keep_the_verb_and_its_options(folder: Path) -> None:
    (folder / "a trace").write_text("".join(f"{i}000 0 {8 * i} 8 {i % 2}\n" for i in range(20)))
    for typed, kept in (
        ("trace info 'a trace' --json", None),
        ("trace convert 'a trace' --to msr out --set workload.loops=1", None),
        ("try 'a trace' --budget 1s --no-html", None),
        ("run greedy-8ch --trace='a trace' --quiet", "run greedy-8ch '--trace=a trace' --quiet"),
        ("compare greedy-8ch --trace 'a trace' --vary gc.victim=fifo,greedy", None),
    ):
        done = ssdlab_command(*shlex.split(typed), cwd=folder)
        commands = _pasted(done.stderr)
        assert f"ssdlab {kept or typed} --format mqsim" in commands, done.stderr
        assert len({command.partition(" --format")[0] for command in commands}) == 1
    done = ssdlab_command("trace", "info", "a trace", "--unit", "sectors", "--json", cwd=folder)
    for command in _pasted(done.stderr):
        done = ssdlab_command(*shlex.split(command)[1:], cwd=folder)
        assert json.loads(done.stdout)["ops"]["write"]["requests"] == 10


def test_commands_replace_what_they_set_otherwise(folder: Path) -> None:
    rows = "".join(f"8,{16 * (i % 2)} 0 {i} {i}.5 7 Q W {8 * i} + 8 [a]\n" for i in range(20))
    (folder / "two.txt").write_text(rows)
    typed = "run greedy-8ch --trace two.txt --set workload.volume=3 --sort --set=gc.victim=fifo"
    done = ssdlab_command(*typed.split(), cwd=folder)
    kept = "ssdlab run greedy-8ch --trace two.txt --set=gc.victim=fifo --sort"
    commands = [f"{kept} --set workload.volume={8 << 32}", f"{kept} --set workload.volume=all"]
    assert set(commands) <= set(_pasted(done.stderr)), done.stderr


def test_filters_precede_the_verb(folder: Path) -> None:
    (folder / "page.html").write_text("<pre>\n0.5 W 4096 8\n0.6 R 8192 8\n</pre>\n")
    ends = {
        "try page.html --seeds 2": "> page.html.txt && ssdlab try page.html.txt --seeds 2",
        "trace convert page.html o.ssdtrace": "| ssdlab trace convert - o.ssdtrace",
        "run greedy-8ch --trace page.html": "| ssdlab run greedy-8ch --trace -",
        "run greedy-8ch --seeds 2 --set workload.trace=page.html": "> page.html.txt && ssdlab run"
        " greedy-8ch --seeds 2 --set workload.trace=page.html.txt",
    }
    for typed, end in ends.items():
        done = ssdlab_command(*typed.split(), cwd=folder)
        commands = _pasted(done.stderr)
        assert commands, done.stderr
        assert all(f"< page.html {end} --columns time=" in command for command in commands)
    done = ssdlab_command("trace", "convert", "page.html", "page.ssdtrace", cwd=folder)
    pasted = _pasted(done.stderr)[0].replace("ssdlab", shlex.join(COMMAND), 1)
    subprocess.run(["sh", "-c", pasted], cwd=folder, check=True, capture_output=True)
    assert ssdlab.Trace(folder / "page.ssdtrace").info().requests == 2


def test_commands_have_the_file_in_its_place(folder: Path) -> None:
    table = "".join(f"{i}000 0 {8 * i} 8 {i % 2}\n" for i in range(20))
    for name in ("info", "try", "-x"):
        (folder / name).write_text(table)
    for name in ("-page", "trace"):
        (folder / name).write_text("<pre>\n0.5 W 4096 8\n0.6 R 8192 8\n</pre>\n")
    for typed, command in (
        ("trace info info --json", "ssdlab trace info info --json --format mqsim"),
        ("try try", "ssdlab try try --format mqsim"),
        ("trace info -- info", "ssdlab trace info --format mqsim -- info"),
        ("try --no-html -- -x", "ssdlab try --no-html --format mqsim -- ./-x"),
        ("trace info trace", "< trace | ssdlab trace info - --columns "),
        ("trace info -- trace", "< trace | ssdlab trace info --columns "),
        ("try ./-page", "< ./-page > ./-page.txt && ssdlab try ./-page.txt --columns "),
    ):
        done = ssdlab_command(*typed.split(), cwd=folder)
        assert any(command in line for line in _pasted(done.stderr)), done.stderr
    # Two files are read with the same options, so that the command names one.
    done = ssdlab_command("trace", "info", "info", "-", cwd=folder)
    assert "ssdlab trace info info --format mqsim" in _pasted(done.stderr), done.stderr


def test_a_guess_is_stated(folder: Path) -> None:
    rows = "".join(f"{us},{op},{512 * sector},{size}\n" for _, us, op, size, sector in ROWS)
    (folder / "names.csv").write_text("arrival_us,op,offset_bytes,size_bytes\n" + rows)
    found = ssdlab.Trace(folder / "names.csv").info()
    assert found.requests == 300
    assert any("--columns time=arrival_us:us" in text for text in found.source.warnings)


def test_columns_that_cannot_be(folder: Path) -> None:
    for columns, part in (
        ("time=2:us,time=1:s,op=3,offset=5,size=4", "time is given twice"),
        ("time=2:us,op=3,offset=5,size=5", "offset and size name the same column"),
        ("tyme=2:us,op=3,offset=5,size=4", "did you mean"),
        ("time=2:parsec,op=3,offset=5,size=4", "is not a unit"),
        ("time=1:us,op=3,offset=5:512B,size=4", "fits none of its first 300 lines"),
    ):
        done = ssdlab_command("trace", "info", "mine.csv", "--columns", columns, cwd=folder)
        refused(done, 2, part)


def test_swapped_words_give_a_warning(folder: Path) -> None:
    swapped = COLUMNS + ",read=W,write=R"
    done = ssdlab_command("trace", "info", "mine.csv", "--columns", swapped, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert 'say that "w" is a read, although it usually means a write' in done.stdout


def test_every_verb_reads_parquet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    names = ("name", "arrival_us", "op", "size_bytes", "sector")
    table = dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True))
    parquet.write_table(pa.table(table), folder / "mine.parquet")
    done = ssdlab_command("trace", "info", "mine.parquet", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["requests"], found["source"]["file"]) == (len(ROWS), "mine.parquet")
    assert [one.name for one in folder.glob("cache/*/*/*/*")] == ["mine.parquet.csv.zst"]
    columns = "time=1:us,op=3,offset=5:512B,size=4"
    done = ssdlab_command("trace", "info", "mine.parquet", "--columns", columns, cwd=folder)
    refused(done, 2, "error: mine.parquet: workload.columns fits none")
    device = {key: value for key, value in SMALL.items() if not key.startswith("workload.")}
    keys = sets({**device, "workload.fit": "wrap"})
    run = ("run", "greedy-8ch", "--trace", "mine.parquet", *keys, "--no-html", "--out", "run")
    done = ssdlab_command(*run, cwd=folder)
    assert done.returncode == 0, done.stderr
    done = ssdlab_command("trace", "convert", "mine.parquet", "p.ssdtrace", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    same = ssdlab.Trace(folder / "p.ssdtrace").info()
    mine = ssdlab.Trace(folder / "mine.csv").info(set={"workload.columns": COLUMNS})
    assert (same.requests, same.ops.write.bytes) == (mine.requests, mine.ops.write.bytes)


def test_floats_of_parquet_keep_their_digits(folder: Path) -> None:
    offsets = [4096.0, 47447142400.0, 8192.0]
    table = {"time_us": [0.0, 0.00000025, 4.0], "op": ["R", "W", "R"], "offset_bytes": offsets}
    table |= {"size_bytes": [4096.0, 8192.0, 4096.0]}
    parquet.write_table(pa.table(table), folder / "floats.parquet")
    to = ("f.txt", "--to", "block-event")
    done = ssdlab_command("trace", "convert", "floats.parquet", *to, cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in (folder / "f.txt").read_text().splitlines()]
    assert [int(row[7]) * 512 for row in rows] == [4096, 47447142400, 8192]
    assert [row[3] for row in rows] == ["0.000000000", "0.000000000", "0.000004000"]
    parquet.write_table(
        pa.table(table | {"offset_bytes": [1e35, 0.0, 0.0]}), folder / "far.parquet"
    )
    done = ssdlab_command("trace", "info", "far.parquet", cwd=folder)
    refused(done, 2, "far.parquet: it has numbers of 30 digits and more")


def test_a_command_for_parquet_unpacks_its_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    table = {"time_us": [1, 2], "op": ["R", "W"], "lba": [0, 8], "end_lba": [7, 15]}
    parquet.write_table(pa.table(table), folder / "ends.parquet")
    done = ssdlab_command("trace", "info", "ends.parquet", cwd=folder)
    refused(done, 2, 'ends.parquet: its column "end_lba" seems to hold the end', "zstd -dc < ")
    with pa.input_stream(done.stderr.split("zstd -dc < ")[1].split()[0], "zstd") as unpacked:
        assert unpacked.read().splitlines()[1] == b'1,"R",0,7'
