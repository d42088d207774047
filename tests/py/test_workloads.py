"""Workloads that are made: applications, volumes, job files; and traces made of them."""

from pathlib import Path

import numpy as np
import pytest

import ssdlab
from running import ROOT, refused, report_of, ssdlab_command

JOB = """
[global]
ioengine=libaio
iodepth=16
size=50%
filename=/dev/nvme0n1
[write]
rw=randwrite
random_distribution=zipf:1.1
number_ios=3000
[read]
rw=randread
number_ios=1000
"""


def test_an_application_is_run_by_its_name(tmp_path: Path) -> None:
    values = {
        "workload.kind": "app:sqlite",
        "workload.requests": 20_000,
        "workload.span": 0.6,
        "precondition.fill": 0.6,
    }
    report = ssdlab.run("adaptive-channel", set=values, out=tmp_path / "r", progress=False)
    assert report.completed
    assert report.requests.write == pytest.approx(0.9146 * 20_000, rel=0.002)
    assert report.requests.trim == pytest.approx(0.0854 * 20_000, rel=0.02)
    config = report_of(tmp_path / "r")["config"]
    assert config["host"]["mode"] == "open"
    assert config["workload"]["arrival"]["kind"] == "model"
    again = ssdlab.run(tmp_path / "r/config.toml", progress=False)
    assert again.provenance.event_digest == report.provenance.event_digest


def test_a_job_file_says_how_its_requests_come(tmp_path: Path) -> None:
    job = tmp_path / "a.fio"
    job.write_text(JOB)
    report = ssdlab.run("greedy-8ch", set={"workload.job": str(job)}, progress=False)
    assert (report.requests.write, report.requests.read) == (3000, 1000)
    assert report.config["host.queue_depth"] == 32
    again = ssdlab.run(report.config, progress=False)
    assert again.provenance.event_digest == report.provenance.event_digest


