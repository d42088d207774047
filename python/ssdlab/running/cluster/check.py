"""What a worker has, asked before it gets any run.

This module is sent to workers as code, since they may have no ssdlab, or another one: it imports
what every worker has.
"""

from __future__ import annotations

import platform
from typing import Any


async def found(wanted: str, resource: str, dask_worker: Any) -> dict[str, Any]:  # noqa: ANN401
    """The version of ssdlab and the memory of a worker.

    One of the version `wanted` publishes its memory as the `resource` that runs take, so that no
    more run at a time than fit.
    """
    from distributed.system import MEMORY_LIMIT

    try:
        from ssdlab import versions

        has, why = versions.described(), ""
    except Exception as error:  # whatever is wrong there
        has, why = "", f"{type(error).__name__}: {error}"
    memory = dask_worker.memory_manager.memory_limit or MEMORY_LIMIT
    if has == wanted and dask_worker.state.total_resources.get(resource) != memory:
        await dask_worker.set_resources(**{resource: memory})
    return {
        "has": has,
        "why": why,
        "memory_bytes": memory,
        "python": platform.python_version(),
        "threads": dask_worker.state.nthreads,
    }
