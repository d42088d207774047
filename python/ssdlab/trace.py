"""A trace from Python: `ssdlab.Trace`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab import _core, memory
from ssdlab.config_input import load_config
from ssdlab.errors import ConfigError, translated
from ssdlab.progress import display

if TYPE_CHECKING:
    from ssdlab.trace_info import Info

MEMORY_SHARE = 0.5
"""Of the memory that is available, what the table of pages may take unless it is said."""


@dataclass(frozen=True)
class Trace:
    """A trace file: block-event text, plain, .gz or .zst."""

    path: str | Path
    """Where it is; "-" is standard input."""

    def info(
        self,
        *,
        journal: Sequence[tuple[int, int]] = (),
        memory_limit: int | None = None,
        set: Mapping[str, object] | None = None,
        progress: bool | Callable[[int], object] = False,
    ) -> Info:
        """Statistics of the trace.

        `journal` holds ranges of sectors, ends excluded. `memory_limit` is what the table of pages
        may take, bytes (default: half of what is available). `set` maps keys of `[workload]` that
        say how the file is read (action, from, until, skip_bad) to values. `progress` shows a bar
        on stderr, or is called with the bytes read.

        Raises `ConfigError` and `WorkloadError`.
        """
        for start, end in journal:
            if not 0 <= start < end < 2**64:
                raise ConfigError([f"journal {start}:{end}: expected START:END, START below END"])
        config = load_config(trace=self.path, set=set)
        have = memory.available() or 8 << 30
        limit = int(have * MEMORY_SHARE) if memory_limit is None else memory_limit
        if not 0 < limit < 2**64:
            raise ConfigError([f"memory {limit}: expected a positive number of bytes"])
        with _watched(self.path, progress) as callback:
            text = _read(config.text, list(journal), limit, callback)
        from ssdlab.trace_info import info_of  # needs numpy, which is slow to import

        return info_of(json.loads(text))


@contextmanager
def _watched(
    path: str | Path, wanted: bool | Callable[[int], object]
) -> Iterator[Callable[[int], object] | None]:
    """What is to be called with the bytes read of the file."""
    if not isinstance(wanted, bool):
        yield wanted
        return
    if not wanted:
        yield None
        return
    total: int | None = None
    with suppress(OSError):
        total = Path(path).stat().st_size or None
    with display() as shown:
        told = shown.run(Path(path).name)
        yield lambda done: told("reading", done, total)


def _read(
    config: str,
    journal: list[tuple[int, int]],
    limit: int,
    callback: Callable[[int], object] | None,
) -> str:
    with translated():
        return _core.trace_info(config, journal=journal, memory=limit, progress=callback)
