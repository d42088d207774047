"""The host's side of a device: link, write buffer, read retries."""

from __future__ import annotations


def link_time(size: int, rate: int) -> int:
    """Return the time (ns) of `size` bytes over an idle link of `rate` bytes/s, rounded up."""
    return -(-size * 1_000_000_000 // rate)


def mean_retries(probability: float, limit: int) -> float:
    """Return the mean retries of a read, each attempt failing with `probability`, at most `limit`.

    The k-th retry happens if the k attempts before it failed: p + p^2 + ... + p^limit.
    """
    return sum(probability**k for k in range(1, limit + 1))


def buffer_miss_ratio(pages: int, kept: int) -> float:
    """Return the share of uniform single-page writes that find their page not in the buffer.

    `kept` of `pages` pages are in the buffer, any set of them equally likely: a write misses with
    probability 1 - kept / pages, and in the long run each miss is one program.
    """
    return 1.0 - kept / pages
