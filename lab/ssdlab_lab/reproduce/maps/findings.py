"""What the maps show, and which registered runs are not made. Both were written after runs."""

from __future__ import annotations

from ssdlab_lab.reproduce.maps.choices import LOAD, RAID

LEFT_OUT: frozenset[tuple[str, str, float]] = frozenset({(RAID, LOAD, 0.3)})
"""Papers, axes and values that were registered and are not run."""
NOT_RUN = (
    "Registered and not run: a load of 30 % for deferred-gc-raid, the empty column of its first"
    " map. In runs before the choices were registered, its baseline did not keep up at 25 % and 85"
    " % live. Runs of the proposal take longer the more requests wait. They would have taken"
    " minutes each, but all maps may take 20 minutes on two cores. This was decided after the"
    " other columns had been seen."
)
FINDINGS: tuple[str, ...] = (
    "**invalidation-rate** helps where few pages are live. At 15 and 25 % live, its mean latency"
    " is 3.5 to 21 times lower with Poisson arrivals up to a load of 40 %. At 40 % live it is at"
    " most 1.4 times lower up to a load of 20 %, and at 60 and 85 % nothing changes. With few live"
    " pages, many blocks qualify when used space reaches the trigger. The baseline collects all of"
    " them at once, ahead of the host, and the proposal one after the other. With many live pages,"
    " used space never falls below the trigger, so both collect every block as soon as it"
    " qualifies. In bursts of 1,024 and more, requests wait for one another, and the mean is at"
    " most 1.6 times lower.",
    "**adaptive-channel** helps at the same points. Where both keep up, its mean with Poisson"
    " arrivals is 4.5 to 28 times lower at 15 and 25 % live and 1.02 to 1.1 times at 40 %; at 60"
    " and 85 % nothing changes. It is the only proposal that is slower anywhere: in bursts of"
    " 1,024 and more at 15 % live, its mean is 1.1 to 1.2 times that of the baseline. Its longest"
    " latency is higher at two points. The cause was not tested.",
    "**noc-copyback** is never slower. A copy without errors crosses the interconnect once instead"
    " of twice, so the gain is larger where more is copied and where the interconnect is busy."
    " With Poisson arrivals up to a load of 10 %, the mean is at most 1.06 times lower at up to 60"
    " % live, and at most 1.27 times at 85 %. At higher loads it is up to 44 times lower, where"
    " the baseline is close to its limit. The longest latency is better at 49 of 50 points, by at"
    " least 1.18 times, in bursts too.",
    "**deferred-gc-raid** is faster at every point that was run. Its mean gain rises with the live"
    " share, from 1.4 times at 25 % to 5 to 8 times at 85 %, because the collections that it keeps"
    " away from writes become longer. Up to 55 % live the gain hardly depends on the load. The p99"
    " gains most at loads up to 1 %, 4.5 to 162 times, because chips are idle often enough for"
    " most collections; at 3 and 10 % it gains 1.5 to 5.4 times.",
    "The papers' own requests lie on both sides of the lines. By load and live share, for"
    " invalidation-rate and adaptive-channel, Dbench, MongoDB, MySQL and RocksDB lie where the"
    " mean is much lower, Cassandra and SQLite where it does not change. For noc-copyback all lie"
    " where the mean is at most 1.06 times lower. The volumes of deferred-gc-raid lie where its"
    " gain is highest. Recorded traces lie at 25 % live, and at 85 % for deferred-gc-raid, because"
    " the papers' pages fill that much.",
)
"""For each paper, the answer first."""
