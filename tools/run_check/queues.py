"""Submission queues: which request the device takes when, by arrivals and completions."""

from __future__ import annotations

import heapq
from collections import deque

from .inputs import REQUESTS, Findings, Report
from .requests import Requests


class Queues:
    """The queues of the host, which take turns for the room in the device."""

    def __init__(self, count: int) -> None:
        self.waiting: list[deque[int]] = [deque() for _ in range(count)]
        self.turn = 0

    def take(self) -> int | None:
        """Return the request whose turn it is; None if all queues are empty."""
        for _ in self.waiting:
            queue = self.waiting[self.turn]
            self.turn = (self.turn + 1) % len(self.waiting)
            if queue:
                return queue.popleft()
        return None


def check_turns(report: Report, requests: Requests, findings: Findings) -> None:
    """Replay the host, and hold the order in which it took requests against their numbers."""
    count = report.whole("config.host.queues", 1)
    if count == 1 or not requests.complete or requests.cuts:
        return
    room = report.whole("config.host.max_outstanding", 0)
    arrival, completion = requests.table["arrival"], requests.table["completion"]
    stream = requests.table["stream"]
    # Within a stream, the numbers rise with the arrivals.
    numbers = filter(requests.known, range(requests.table.size))
    by_arrival = deque(sorted(numbers, key=lambda number: arrival[number]))
    queues, inside, taken = Queues(count), list[int](), 0
    while by_arrival or inside:
        times = [*inside[:1]]
        if by_arrival and len(inside) < room:
            times.append(arrival[by_arrival[0]])
        now = min(times)
        while inside and inside[0] <= now:
            heapq.heappop(inside)
        while by_arrival and arrival[by_arrival[0]] <= now:
            arrived = by_arrival.popleft()
            queues.waiting[stream[arrived] % count].append(arrived)
        while len(inside) < room and (number := queues.take()) is not None:
            if number != taken:
                place = f"{REQUESTS}: request {taken}, taken at {now} ns"
                findings.add("queue-turns", place, f"request {number}, whose turn it is", taken)
                return
            taken += 1
            heapq.heappush(inside, completion[number])