def test_a_made_trace_names_options_without_effect_as_a_run_does(tmp_path: Path) -> None:
    (tmp_path / "a.fio").write_text("[a]\nrw=randwrite\nbs=4k\nsize=1m\ndirect=1\nthread\n")
    words = ("trace", "generate", "a.fio", "a.ssdtrace", "--size", "1GiB")
    done = ssdlab_command(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = {"workload.job": str(tmp_path / "a.fio")}
    told = ssdlab.run("greedy-8ch", set=values, progress=False).warnings
    said = [text for text in told if "options of fio without effect" in text]
    assert len(said) == 1
    assert f"warning: {said[0]}\n" in done.stderr


def test_traces_are_made_and_made_again(tmp_path: Path) -> None:
    def made(name: str, *words: str) -> Path:
        done = ssdlab_command(
            "trace", "generate", "app:mysql", name, "--size", "2GiB", *words, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return tmp_path / name

    first, second = made("a.ssdtrace"), made("b.ssdtrace")
    assert (
        first.read_bytes() == second.read_bytes() != made("c.ssdtrace", "--seed", "2").read_bytes()
    )
    info = ssdlab.Trace(first).info()
    assert info.requests == 100_000
    assert info.ops.write.size.mean == pytest.approx(5.77 * 1024, rel=0.02)
    text = made("d.csv", "--to", "msr", "--requests", "1000", "--allow", "round-times")
    assert len(text.read_text().splitlines()) == 1000


def test_made_requests_can_have_a_seed_of_their_own(tmp_path: Path) -> None:
    def made(name: str, of_run: int, **keys: object) -> bytes:
        out = tmp_path / f"{name}.ssdtrace"
        values = {f"workload.{key}": value for key, value in keys.items()}
        ssdlab.generate("app:sqlite", out, bytes=1 << 30, requests=1000, seed=of_run, set=values)
        return out.read_bytes()

    wanted = made("a", 7)
    assert made("b", 1, seed=7) == made("c", 2, seed=7) == wanted != made("d", 1)
    assert made("e", 7, seed="run") == wanted

    def ran(seed: int) -> ssdlab.Report:
        values = {
            "workload.kind": "app:sqlite",
            "workload.requests": 20_000,
            "workload.seed": 7,
            "workload.span": 0.5,
            "precondition.fill": 0.5,
            "controller.page_error_probability": 0.3,
            "device.blocks_per_plane": 16,
            "device.user_capacity": "96 MiB",
        }
        return ssdlab.run("noc-copyback", set=values, seed=seed, progress=False)

    one, two = ran(1), ran(2)
    assert one.host == two.host
    assert one.provenance.event_digest != two.provenance.event_digest


def test_an_application_made_like_a_trace_has_its_statistics(tmp_path: Path) -> None:
    trace = ROOT / "traces/varmail.trace.zst"
    out = tmp_path / "like.ssdtrace"
    requests = 427_377  # without discards of what is never used
    values = {"workload.like": str(trace)}
    ssdlab.generate("app:varmail", out, bytes=2 << 30, requests=requests, set=values)
    recorded, made = ssdlab.Trace(trace).info(), ssdlab.Trace(out).info()
    means = [info.ops.write.size.mean for info in (recorded, made)]
    assert means[1] == pytest.approx(means[0], rel=0.01)
    sequential = [info.ops.write.sequential_share for info in (recorded, made)]
    assert sequential[1] == pytest.approx(sequential[0], abs=0.05)
    pages = [info.footprint.pages_written for info in (recorded, made)]
    assert pages[1] == pytest.approx(pages[0], rel=0.02)
    rewrites = [info.updates.rewrites for info in (recorded, made)]
    assert rewrites[1] == pytest.approx(rewrites[0], rel=0.05)


def test_real_volumes_take_the_place_of_stand_ins(tmp_path: Path) -> None:
    rows = "".join(
        f"{128166372003061629 + i * 1000},hm,0,Write,{i * 4096},4096,100\n" for i in range(9)
    )
    (tmp_path / "hm_0.csv").write_text(rows)
    values = {"workload.kind": "msr:hm_0", "workload.msr": str(tmp_path)}
    assert ssdlab.run("greedy-8ch", set=values, progress=False).requests.write == 9


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["workload.kind=app:mysqll"], ['did you mean "app:mysql"?']),
        (["workload.kind=app:varmail", "workload.set=noc-copyback"], ["some in: adaptive-channel"]),
        (["workload.kind=msr:hm_0"], ["addresses up to 14.0 GB"]),
        (
            ["workload.kind=msr:hm_0", "workload.msr=empty"],
            ["empty is empty; expected one of"],
        ),
        (["workload.kind=fio"], ["workload.job names no file"]),
        (["workload.job=no.fio"], ["no.fio: cannot be read"]),
        (["workload.job=bad.fio"], ["bad.fio: line 2: iodepht", 'did you mean "iodepth"?']),
        (["workload.like=x"], ['needs a workload.kind of "app:..."']),
        (["workload.kind=app:mysql", "workload.like=x"], ["x: cannot open the trace"]),
        (["workload.arrival=model"], ["need an application"]),
    ],
)
def test_refusals(words: list[str], said: list[str], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.fio").write_text("[a]\niodepht=4\n")
    sets = [word for pair in words for word in ("--set", pair)]
    refused(ssdlab_command("run", "greedy-8ch", *sets, cwd=tmp_path), 2, *said)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bad.fio", "empty"]


def test_made_traces_are_refused_where_they_must_be(tmp_path: Path) -> None:
    for words, said in (
        (["app:mysql", "x.csv", "--size", "2GiB"], "give --to"),
        (["app:mysql", "x.ssdtrace", "--size", "2"], "expected a size with its unit"),
        (["app:cassandra", "x.ssdtrace", "--size", "64MiB"], "it needs about 172 MiB"),
        (["trace", "x.ssdtrace", "--size", "64MiB"], "names no file"),
    ):
        refused(ssdlab_command("trace", "generate", *words, cwd=tmp_path), 2, said)
    assert not list(tmp_path.iterdir())


def test_key_streams_are_batches_of_arrays() -> None:
    def all_of(name: str, **words: int | str | None) -> tuple[list[int], list[int]]:
        batches = list(ssdlab.key_stream(name, records=1000, batch=300, **words))  # type: ignore[arg-type]
        assert all(len(batch) == 300 for batch in batches[:-1])
        joined = (np.concatenate([getattr(b, k) for b in batches]) for k in ("op", "key"))
        op, key = joined
        return op.tolist(), key.tolist()

    assert all_of("ycsb:load") == ([1] * 1000, list(range(1000)))
    op, key = all_of("ycsb:a", operations=5000, seed=3)
    assert set(op) == {0, 2}
    assert max(key) < 1000
    assert all_of("ycsb:a", operations=5000, seed=3) == (op, key)
    assert all_of("ycsb:a", operations=5000, seed=4) != (op, key)
    (batch,) = ssdlab.key_stream("db_bench:fillseq", records=9, value_bytes=7)
    assert batch.key.tolist() == list(range(9))
    assert batch.value_bytes.tolist() == [7] * 9
    assert not list(ssdlab.key_stream("mixgraph", records=100, operations=0))


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("ycsb:g", {}, "expected load or a to f"),
        ("ycbs:a", {}, "expected ycsb:load"),
        ("db_bench:fill", {}, "fillrandom"),
        ("mixgraph", {"value_bytes": 3}, "determines the sizes of values"),
        ("mixgraph", {"keys": "latest"}, "only YCSB"),
        ("ycsb:a", {"keys": "hot"}, "expected zipfian"),
        ("ycsb:a", {"records": 0}, "at least one record"),
        ("ycsb:a", {"operations": -1}, "operations -1: expected 0 to"),
    ],
)
def test_key_streams_that_are_none(name: str, words: dict[str, int], said: str) -> None:
    with pytest.raises((ssdlab.ConfigError, ssdlab.WorkloadError), match=said):
        ssdlab.key_stream(name, **{"records": 1000, **words})  # type: ignore[arg-type]


def test_jobs_end_by_the_clock_of_the_device(tmp_path: Path) -> None:
    job = tmp_path / "a.fio"
    job.write_text("[a]\nrw=randwrite\nsize=1m\nruntime=10ms\ntime_based\niodepth=4\nfsync=8\n")
    report = ssdlab.run("greedy-8ch", set={"workload.job": str(job)}, progress=False)
    assert (report.requests.write, report.requests.flush) == (52, 6)
    assert report.config["host.queue_depth"] == 4
    refused(
        ssdlab_command("trace", "generate", "a.fio", "x.ssdtrace", "--size", "1MiB", cwd=tmp_path),
        2,
        "runtime",
    )
    assert not (tmp_path / "x.ssdtrace").exists()


def test_a_recording_needs_its_space(tmp_path: Path) -> None:
    trace = str(ROOT / "traces/varmail.trace.zst")
    words = ["--size", "64MiB", "--like", trace]
    done = ssdlab_command("trace", "generate", "app:varmail", "x.ssdtrace", *words, cwd=tmp_path)
    refused(done, 2, "the recording touches 667 MiB, the workload's space is 64 MiB")
    assert not list(tmp_path.iterdir())


def test_requests_are_arrays_too(tmp_path: Path) -> None:
    out = tmp_path / "zipf.ssdtrace"
    done = ssdlab.generate("zipf", out, bytes=1 << 30, requests=5000)
    assert done.requests == 5000
    requests = ssdlab.Trace(out).requests()
    assert len(requests.sector) == 5000
    assert np.all(requests.sectors == 8)
