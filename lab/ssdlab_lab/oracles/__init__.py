"""Closed forms that a correct simulator must reproduce; nothing here touches the simulator.

- `capacity`: effective blocks N' of each write mode, load rho, over-provisioning, TRIM.
- `amplification`: write amplification of uniform traffic by victim policy.
- `skewed`: the same for hot/cold, Zipf and any independent references (needs numpy).
- `queueing`: M/D/1, M/G/1, priorities, Lindley's recursion, Little's law.
- `saturation`: idle latencies and saturated throughputs.
- `host_side`: link, write buffer, read retries.

A test reads as: `rho = load(user, effective_blocks("dwfK", blocks, reserve=2), pages)`, then
`greedy(rho, pages)` against the simulated WA.
"""

from __future__ import annotations

from .amplification import (
    d_choices,
    fifo,
    fifo_by_lambert,
    greedy,
    greedy_occupancy,
    greedy_threshold,
    random_victim,
    sequential_overwrite,
    windowed_greedy,
)
from .capacity import (
    Convention,
    effective_blocks,
    finite_size_excess,
    load,
    load_from_over_provisioning,
    load_from_spare_factor,
    trim_live_fraction,
    user_pages,
)
from .host_side import buffer_hit_ratio, link_time, mean_retries
from .queueing import (
    JobClass,
    busy_fraction,
    closed_loop_throughput,
    dd1_wait,
    jobs_in_system,
    lindley,
    lindley_completions,
    md1_mean_wait,
    md1_wait_cdf,
    md1_wait_percentile,
    mg1_mean_wait,
    priority_mean_waits,
)
from .saturation import (
    cache_program_rate,
    idle_erase,
    idle_program,
    idle_read,
    multi_plane_program_rate,
    program_rate,
    read_rate,
    serial_rate,
)
from .skewed import GREEDY, fifo_hot_cold, fifo_independent, hot_cold, zipf_probabilities

__all__ = [
    "GREEDY",
    "Convention",
    "JobClass",
    "buffer_hit_ratio",
    "busy_fraction",
    "cache_program_rate",
    "closed_loop_throughput",
    "d_choices",
    "dd1_wait",
    "effective_blocks",
    "fifo",
    "fifo_by_lambert",
    "fifo_hot_cold",
    "fifo_independent",
    "finite_size_excess",
    "greedy",
    "greedy_occupancy",
    "greedy_threshold",
    "hot_cold",
    "idle_erase",
    "idle_program",
    "idle_read",
    "jobs_in_system",
    "lindley",
    "lindley_completions",
    "link_time",
    "load",
    "load_from_over_provisioning",
    "load_from_spare_factor",
    "md1_mean_wait",
    "md1_wait_cdf",
    "md1_wait_percentile",
    "mean_retries",
    "mg1_mean_wait",
    "multi_plane_program_rate",
    "priority_mean_waits",
    "program_rate",
    "random_victim",
    "read_rate",
    "sequential_overwrite",
    "serial_rate",
    "trim_live_fraction",
    "user_pages",
    "windowed_greedy",
    "zipf_probabilities",
]
