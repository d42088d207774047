"""Clients that react to completions: their loops, written here, are those of `ssdlab run`."""

from __future__ import annotations

import heapq
import itertools
import random
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import ssdlab
from checking import rows_of
from running import SMALL
from ssdlab.running.device import Completions

KEYS: dict[str, object] = {
    **SMALL,
    "device.page_size": "4 KiB",
    "workload.size": "8 KiB",
    "workload.trim": 0.05,
    "workload.requests": 3000,
}
IDLE = [{"policy": "free-blocks", "soft": 2}, {"policy": "idle", "after": "200 us"}]
PARTS = ("queue", "chip", "transfer", "gc_wait", "metadata")
Row = tuple[int, ...]
"""Arrival, completion and the parts of the latency of a request."""


def device(**keys: object) -> ssdlab.Device:
    made = ssdlab.Device(set={**KEYS, **keys})
    made.precondition(progress=False)
    return made


def of(done: Completions) -> dict[int, Row]:
    """What is known of each request, by number."""
    columns = (done.arrival_ns, done.completion_ns, *(getattr(done, f"{p}_ns") for p in PARTS))
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return dict(zip(done.id.tolist(), numbers, strict=True))


def logged(folder: Path) -> dict[int, dict[str, str]]:
    """The requests of a run with a log, by number."""
    rows = rows_of(folder, "requests.csv.zst")
    return {int(row["id"]): row for row in sorted(rows, key=lambda row: int(row["id"]))}


def numbers_of(row: dict[str, str]) -> Row:
    return tuple(int(row[name]) for name in ("arrival", "completion", *PARTS))


# ---------------------------------------------------------------- loops


@pytest.mark.parametrize("depth", [1, 3, 32])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"host.think_time": "90 us"},
        {"gc.victim": "random", "gc.concurrency": "half", "host.write_buffer_pages": 8},
        {"gc.trigger": IDLE, "host.think_time": "1 ms", "workload.read": 0.7},
        {"host.link_rate": "1 GB/s", "sched.order": "read-first"},
    ],
)
def test_a_client_that_waits_is_the_closed_loop(
    depth: int, more: dict[str, object], tmp_path: Path
) -> None:
    loop = {"host.mode": "closed", "host.queue_depth": depth, "metrics.request_log": True}
    report = ssdlab.run(set={**KEYS, **more, **loop}, out=tmp_path / "run", progress=False)
    requests = logged(tmp_path / "run")
    stream = iter(requests.values())
    think = {"90 us": 90_000, "1 ms": 1_000_000}.get(str(more.get("host.think_time")), 0)
    made = device(**more)
    found: dict[int, Row] = {}

    def submit(at_ns: int) -> None:
        row = next(stream, None)
        if row is not None:
            made.submit(row["op"], int(row["lpn"]), int(row["pages"]), at_ns)

    for _ in range(depth):
        submit(0)
    while len(done := made.run_until_completion()):
        assert {*done.completion_ns.tolist()} == {made.now_ns}
        found |= of(done)
        for _ in range(len(done)):
            submit(made.now_ns + think)
    assert found == {number: numbers_of(row) for number, row in requests.items()}
    ours = made.report()
    assert ours.latency == report.latency
    if "host.write_buffer_pages" not in more:  # which a run empties at its end
        assert ours.provenance.event_digest == report.provenance.event_digest
    made.audit()


