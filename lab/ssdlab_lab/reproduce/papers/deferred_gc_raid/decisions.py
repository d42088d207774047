"""What was decided for the reproduction of deferred GC before the scheme was run."""

from __future__ import annotations

from ssdlab_lab.reproduce.paper import Decision, Decisions

DECIDED = Decisions(
    "2026-11-30",
    (
        Decision(
            "when the baseline collects",
            "a chip at its threshold, when a write waits for it, ahead of that",
            "ours",
            "sections 3.3 and 4.2 say it of writes: a pending write invokes GC. Section 4.3 says"
            " that without requests GC is not invoked, and does not exclude reads: that a read"
            " triggers too is a reading",
        ),
        Decision(
            "threshold",
            "5 % of the blocks of a chip erased",
            "published elsewhere",
            "default of the DiskSim extension that the paper uses; the paper states none",
        ),
        Decision(
            "amount",
            "both schemes: block by block until the trigger no longer holds",
            "ours",
            "the scheme is about when and where, so nothing else differs",
        ),
        Decision(
            "order on a chip",
            "first come, first served; a block under collection is not interrupted",
            "ours",
            "the paper states none",
        ),
        Decision(
            "fill",
            "every page of host and parity once, in order; no overwriting",
            "ours",
            "the traces touch at most 4.6 GB of 64 GiB: without a fill nothing is ever collected,"
            " and after random overwriting every victim would hold cold pages",
        ),
        Decision(
            "load",
            "arrival times of the volumes; not calibrated",
            "text",
            "the paper replays the traces and prints no response times to calibrate by",
        ),
        Decision(
            "burstiness",
            "the pattern of the one recorded sample of an MSR volume (workload.pattern ="
            ' "msr-sample")',
            "published elsewhere",
            "Poisson arrivals at these means have hardly any gaps below 1 ms, real volumes have 80"
            " %; other patterns are readings",
        ),
        Decision(
            "sizes",
            "reads and writes widened to whole pages",
            "text",
            "section 5.1: all requests are aligned with 4 KB",
        ),
        Decision(
            "update of a group",
            "whichever of read-modify-write and reconstruct-write has fewer operations, the former"
            " on a tie; 64 pages just read are kept",
            "text",
            "section 3.3; the size of the read buffer is ours",
        ),
        Decision(
            "transfer",
            "none: a read takes 25 us, a program 200 us",
            "text",
            "table I gives these times and no others; the extension's 102.4 us a page is a reading",
        ),
        Decision(
            "arriving time (AT)",
            "of the first of 20 requests waiting in the controller that needs the chip; infinite"
            " without one",
            "ours",
            "the paper takes it from the pending queue; a device cannot know the rest of the trace",
        ),
        Decision(
            "where writes are redirected",
            "to a chip without a member of the write's group in that stripe, not under collection,"
            " with at most 5 % of its pages from elsewhere; once per write; parity too",
            "ours",
            "a lost chip must not take two members; GC never brings pages back, so a chip could"
            " overfill",
        ),
        Decision(
            "what is measured",
            "the whole trace, from the first request",
            "ours",
            "the paper speaks of no warm-up; chips reach the threshold only during the trace",
        ),
        Decision(
            "quick runs",
            "blocks of a chip, requests, addresses and written space of a volume divided by 4;"
            " no recorded files",
            "ours",
            "so that the share of the trace before the first collection stays",
        ),
    ),
    "in an earlier evaluation reads triggered collection, too (direction 16 of 18, near 12); on a"
    " quarter of the device writes only had 16 and 10, and others had found 14 near with 25 % to"
    " spare and writes only.",
)
