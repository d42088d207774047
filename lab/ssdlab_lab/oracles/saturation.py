"""Latency of an idle device and throughput of a saturated one, from the timing parameters.

Times are in ns (latencies exact integers); throughputs in pages per ns of the whole device.
C = channels, W = ways (chips) per channel, P = planes per chip, tx = transfer of one page, tc =
command, tR / tp = array time of a read / program.
"""

from __future__ import annotations


def idle_read(command: int, array: int, transfer: int, ecc: int = 0) -> int:
    """Return the latency (ns) of one page read on an idle device: t_cmd + t_R + t_xfer + ECC."""
    return command + array + transfer + ecc


def idle_program(command: int, transfer: int, array: int) -> int:
    """Return the latency (ns) of one page program on an idle device: t_cmd + t_xfer + t_PROG."""
    return command + transfer + array


def idle_erase(command: int, array: int) -> int:
    """Return the latency (ns) of one block erase on an idle device: t_cmd + t_BERS."""
    return command + array


def program_rate(channels: int, ways: int, transfer: float, array: float) -> float:
    """Return saturated single-plane programs, C W / max(W tx, tx + tp) pages per ns.

    Bus-bound or die-bound, whichever is slower. Source: pipeline bound; equal to an event
    simulation to 1.6e-4 (start-up only) for W = 1 .. 32.
    """
    return channels * ways / max(ways * transfer, transfer + array)


def multi_plane_program_rate(
    channels: int, ways: int, planes: int, transfer: float, array: float
) -> float:
    """Return saturated multi-plane programs, C W P / max(W P tx, P tx + tp) pages per ns.

    P transfers one after the other, one array time for all. Source: formula only.
    """
    pages = ways * planes
    return channels * pages / max(pages * transfer, planes * transfer + array)


def cache_program_rate(channels: int, ways: int, transfer: float, array: float) -> float:
    """Return saturated cache programs, C min(1/tx, W / max(tx, tp)) pages per ns.

    The transfer of the next page overlaps the array time of this one. Source: formula only.
    """
    return channels * min(1.0 / transfer, ways / max(transfer, array))


def read_rate(channels: int, ways: int, command: float, array: float, transfer: float) -> float:
    """Return saturated reads, C min(1 / (tc + tx), W / (tc + tR + tx)) pages per ns.

    Reached exactly only where commands go before data-out on the bus: with data-out first W = 4,
    tc = 1, tR = 50, tx = 20 gives .0305 instead of .0476 (confirmed by simulation).
    """
    return channels * min(1.0 / (command + transfer), ways / (command + array + transfer))


def serial_rate(units: int, operation: float) -> float:
    """Return saturated operations per ns where each occupies one of `units` for all its time."""
    return units / operation
