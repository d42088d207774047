"""What a trial runs: the policies, the devices, and how often the trace."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ssdlab import _core
from ssdlab.config.capacity import contradiction
from ssdlab.config.endurance import Endurance, endurance, raw_bytes
from ssdlab.config.files import plain_name
from ssdlab.config.quantity import DAY_S
from ssdlab.config.resolve import DEFAULT_DRIVE, STDIN, Config, ConfigLike, load_config, planes
from ssdlab.display.argument import argument
from ssdlab.display.numbers import size
from ssdlab.display.progress import show_progress
from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.results.lifetime import Lifetime
from ssdlab.results.prediction import ORDERS
from ssdlab.results.text import counted
from ssdlab.running import scale, scarce
from ssdlab.running.fitted import Totals, fitted, totals
from ssdlab.running.runner import PlannedRun

UNSEPARATED: dict[str, object] = {"alloc.separation": "none"}
"""The key of policies without separation, which a drive may have of its own."""
POLICIES: dict[str, dict[str, object]] = {
    "greedy": {"gc.victim": "greedy", **UNSEPARATED},
    "cost-benefit": {"gc.victim": "cost-benefit", **UNSEPARATED},
    "d-choices": {"gc.victim": "d-choices", **UNSEPARATED},
    "fifo": {"gc.victim": "fifo", **UNSEPARATED},
    "greedy + sepbit": {"gc.victim": "greedy", "alloc.separation": "sepbit"},
    "cost-benefit + fadac": {"gc.victim": "cost-benefit", "alloc.separation": "fadac"},
}
"""The policies to try: the usual victims, and two with separation. The first is the baseline."""
BEFORE, MEASURED = 4, 2
"""Pages that a trial writes before and in the measurement, in multiples of those of the trace."""
MOST_OF_PASS = 1 << 28
"""Most pages that one pass of the trace may write: a run then takes minutes."""
MOST_WRITTEN = 25_000_000
"""Most pages that a run writes, unless one pass of the trace writes more."""
LONGER = (1, 2, 4)
"""Factors of the lengths that are tried one after the other until write amplification has
settled."""
SAMPLES = 1000
"""Most rows of the series of a timed run."""


@dataclass(frozen=True)
class Plan:
    """The runs of a trial, before any of them begins."""

    drive: Config
    drive_name: str
    """The name that the caller gave; empty for the default drive."""
    trace: str
    totals: Totals
    """The trace in sums."""
    policies: Mapping[str, Mapping[str, object]]
    given: Mapping[str, object]
    """Further keys of all runs."""
    endurance: Endurance
    """Of the drive as its file states it."""
    contradiction: str = ""
    """How the file of the drive contradicts itself; empty if it does not."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Policies that this drive does not take, and why."""
    invalidated: float = 1.0
    """`scarce.invalidated_share` of the trace."""

    @property
    def pages(self) -> int:
        """Pages of the drive that the trace touches."""
        return self.totals.pages

    @property
    def touched(self) -> float:
        """Bytes of the drive that the trace touches."""
        return self.pages * float(self.drive["device.page_bytes"])

    @property
    def lifetime(self) -> Lifetime:
        """The flash of the drive, and what the host writes to it in a day.

        That is `wear.daily_writes`, or what it writes at the recorded rate.
        """
        device, sums = self.drive.values["device"], self.totals
        daily = self.drive.values["wear"].get("daily_writes_bytes")
        if daily is None and sums.duration_ns:
            daily = sums.bytes_written * DAY_S * 1e9 / self.span_ns
        user = device["user_pages"] * device["page_bytes"]
        at_once = planes(device) * device["page_bytes"]
        limit = at_once * DAY_S * 1e9 / self.drive["timing.program_ns"]
        raw = raw_bytes(self.drive)
        return Lifetime(self.endurance, raw, user, daily, self.contradiction, limit)

    def drive_with(self, policy: str) -> Config:
        """The drive under a policy, on which its open blocks depend."""
        keys = {**scale.PRECONDITION, **self.policies[policy], **self.given}
        return load_config(self.drive, set=keys)

    def device(self, policy: str, pools: int = 1) -> scale.ScaledDevice:
        """The device of a policy's functional trial, of so many pools."""
        return scale.functional_device(self.drive_with(policy), self.pages, pools)

    def functional_runs(self, pools: int, longer: int) -> list[PlannedRun]:
        """A run of each policy under each order of updates, on so many pools."""
        devices = {policy: self.device(policy, pools) for policy in self.policies}
        return [
            self.plan_run(
                label_of(policy, phases), small, policy, longer, {"workload.phases": phases}
            )
            for phases in ORDERS
            for policy, small in devices.items()
        ]

    def plan_run(
        self,
        label: str,
        small: scale.ScaledDevice,
        policy: str,
        longer: int,
        extra: Mapping[str, object],
    ) -> PlannedRun:
        """A run of a policy on a device, `longer` times as long, with the keys of `extra`."""
        lead_loops, measured_loops = self.loops(longer)
        if not self.fits(longer) and small.keys.get("run.mode") != "functional":
            lead_loops, measured_loops = max(1, self.passes - 1), min(1, self.passes - 1)
        share = lead_loops / (lead_loops + measured_loops) if measured_loops else 0.2
        warmup: dict[str, object] = {"workload.warmup_requests": 0, "workload.warmup_share": share}
        if not warmup.keys().isdisjoint(self.given):
            warmup = {}
        # The device is made of the drive as `given` has it, so its keys come last, and its
        # over-provisioning takes the place of a capacity.
        extra_keys = {
            key: value for key, value in self.given.items() if key != "device.user_capacity"
        }
        keys = {
            **scale.PRECONDITION,
            "workload.loops": lead_loops + measured_loops,
            **warmup,
            "metrics.interval": self.interval(lead_loops + measured_loops),
            **self.policies[policy],
            **extra_keys,
            **small.keys,
            **extra,
        }
        return PlannedRun(label, fitted(load_config(self.drive, trace=self.trace, set=keys)))

    def refusal(self, policy: str) -> Sequence[str]:
        """Why the drive does not take a policy; empty if it does."""
        try:
            replace(self, policies={policy: self.policies[policy]}).functional_runs(1, 1)
        except ConfigError as error:
            return error.messages
        return ()

    def loops(self, longer: int) -> tuple[int, int]:
        """How often the trace is run before the measurement, and in it.

        1 and 0 where it is too long for that: then a fifth of it comes before the measurement.
        """
        page_writes = self.totals.page_writes
        lead_loops = math.ceil(longer * BEFORE * self.pages / page_writes)
        measured_loops = math.ceil(longer * MEASURED * self.pages / page_writes)
        limit = longer * MOST_WRITTEN // page_writes
        return (
            (lead_loops, measured_loops)
            if lead_loops + measured_loops <= limit
            else (1, max(0, limit - 1))
        )

    def lengths(self) -> list[int]:
        """Those of `LONGER` that are different runs: a trace may be too long for more loops."""
        by_loops: dict[tuple[int, int], int] = {}
        for longer in LONGER:
            by_loops.setdefault(self.loops(longer), longer)
        return list(by_loops.values())

    def interval(self, loops: int) -> str:
        """Sample period of a timed run: `SAMPLES` rows at most for so many loops."""
        period_ns = math.ceil(loops * self.span_ns / SAMPLES)
        return f"{max(self.drive['metrics.interval_ns'], period_ns)} ns"

    @property
    def span_ns(self) -> float:
        """How long one pass of the trace takes at the recorded times."""
        factor: float = self.drive["workload.time_scale"]
        return self.totals.duration_ns * factor

    @property
    def passes(self) -> int:
        """How often the trace fits into the simulated time of the drive, at the recorded times."""
        return int(_core.last_time_ns(self.drive.text) // max(1.0, self.span_ns))

    def fits(self, longer: int) -> bool:
        """Whether all loops fit into the simulated time of the drive, at the recorded times."""
        return sum(self.loops(longer)) <= self.passes

    def is_periodic(self, longer: int) -> bool:
        """Whether whole loops are measured, after so many that the device repeats itself."""
        lead_loops, measured_loops = self.loops(longer)
        return measured_loops > 0 and lead_loops * self.totals.page_writes >= BEFORE * self.pages


def label_of(policy: str, phases: str) -> str:
    """The label of the runs of a policy under an order of updates."""
    return f"{policy}, {phases}"


def plan_trial(
    trace: str | Path,
    *,
    drive: ConfigLike = DEFAULT_DRIVE,
    policies: Mapping[str, Mapping[str, object]] | None = None,
    set: Mapping[str, object] | None = None,
    progress: bool = True,
) -> Plan:
    """What `try_trace` runs: the trace is read, nothing is simulated."""
    keys = dict(set or {})
    name = json.dumps(plain_name(trace), ensure_ascii=False)
    config = load_config(drive, trace=trace, set={"run.name": name, **keys})
    sums = _read_totals(config, progress)
    drive_name = (
        "" if drive == DEFAULT_DRIVE else drive.name if isinstance(drive, Config) else str(drive)
    )
    wear = {key: value for key, value in keys.items() if key.startswith("wear.")}
    rating = endurance(drive, load_config(drive, trace=trace, set=wear))
    conflict = contradiction(config)
    plan = Plan(config, drive_name, str(trace), sums, policies or POLICIES, keys, rating, conflict)
    plan = replace(plan, invalidated=scarce.invalidated_share(config, sums))
    refusals = {label: plan.refusal(label) for label in plan.policies}
    accepted = {label: plan.policies[label] for label, reasons in refusals.items() if not reasons}
    if not accepted:
        raise ConfigError(dict.fromkeys(text for reasons in refusals.values() for text in reasons))
    refused = {label: "; ".join(reasons) for label, reasons in refusals.items() if reasons}
    return replace(plan, policies=accepted, refused=refused)


def _read_totals(config: Config, progress: bool) -> Totals:
    """The trace in sums. Raises `WorkloadError` if it writes nothing, or more than a trial can."""
    file = str(config["workload.trace"])
    if file == STDIN or Path(file).is_fifo():
        message = (
            "a trial reads its trace several times, which a pipe does not allow; write it to a file"
        )
        raise WorkloadError(f"{argument('trace')}: {message}")
    with show_progress(file, progress) as callback:
        sums = totals(config, MOST_OF_PASS, callback)
    if not sums.page_writes:
        raise WorkloadError(f"{sums.file}: the trace writes nothing: there is nothing to collect")
    if sums.is_cut:
        until_ms = (config["workload.from_ns"] + sums.duration_ns) // 1_000_000
        keys = f"workload.until={until_ms / 1000:.3f}s"
        hint = f", such as {argument(set=keys)}" if until_ms else ""
        page = config["device.page_bytes"]
        raise WorkloadError(
            f"{sums.file}: the first {counted(sums.requests, 'request')} write more than"
            f" {MOST_OF_PASS:,} pages of {size(page)} ({size(MOST_OF_PASS * page)}),"
            f" which is the most that a trial takes: use a part of it{hint}"
        )
    return sums
