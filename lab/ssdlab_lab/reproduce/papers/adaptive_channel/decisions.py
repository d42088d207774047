"""What was decided for the reproduction of adaptive GC control before the scheme was run."""

from __future__ import annotations

from ssdlab_lab.reproduce.paper import Decision, Decisions

DECIDED = Decisions(
    "2026-11-30",
    (
        Decision(
            "how much is collected",
            "every block in the list once the trigger holds, under all four schemes",
            "ours",
            "section 3.3: victim selection and trigger logic are not modified, only how much may be"
            " collected in parallel. That all listed blocks are collected is ours: section 4.3 has"
            " large bursts",
        ),
        Decision(
            "when a channel may begin",
            "when it is idle",
            "text",
            "section 3.1: a GC task begins on a channel only when that channel becomes idle",
        ),
        Decision(
            "what is not interrupted",
            "a block job, from its choice to its erase",
            "ours",
            "section 3.1 says so of a running NAND operation; GC before user reads is said of"
            " Conv_0.7_AllCh. Orders that let the host in between are readings",
        ),
        Decision(
            "victims",
            "70 % invalid, earliest enqueued first",
            "ours",
            "section 3.1 has earliest enqueued first, and 70 to 80 % invalid as usual",
        ),
        Decision(
            "rounding of G(t)",
            "up",
            "ours",
            "the paper states none; rounded down, which is a reading, nothing is collected up to"
            " 59 % used",
        ),
        Decision(
            "fill",
            "empty device",
            "text",
            "figure 6: blocks are empty at first. How much is written is not said: see lifetimes",
        ),
        Decision(
            "8 KiB pages",
            "cell times and transfers double, half as many blocks, requests in whole pages",
            "ours",
            "mean writes of table 9 are about twice those of table 6 where little is waited for",
        ),
        Decision(
            "operations, sizes, sequential shares, journal",
            "those of tables 3 to 5",
            "text",
            "tables 3 to 5",
        ),
        Decision(
            "lifetimes",
            "the same for an application in all three papers of the group: the live share of each,"
            " times the flash is written, stretches of journal and skew of tables that come nearest"
            " to the shares of blocks that become 70 % and 90 % invalid, under both published sets"
            " of statistics together",
            "sibling paper",
            "invalidation-rate, table 1, which has the same applications; no device is run for it"
            " (lifetimes.json). Varmail, which is not in table 1, has the median live share",
        ),
        Decision(
            "mean time between requests, length of surges",
            "mean and longest write of Conv_0_AllCh as published",
            "ours",
            "the paper gives no times; the proposed scheme has no part in it",
        ),
    ),
    "every decision but the lifetimes stood in an earlier evaluation (direction 15 of 40, near 4),"
    " and others had found that rounding down makes the columns of table 8 differ and does not"
    " improve table 6. These lifetimes had not been run.",
)
