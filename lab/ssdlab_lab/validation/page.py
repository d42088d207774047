"""docs/validation.md."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ssdlab._core import __version__

from .check import Line, Outcome

HEAD = """\
<!-- Written by `ssdlab validate --write docs/validation.md`: change the source. -->

# Validation

The simulator is compared with closed forms that are independent of it (`ssdlab_lab.oracles`, with
sources). ssdlab {version}; {lines} lines, {failed} outside their bounds. Every number depends only
on the seeds (1 to 8; 1 where nothing is estimated), so the command above reproduces this page.

- *deviation* is (measured - formula) / formula, or the difference if the formula is 0.
- *measured* with ± is the mean over runs with different seeds and its 95 % interval.
- *bound* is the largest deviation allowed: at most 1 % for write amplification; *equal* means equal
  integers; for waiting times three standard errors of the measured mean, plus 0.4 % for
  percentiles, which are read from a histogram.
"""

NOTES = {
    "Parity groups": """\
One group as wide as the device, chips of 600 blocks, each a pool with the conventions above
(frontiers host+gc); warm-up 10 U, then 5 U host writes. Of the live pages of a chip one in g holds
parity, and it takes half of the programs: WA of random single pages, parity counted, is twice that
of hot/cold data with r = 1/g and f = 1/2. Of fifo that is a formula. Of greedy with two frontiers
none is known: *formula* is then twice the measured WA of a chip of its own, without parity and
under hot/cold writes. Writes of n pages at uniform places touch (n + g - 2) / (g - 1) groups.""",
    "Uniform writes, frontiers single": """\
U = floor(N' b / (1 + OP)) user pages, b pages per block, warm-up 10 U, then 5 U host writes for
each of four seeds. After each host page, collection runs while 2 or fewer blocks are erased. A
block is opened when its first page is written, so when collection starts, the open block holds one
live page and N' = N - 3 blocks are sealed (N - soft - 1 in general). In the simulator a window w
contains ceil(w N) blocks (of N, not N'); the formula uses the same number. Most results are
slightly above the mean field, by the order of 1 / N'. The reserve chose no victim.""",
    "Uniform writes, frontiers host+gc": """\
As above. When collection starts, the host's block holds one page and the GC block from 1 to b,
half a block on average: N' = N - soft - 1.5 + 1 / (2 b) blocks.""",
    "Steady state built directly": """\
No warm-up: the device is built from the mean field (`precondition.steady_state`) and the first
U / 2 host writes are measured, for each of four seeds. Greedy; N' as above.""",
    "Skewed writes, two-dimensional mean field": """\
Among blocks with equally many valid pages the mean field chooses at random. Greedy with
`ties = "random"` does the same; d-choices has few ties and comes close to it. The formula does not
describe the other tie rules. The default rule chooses the lowest block number; under skewed writes
its effect grows as blocks get smaller, whatever N' is, so it is compared only for b of 32 and
more.""",
    "Live pages under TRIM": """\
TRIMs are uniform over all pages, live or not, so a page is live if its last request was a write.
The second line of each pair uses the formula for TRIMs of live pages only, at the share of TRIMs
that hit a live page.""",
    "Completion times by Lindley's recursion, one chip, Poisson arrivals": """\
The completion time of each of the 20,000 requests must be equal to the nanosecond.""",
    "Write buffer: all chips busy at queue depth 1": """\
The last pages reach flash after the last write has completed; that time is part of the run.""",
    "Write buffer: coalescing": """\
Under uniform writes, LRU holds any set of pages with equal probability.""",
    "Read retries": """\
Means over 40,000 reads; the standard error is 0.8 % of the mean number of retries.""",
    "Saturated reads, pipelined": """\
These rates are reached only if commands have priority over data on the bus.""",
}


def markdown(outcome: Outcome, topics: Iterable[str], earlier: str = "") -> str:
    """Return the page: `topics` in this order, with those not in `outcome` taken from `earlier`."""
    parts = re.split(r"^## (.+)\n", earlier, flags=re.MULTILINE)[1:]
    sections = {
        topic: body.rstrip() + "\n" for topic, body in zip(parts[::2], parts[1::2], strict=True)
    }
    sections |= {topic: _section(topic, table) for topic, table in outcome.tables.items()}
    order = [topic for topic in topics if topic in sections]
    body = "".join(f"\n## {topic}\n{sections[topic]}" for topic in order)
    verdicts = re.findall(r"\| (yes|\*\*no\*\*) \|$", body, flags=re.MULTILINE)
    failures = len(verdicts) - verdicts.count("yes")
    return HEAD.format(version=__version__, lines=len(verdicts), failed=failures) + body


def _section(topic: str, table: Iterable[Line]) -> str:
    parts = [f"\n{NOTES[topic]}\n"] if topic in NOTES else []
    parts.append("\n| quantity | formula | measured | deviation | bound | ok |\n")
    parts.append("|---|--:|--:|--:|--:|---|\n")
    parts.extend(_row(line) for line in table)
    return "".join(parts)


def _row(line: Line) -> str:
    measured = _number(line.measured)
    if line.half_width is not None:
        measured += (
            f" ± {line.half_width:.2g}" if line.half_width < 100 else (f" ± {line.half_width:.0f}")
        )
    bound = "equal" if line.bound == 0.0 else f"{100 * line.bound:.3g} %"
    deviation = "0" if line.deviation == 0.0 else f"{100 * line.deviation:+.3f} %"
    cells = (line.what, _number(line.formula), measured, deviation, bound)
    return "| " + " | ".join(cells) + f" | {'yes' if line.ok else '**no**'} |\n"


def _number(value: float) -> str:
    if float(value).is_integer():
        return str(int(value))
    return f"{value:.4f}" if abs(value) < 100.0 else f"{value:.1f}"