def clients(seed: int) -> Iterator[Iterator[tuple[str, int, int]]]:
    """Five clients: what each asks for, and how long it thinks before that."""
    for number in range(5):
        draw = random.Random(seed * 100 + number)
        ops = (draw.choice(["read", "write", "write"]) for _ in range(200))
        yield ((op, draw.randrange(300), draw.choice([0, 0, 100_000, 750_000])) for op in ops)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_clients_that_think_are_the_run_of_the_trace_that_they_make(
    seed: int, tmp_path: Path
) -> None:
    """The clients choose their times as they go; a run is given these times beforehand."""
    made, waiting = device(), [*clients(seed)]
    timers: list[tuple[int, int, str, int]] = []
    """When a client asks next, which one, and for what."""
    owner: dict[int, int] = {}
    asked: list[tuple[int, str, int]] = []
    found: dict[int, Row] = {}

    def think(client: int) -> None:
        for op, lpn, pause in itertools.islice(waiting[client], 1):
            heapq.heappush(timers, (made.now_ns + pause, client, op, lpn))

    for client in range(5):
        think(client)
    while timers or made.outstanding:
        due = timers[0][0] if timers else None
        if due is None or due > made.now_ns:
            limit = None if due is None else due - 1
            done = made.run_until_completion(limit)
            found |= of(done)
            for number in done.id.tolist():
                think(owner[number])
            if len(done):
                continue
            assert made.now_ns == limit
        at, client, op, lpn = heapq.heappop(timers)
        owner[int(made.submit(op, lpn, 1, at)[0])] = client
        asked.append((at, op, lpn))
    assert len(found) == 1000
    lines = (f"{at / 1e6:.6f} 0 {lpn * 8} 8 {int(op == 'read')}\n" for at, op, lpn in asked)
    (tmp_path / "a.trace").write_text("".join(lines))
    keys = {name: one for name, one in KEYS.items() if not name.startswith("workload.")}
    keys |= {"workload.format": "disksim", "metrics.request_log": True}
    trace, out = tmp_path / "a.trace", tmp_path / "run"
    report = ssdlab.run(trace=trace, set=keys, out=out, progress=False)
    assert found == {number: numbers_of(row) for number, row in logged(out).items()}
    assert made.report().provenance.event_digest == report.provenance.event_digest


def test_steps_from_event_to_event_are_the_run_to_rest() -> None:
    def busy() -> ssdlab.Device:
        made, draw = device(), np.random.default_rng(5)
        made.submit("write", draw.integers(0, 300, 2000), 1, np.arange(2000) * 40_000)
        return made

    whole, steps = busy(), busy()
    found: dict[int, Row] = {}
    expected = of(whole.run_until_idle())
    while (at := steps.next_event()) is not None:
        before = steps.now_ns
        found |= of(steps.run_until(at))
        assert steps.now_ns == at >= before
    assert found == expected
    assert steps.report().provenance.event_digest == whole.report().provenance.event_digest


def test_idle_time_is_the_time_that_a_client_lets_pass() -> None:
    """Collection begins after the idle time of its trigger, and goes as far as time does."""
    made = device(**{"gc.trigger": IDLE[1:]})
    assert made.next_event() == 200_000
    calls = []
    for time in (199_999, 200_000, 30_000_000, 60_000_000):
        assert len(made.run_until(time)) == 0
        assert made.now_ns == time
        assert made.next_event() is not None, "it goes on with the next call"
        calls.append(made.report().gc.calls)
    made.run_until_idle()
    calls.append(made.report().gc.calls)
    assert calls[0] == 0
    assert calls == sorted({*calls}), "more with each"
    made.audit()


def test_time_passes_on_a_device_at_rest() -> None:
    made = ssdlab.Device(set=KEYS)
    made.run_until(5_000_000)
    assert (made.now_ns, made.next_event(), made.outstanding) == (5_000_000, None, 0)
    made.write(3)
    assert made.run_until_completion().arrival_ns.tolist() == [5_000_000]


# ---------------------------------------------------------------- what a call returns


def test_what_completes_is_returned_once_and_when_it_was_asked_for() -> None:
    made = device()
    made.submit("write", [1, 2, 3], 1, [1000, 50_000, 9_000_000])
    assert made.next_event() == 1000
    assert len(made.run_until(999)) == 0
    first = made.run_until_completion()
    assert (first.id.tolist(), made.next_event()) == ([0], made.now_ns)
    second = made.run_until(8_999_999)
    assert (second.id.tolist(), made.now_ns, made.outstanding) == ([1], 8_999_999, 1)
    assert len(made.run_until_completion(8_999_999)) == 0
    assert made.run_until_idle().id.tolist() == [2]
    now = made.now_ns
    assert len(made.run_until_completion()) == 0
    assert made.now_ns == now, "nothing is outstanding: no time passes"
    assert len(made.run_until_completion(now + 7)) == 0
    assert made.now_ns == now + 7
    made.trim(5)
    assert made.run_until(now + 7).op.tolist() == ["trim"]


def test_requests_of_an_instant_that_is_not_over_arrive_in_it() -> None:
    made = device()
    made.write(1)
    end = made.run_until_completion().completion_ns[0]
    number = made.read(1)
    done = made.run_until_completion()
    assert (done.id[0], done.arrival_ns[0]) == (number, end)
    late = made.write(2, at_ns=int(end))
    last = made.run_until_completion()
    assert (last.id[0], last.arrival_ns[0]) == (late, end), "it was meant to arrive then"
    assert last.latency_ns[0] > last.chip_ns[0] + last.transfer_ns[0]


