"""The zones of a device: `ssdlab.Device.zones`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, overload

from ssdlab import _core
from ssdlab.errors import ZoneError, translate_errors
from ssdlab.running.numbers import integer


@dataclass(frozen=True)
class Zone:
    """A zone."""

    state: str
    """"empty", "implicitly opened", "explicitly opened", "closed", "full", "read-only" or
    "offline"."""
    written: int
    """Pages from its start to its write pointer."""


class Zones(Sequence[Zone]):
    """The zones of a device, as they are now, and the commands to them.

        request, lpn = device.zones.append(3, pages=16)
        device.run_until_completion()
        device.zones[3].written
        device.zones.reset(3)

    A zone has `pages` pages: zone 3 has those from LPN `3 * pages` on, which `device.read` reads.
    Commands take effect on the zones in the order of the calls. A command that is refused raises
    `ZoneError` with its `status`. Raises `WorkloadError` if the device has no zones.
    """

    def __init__(self, core: _core.Device) -> None:
        self._core = core
        with translate_errors():
            self.pages = len(core.mapping) // len(core.zones)
            """Pages of a zone."""

    def __len__(self) -> int:
        return len(self._core.zones)

    @overload
    def __getitem__(self, index: int) -> Zone: ...
    @overload
    def __getitem__(self, index: slice) -> list[Zone]: ...
    def __getitem__(self, index: int | slice) -> Zone | list[Zone]:
        """Zone `index` as it is now, or a list of zones."""
        with translate_errors():
            zones = self._core.zones
        if isinstance(index, slice):
            return [Zone(*zone) for zone in zones[index]]
        return Zone(*zones[index])

    def append(self, zone: int, pages: int = 1, at_ns: int | None = None) -> tuple[int, int]:
        """Submit an append of `pages` pages; return its number and the LPN that it begins at.

        It arrives at `at_ns`, or as early as possible. See `Device.submit`.
        """
        arrival = None if at_ns is None else integer("at_ns", at_ns)
        with translate_errors():
            status, request, lpn = self._core.zone_append(
                integer("zone", zone), integer("pages", pages), arrival
            )
        _check(status)
        return request, lpn

    def open(self, zone: int) -> None:
        """Open a zone explicitly."""
        self._manage(zone, "open")

    def close(self, zone: int) -> None:
        """Close a zone."""
        self._manage(zone, "close")

    def finish(self, zone: int) -> None:
        """Make a zone full, wherever its write pointer is. No page is programmed for that."""
        self._manage(zone, "finish")

    def reset(self, zone: int) -> int:
        """Make a zone empty; return the number of the TRIM of its pages.

        Its superblocks are erased in the background.
        """
        request = self._manage(zone, "reset")
        assert request is not None, "a reset is a request"
        return request

    def offline(self, zone: int) -> None:
        """Take a read-only zone offline."""
        self._manage(zone, "offline")

    def fail(self, zone: int, state: Literal["read-only", "offline"]) -> None:
        """Let a zone fail: its state becomes `state`. No command of NVMe does this."""
        self._manage(zone, f"fail {state}")

    def _manage(self, zone: int, action: str) -> int | None:
        with translate_errors():
            status, request = self._core.zone_manage(integer("zone", zone), action)
        _check(status)
        return request


def _check(status: int) -> None:
    """Raise the error of `status`, unless that is success."""
    if status:
        raise ZoneError(status, dict(_core.zone_statuses())[status])
