"""What was decided for the reproduction of invalidation-rate GC before the scheme was run."""

from __future__ import annotations

from ssdlab_lab.reproduce.paper import Decision, Decisions

DECIDED = Decisions(
    "2026-11-30",
    (
        Decision(
            "order of host and collection",
            "collection first, then host reads, then host writes",
            "ours",
            "published latencies of BBGC are nearly those of PBGC (SQLite 140.6 and 142.7 ms), so"
            " collection does not give way to the host there; both are baselines",
        ),
        Decision(
            "framework of the proposed scheme",
            "block-blocking",
            "text",
            "tables 4 and 5 give its improvement over BBGC",
        ),
        Decision(
            "how much the conventional scheme collects",
            "every block in the list at the trigger, one at a time on a plane",
            "text",
            "section 5.3: all the target blocks were reclaimed",
        ),
        Decision(
            "how much the proposed scheme collects",
            "one block at a time in the device, until used space is below 70 %",
            "text",
            "algorithm 1; one block per plane is a reading",
        ),
        Decision(
            "trigger and victims",
            "used space 70 %; blocks 70 % invalid, in list order or slowest first, fully invalid"
            " ones at the head",
            "text",
            "sections 4 and 5.1",
        ),
        Decision(
            "fill",
            "empty device",
            "sibling paper",
            "adaptive-channel, figure 6; and table 1 counts the blocks that a trace writes, so"
            " those of an empty device. Writing the volume beforehand is an alternative reading",
        ),
        Decision(
            "placement, spare",
            "static by page number; 15 % of the raw flash",
            "ours",
            "the paper states none",
        ),
        Decision("operations, sizes, sequential shares", "those of table 3", "text", "table 3"),
        Decision(
            "lifetimes",
            "the same for an application in all three papers of the group: the live share of each,"
            " times the flash is written, stretches of journal and skew of tables that come nearest"
            " to the shares of blocks that become 70 % and 90 % invalid, under both published sets"
            " of statistics together",
            "text",
            "invalidation-rate, table 1, which has the same applications; no device is run for it"
            " (lifetimes.json)",
        ),
        Decision(
            "mean time between requests",
            "mean write of BBGC as published",
            "ours",
            "the paper gives no times; the proposed scheme has no part in it",
        ),
        Decision(
            "length of surges",
            "longest write of BBGC as published, as far as surges can make it",
            "ours",
            "published 0.7 to 21 s; the burst of one plane is at most 3.8 s",
        ),
        Decision(
            "seeds",
            "five; each draws the requests anew, the same for both schemes",
            "ours",
            "the paper gives single numbers",
        ),
    ),
    "every decision but the lifetimes stood in an earlier evaluation (near 10 of 18), and others"
    " had found no better reading. These lifetimes had not been run.",
)
