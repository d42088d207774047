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


def buffer_hit_ratio(pages: int, kept: int) -> float:
    """Return the share of uniform single-page writes that find their page in the buffer.

    `kept` of `pages` pages are in it, any set of them equally likely (LRU of independent uniform
    references).
    """
    return kept / pages
