"""What a worker has, checked before it gets any run.

This module is sent to workers as code, because they may have no ssdlab, or another version: it
imports only what every worker has.
"""

from __future__ import annotations

import platform
from typing import Any


def memory_of(worker: Any) -> int:  # noqa: ANN401
    """The memory that a worker may take."""
    from distributed.system import MEMORY_LIMIT

    return int(worker.memory_manager.memory_limit or MEMORY_LIMIT)


async def inspect(version: str, resource: str, dask_worker: Any) -> dict[str, Any]:  # noqa: ANN401
    """The version of ssdlab and the memory of a worker.

    A worker with this `version` publishes its memory as the `resource` that runs take, so
    that no more runs are executed at a time than fit. The memory for traces shared by runs is not
    part of it.
    """
    traces, memory = 0, memory_of(dask_worker)
    try:
        from ssdlab import versions

        installed, error_text = versions.described(), ""
        if installed == version:
            from ssdlab.config.memory import traces_bytes

            traces = traces_bytes(memory)
    except Exception as error:  # whatever is wrong there
        installed, error_text = "", f"{type(error).__name__}: {error}"
    memory_bytes = memory - traces
    if installed == version and dask_worker.state.total_resources.get(resource) != memory_bytes:
        await dask_worker.set_resources(**{resource: memory_bytes})
    return {
        "has": installed,
        "why": error_text,
        "memory_bytes": memory_bytes,
        "traces_bytes": traces,
        "python": platform.python_version(),
        "threads": dask_worker.state.nthreads,
    }
