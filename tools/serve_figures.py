"""Measure `ssdlab serve`: what a request costs, how late replies are, what a client measures.

Prints the figures of the table in docs/serve.md. The clients are fio, with its engine `nbd`, and
valgrind counts instructions (Debian packages `fio`, `valgrind`). Everything takes 15 minutes; a
machine that does other things makes replies later and a request dearer, and leaves instructions as
they are.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SSDLAB = [sys.executable, "-m", "ssdlab"]
TICK = 1 / os.sysconf("SC_CLK_TCK")
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
NEW = ("precondition.fill=0", "precondition.overwrite=0")
WORN = ("precondition.fill=1", "precondition.overwrite=1")
LARGE = ("device.blocks_per_plane=1400", "device.pages_per_block=768", "device.user_capacity=2TB")


@dataclass
class Server:
    """A server, and what it has said in the end."""

    folder: Path
    process: subprocess.Popen[str]
    summary: dict[str, Any]

    def cpu_s(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return TICK * (int(fields[11]) + int(fields[12]))

    def memory(self, name: str) -> int:
        """Bytes of memory: `VmRSS` now, `VmHWM` at most so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        size = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
        assert size
        return 1024 * int(size[1])

    def fio(self, *options: str) -> None:
        """Run fio on it."""
        uri = f"--uri=nbd+unix:///?socket={self.folder / 'socket'}"
        words = ["fio", "--name=f", "--ioengine=nbd", uri, *options]
        subprocess.run(words, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def serving(
    *options: str, sets: tuple[str, ...] = WORN, wrapper: tuple[str, ...] = ()
) -> Iterator[Server]:
    """A server of the preset modern-tlc."""
    with tempfile.TemporaryDirectory(prefix="ssdlab-serve-figures-") as name:
        folder = Path(name)
        keys = [word for key in sets for word in ("--set", key)]
        words = [*wrapper, *SSDLAB, "serve", "modern-tlc", "--nbd", "unix:socket", "--json", *keys]
        with (folder / "said").open("w") as stderr:
            process = subprocess.Popen(
                [*words, *options],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                preexec_fn=deny_real_time if wrapper else None,
            )
        while "Ctrl-C stops it" not in (text := (folder / "said").read_text()):
            if process.poll() is not None:
                sys.exit(text)
            time.sleep(0.1)
        server = Server(folder, process, {})
        try:
            yield server
            process.send_signal(signal.SIGINT)
            server.summary = json.loads(process.communicate()[0])
        finally:
            process.kill()
            process.wait()


PR_CAPBSET_DROP, CAP_SYS_NICE = 24, 23


def deny_real_time() -> None:
    """Deny this process real-time priority: counting would take a processor from everybody else."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0)


def measure_cost() -> None:
    """Processor time of a request, and its instructions."""
    for name, options in JOBS.items():
        with serving() as server:
            start_s = server.cpu_s()
            server.fio(*options, "--iodepth=32", "--time_based", "--runtime=20")
            cpu_s = server.cpu_s() - start_s
        requests = server.summary["requests"]
        cost_us, rate = 1e6 * cpu_s / requests, requests / cpu_s / 1e3
        print(
            f"{name}: {cost_us:.2f} us of a processor, {rate:.0f} thousand a second and processor"
        )
        served, simulated = count_instructions(options)
        print(f"  {served:,} instructions of the server, {simulated:,} of them to simulate it")


JOBS = {
    "read of 4 KiB": ("--rw=randread", "--bs=4k"),
    "write of 16 KiB": ("--rw=randwrite", "--bs=16k"),
}


def count_instructions(options: tuple[str, ...], requests: int = 20_000) -> tuple[int, int]:
    """Instructions of a request: of the server, and of `ssdlab run` for what it has recorded.

    The difference between two sessions, of which one has twice as many requests.
    """
    totals = []
    for number in (requests, 2 * requests):
        with tempfile.TemporaryDirectory(prefix="ssdlab-serve-figures-") as name:
            record = Path(name) / "record"
            counts = Path(name) / "counts"
            valgrind = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", "-q")
            with serving("--record", str(record), wrapper=valgrind) as server:
                server.fio(*options, "--iodepth=32", f"--number_ios={number}")
            served = total_of(counts)
            replay_command = [
                *valgrind,
                *SSDLAB,
                "run",
                str(record / "run.toml"),
                "--out",
                f"{name}/run",
            ]
            subprocess.run(
                replay_command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            totals.append((served, total_of(counts)))
    (first, first_replay), (second, second_replay) = totals
    return (second - first) // requests, (second_replay - first_replay) // requests


def total_of(counts: Path) -> int:
    """Instructions that callgrind has counted."""
    total = re.search(r"^(?:summary|totals): (\d+)", counts.read_text(), re.MULTILINE)
    assert total, counts
    return int(total[1])


STATE = ("--state", "drive")


def measure_lateness() -> None:
    """How late replies are, and a thread that only sleeps."""
    late_ns, priority = oversleeps()
    print(f"a thread that sleeps for 1 ms, {priority}: {quantiles(late_ns)}")
    for options in ((), ("--poll",), STATE):
        with serving(*options, sets=NEW) as server:
            job = ("--rw=randrw", "--bs=4k", "--iodepth=8", "--rate_iops=1500", "--size=2G")
            server.fio(*job, "--time_based", "--runtime=30")
        late, priority = server.summary["late"], priority_name(server.summary["real_time"])
        times = ", ".join(f"{name} {late[f'{name}_ns'] / 1e3:.1f} us" for name in LATE)
        print(f"{' '.join(('replies', *options))}, {priority}: late by {times}")


LATE = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def quantiles(times_ns: list[int]) -> str:
    """Percentiles of these times."""
    ordered = sorted(times_ns)
    times = [f"{name} {ordered[int(q * len(ordered))] / 1e3:.1f} us" for name, q in LATE.items()]
    return f"late by {', '.join(times)}"


def priority_name(is_real_time: bool) -> str:
    """The priority in words."""
    return f"{'with' if is_real_time else 'without'} real-time priority"


def oversleeps() -> tuple[list[int], str]:
    """How much longer than 1 ms a thread sleeps, ns, 10,000 times; and its priority."""
    scheduler, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    is_real_time = True
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        is_real_time = False
    times_ns = []
    for _ in range(10_000):
        start_ns = time.monotonic_ns()
        time.sleep(0.001)
        times_ns.append(time.monotonic_ns() - start_ns - 1_000_000)
    os.sched_setscheduler(0, scheduler, parameters)
    return times_ns, priority_name(is_real_time)


def measure_scale() -> None:
    """Percentiles that a client measures at a scale, and those of the drive."""
    for scale, options in ((1, ()), (20, ()), (20, ("--poll",))):
        with serving("--scale", str(scale), *options) as server:
            log = f"--write_lat_log={server.folder / 'log'}"
            job = ("--rw=randrw", "--bs=16k", "--iodepth=8", "--time_based", "--runtime=90")
            server.fio(*job, log, "--log_avg_msec=0")
            lines = (server.folder / "log_lat.1.log").read_text().splitlines()
        rows = [[int(word) for word in line.split(",")[1:3]] for line in lines]
        print(" ".join(("--scale", str(scale), *options)))
        for direction, name in enumerate(("read", "write")):
            times = sorted(ns / scale for ns, kind in rows if kind == direction)
            drive = server.summary["report"]["latency"][name]
            for percentile, share in PERCENTILES.items():
                measured = times[int(share * len(times))] / 1e3
                simulated = drive[percentile.replace(".", "_")] / 1e3
                print(f"  {name}, {percentile}: {measured:.1f} us measured / {scale},", end=" ")
                print(f"{simulated:.1f} us simulated, {measured / simulated - 1:+.1%}")


def measure_memory() -> None:
    """Memory of a drive of 2 TB."""
    start = time.monotonic()
    with serving("--state", "drive", sets=(*NEW, *LARGE)) as server:
        duration = time.monotonic() - start
        current, peak = server.memory("VmRSS"), server.memory("VmHWM")
        server.fio("--rw=randwrite", "--bs=16k", "--iodepth=32", "--time_based", "--runtime=20")
        after_writes = server.memory("VmRSS")
    pages = server.summary["space"]["drive_bytes"] // (16 << 10)
    print(
        f"2 TB: {current / 1e9:.2f} GB when served, {peak / 1e9:.2f} GB at most before that,",
        end=" ",
    )
    print(
        f"{after_writes / 1e9:.2f} GB after writes; {8 * pages / 1e9:.2f} GB are 8 bytes a page;",
        end=" ",
    )
    print(f"served after {duration:.0f} s")


FIGURES: dict[str, Callable[[], None]] = {
    "cost": measure_cost,
    "late": measure_lateness,
    "scaled": measure_scale,
    "memory": measure_memory,
}


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="|".join(FIGURES), help="[default: all]")
    for name in parser.parse_args().figures or FIGURES:
        FIGURES[name]()


if __name__ == "__main__":
    main()