def seen(made: ssdlab.Device) -> tuple[object, ...]:
    report = made.report()
    return made.now_ns, made.outstanding, report.provenance.event_digest, report.to_json()


def test_times_that_are_not_possible_are_refused_and_nothing_changes() -> None:
    made = device()
    made.write(1)
    now = int(made.run_until_completion().completion_ns[0])
    made.write(2)
    before = seen(made)
    past = rf"is in the past: the device is at {now} ns; give that time or a later one"
    half, text = cast("int", 1.5), cast("int", "1")
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: made.run_until(now - 1), rf"a run until {now - 1} ns {past}"),
        (lambda: made.run_until_completion(0), rf"a limit at 0 ns {past}"),
        (lambda: made.run_until(-1), r"a run until -1 ns is in the past"),
        (lambda: made.run_until_completion(-1), r"a limit at -1 ns is in the past"),
        (lambda: made.run_until(1 << 62), r"is out of range: simulated time ends at \d+ ns"),
        (lambda: made.run_until(1 << 70), r"time_ns: \d+ is out of range"),
        (lambda: made.run_until(half), r"time_ns: expected a whole number, found 1\.5"),
        (lambda: made.run_until_completion(text), r"limit_ns: expected a whole number, found '1'"),
    ]
    for call, message in refusals:
        with pytest.raises(ssdlab.WorkloadError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
        assert seen(made) == before
    assert made.run_until(now).id.tolist() == []
    assert made.run_until_idle().id.tolist() == [1]


def test_without_power_nothing_runs() -> None:
    made = device(**{"power.cut": "on-request", "precondition.overwrite": 0.5})
    made.write(1)
    made.power_cut()
    for call in (
        made.next_event,
        made.run_until_completion,
        made.run_until_idle,
        lambda: made.run_until(1 << 40),
    ):
        with pytest.raises(ssdlab.WorkloadError, match="power is off: mount"):
            call()
    made.mount()
    assert made.next_event() is None
    assert len(made.run_until_completion()) == 0


class Breaks(ssdlab.policy.Victim):
    def select(self, view: ssdlab.policy.VictimView) -> int | None:
        raise LookupError(f"no idea of pool {view.pool}")


def test_a_device_that_fails_says_so_in_every_call() -> None:
    made = ssdlab.Device(set=KEYS, victim=Breaks())
    made.submit("write", np.arange(4000) % 300)
    assert len(made.run_until_completion()) > 0
    with pytest.raises(ssdlab.RunError, match="no idea") as caught:
        made.run_until(1 << 40)
    assert isinstance(caught.value.__cause__, LookupError)
    for call in (made.next_event, made.run_until_completion, lambda: made.run_until(1 << 40)):
        with pytest.raises(ssdlab.RunError, match="no idea"):
            call()


def test_ctrl_c_stops_a_step_and_the_next_goes_on() -> None:
    made, other = device(), device()
    for one in (made, other):
        one.submit("write", np.random.default_rng(3).integers(0, 300, 200_000))

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(ssdlab.Interrupted):
            made.run_until(1 << 50)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert made.outstanding
    left = made.run_until_completion()
    assert len(left) > 1
    assert (left.completion_ns <= made.now_ns).all()
    found = of(left) | of(made.run_until_idle())
    assert found == of(other.run_until_idle())


def test_a_device_belongs_to_one_thread_at_a_time() -> None:
    entered, leave = threading.Event(), threading.Event()

    class Waits(ssdlab.policy.Victim):
        def score(self, view: ssdlab.policy.VictimView) -> Any:  # noqa: ANN401
            entered.set()
            leave.wait()
            return view.valid

    made = ssdlab.Device(set=KEYS, victim=Waits())
    made.submit("write", np.arange(4000) % 300)
    thread = threading.Thread(target=made.run_until_idle)
    thread.start()
    entered.wait()
    try:
        for call in (made.next_event, made.run_until_completion, lambda: made.run_until(1 << 40)):
            with pytest.raises(ssdlab.WorkloadError, match="in use by another thread"):
                call()
    finally:
        leave.set()
        thread.join()
