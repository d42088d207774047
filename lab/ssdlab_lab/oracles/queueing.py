"""Waiting times of single servers: M/D/1, M/G/1, priorities, Lindley's recursion, Little's law.

Times carry whatever unit the caller uses (the same for all), rates its inverse; only `lindley`,
`lindley_completions` and the latencies of `saturation` insist on integer nanoseconds. rho here is
the utilisation of the server (arrival rate times mean service), not the load of the flash.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext


@dataclass(frozen=True)
class JobClass:
    """Poisson arrivals of one class: rate (1/time), mean service E[S], second moment E[S^2]."""

    rate: float
    mean: float
    second_moment: float

    @staticmethod
    def of_fixed(rate: float, service: float) -> JobClass:
        """Return a class whose service always takes `service`."""
        return JobClass(rate, service, service * service)

    @staticmethod
    def of_mixture(rate: float, parts: Sequence[tuple[float, float]]) -> JobClass:
        """Return a class that takes time t with probability p, for (p, t) in `parts`."""
        if abs(math.fsum(p for p, _ in parts) - 1.0) > 1e-9:
            message = "probabilities of a mixture must sum to 1"
            raise ValueError(message)
        mean = math.fsum(p * t for p, t in parts)
        return JobClass(rate, mean, math.fsum(p * t * t for p, t in parts))

    @property
    def utilisation(self) -> float:
        """Share of time the server works for this class."""
        return self.rate * self.mean


def md1_mean_wait(utilisation: float, service: float) -> float:
    """Return the mean wait in queue of M/D/1, rho D / (2 (1 - rho)), rho in [0, 1).

    Source: Pollaczek-Khinchine with E[S^2] = D^2. Poisson arrivals that are split at random over
    dies stay Poisson, so each die is such a queue.
    """
    _check_stable(utilisation)
    return utilisation * service / (2.0 * (1.0 - utilisation))


def md1_wait_cdf(utilisation: float, service: float, wait: float) -> float:
    """Return P(Wq <= t) of M/D/1 for t = `wait` >= 0.

    (1 - rho) sum_{k=0}^{floor(t/D)} [lam (kD - t)]^k / k! e^{-lam (kD - t)}, lam = rho / D.
    The sum alternates and cancels, so it is done in decimals with 80 digits and more for long
    waits. Source: Erlang 1909; Iversen and Staalhagen, Electronics Letters 35(25), 1999.
    """
    _check_stable(utilisation)
    if wait < 0.0 or service <= 0.0:
        message = f"wait {wait} or service {service} out of range"
        raise ValueError(message)
    turns = wait / service
    with localcontext() as context:
        context.prec = 80 + 2 * math.ceil(turns)
        rho = Decimal(utilisation)
        time = Decimal(wait) / Decimal(service)
        total = Decimal(0)
        factorial = Decimal(1)
        for k in range(int(time) + 1):
            if k > 0:
                factorial *= k
            argument = rho * (k - time)
            power = Decimal(1) if k == 0 else argument**k
            total += power / factorial * (-argument).exp()
        return float((1 - rho) * total)


def md1_wait_percentile(utilisation: float, service: float, share: float) -> float:
    """Return the smallest t with P(Wq <= t) >= `share` in [0, 1); 0 where 1 - rho reaches it."""
    if not 0.0 <= share < 1.0:
        message = f"percentile {share} is outside [0, 1)"
        raise ValueError(message)
    if md1_wait_cdf(utilisation, service, 0.0) >= share:
        return 0.0
    low, high = 0.0, service
    while md1_wait_cdf(utilisation, service, high) < share:
        low, high = high, 2.0 * high
    while high - low > 1e-9 * service:
        middle = 0.5 * (low + high)
        if md1_wait_cdf(utilisation, service, middle) < share:
            low = middle
        else:
            high = middle
    return high


def mg1_mean_wait(classes: Sequence[JobClass]) -> float:
    """Return the mean wait of M/G/1 in order of arrival, sum(lam E[S^2]) / (2 (1 - rho)).

    Source: Pollaczek-Khinchine (Kleinrock, Queueing Systems I, 1975, section 5.6).
    """
    utilisation = math.fsum(job.utilisation for job in classes)
    _check_stable(utilisation)
    return _residual(classes) / (1.0 - utilisation)


def priority_mean_waits(classes: Sequence[JobClass]) -> list[float]:
    """Return the mean wait of each class, non-preemptive priorities, highest class first.

    W_k = R / ((1 - s_{k-1}) (1 - s_k)), s_k = rho_1 + .. + rho_k, R = sum lam E[S^2] / 2.
    Source: Cobham, "Priority assignment in waiting line problems", Oper. Res. 2(1), 1954.
    """
    residual = _residual(classes)
    waits: list[float] = []
    load_before = 0.0
    for job in classes:
        load_after = load_before + job.utilisation
        _check_stable(load_after)
        waits.append(residual / ((1.0 - load_before) * (1.0 - load_after)))
        load_before = load_after
    return waits


def _residual(classes: Sequence[JobClass]) -> float:
    return math.fsum(job.rate * job.second_moment for job in classes) / 2.0


def _check_stable(utilisation: float) -> None:
    if not 0.0 <= utilisation < 1.0:
        message = f"utilisation {utilisation} is outside [0, 1)"
        raise ValueError(message)


def lindley(arrivals: Sequence[int], services: Sequence[int]) -> list[int]:
    """Return the exact wait (ns) of each job of one server in order of arrival.

    w_{i+1} = max(0, w_i + S_i - (a_{i+1} - a_i)), integers in ns: a differential oracle for any
    trace, to be met with equality. Source: Lindley, Proc. Camb. Phil. Soc. 48, 1952.
    """
    if len(arrivals) != len(services):
        message = f"{len(arrivals)} arrivals but {len(services)} services"
        raise ValueError(message)
    waits: list[int] = []
    for index, arrival in enumerate(arrivals):
        if index == 0:
            waits.append(0)
            continue
        gap = arrival - arrivals[index - 1]
        if gap < 0:
            message = f"arrival {index} goes back in time by {-gap} ns"
            raise ValueError(message)
        waits.append(max(0, waits[-1] + services[index - 1] - gap))
    return waits


def lindley_completions(arrivals: Sequence[int], services: Sequence[int]) -> list[int]:
    """Return the exact completion time (ns) of each job: arrival + wait + service."""
    waits = lindley(arrivals, services)
    return [a + w + s for a, w, s in zip(arrivals, waits, services, strict=True)]


def dd1_wait(interval: int, service: int, index: int) -> int:
    """Return the wait (ns) of job `index` (from 0) of D/D/1: index * max(0, S - interval)."""
    return index * max(0, service - interval)


def jobs_in_system(throughput: float, residence: float) -> float:
    """Return the mean number in system, X R (Little 1961).

    Exact on a run that starts and ends empty; for equality use integrals: the sum of
    residences over the length of the run.
    """
    return throughput * residence


def closed_loop_throughput(queue_depth: int, residence: float, think: float = 0.0) -> float:
    """Return X = QD / (R + Z), jobs per time, of a closed loop with think time Z (Little)."""
    return queue_depth / (residence + think)


def busy_fraction(throughput: float, service: float) -> float:
    """Return the utilisation law X S: the share of time a die (or bus) is busy."""
    return throughput * service
