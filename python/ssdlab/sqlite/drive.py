"""A simulated drive with the files of databases: `ssdlab.sqlite.Drive`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from ssdlab.config.given import typed
from ssdlab.errors import ConfigError
from ssdlab.running.device import Device
from ssdlab.sqlite.files import Files

if TYPE_CHECKING:
    from ssdlab.config.resolve import ConfigLike
    from ssdlab.results.measures import Recovery

_attached: WeakSet[Device] = WeakSet()


class Drive:
    """A simulated drive with files: `connect` opens databases on it.

        drive = ssdlab.sqlite.Drive(ssdlab.Device("modern-tlc"), folder="databases")
        connection = ssdlab.sqlite.connect("name.db", drive)

    `device` is a `Device`, which then belongs to the drive, or the configuration of one (preset,
    file, `Config`), which is then preconditioned as configured. The contents of files are kept in
    memory. With `folder` they are in files of the same names there, which any program can open; a
    file that exists already is written to the drive when it is opened. `cache_pages` is the size of
    the host's page cache in pages of the drive. A full cache evicts the least recently used page;
    if that page is dirty, all dirty pages of its file are written first. Raises `ConfigError`.
    """

    device: Device
    """The simulated device: `now_ns`, `report()` and its other properties."""

    @typed
    def __init__(
        self,
        device: Device | ConfigLike,
        *,
        folder: str | Path | None = None,
        cache_pages: int = 4096,
    ) -> None:
        if cache_pages < 0:
            raise ConfigError([f"cache_pages: found {cache_pages}; expected 0 or more"])
        device_ = device if isinstance(device, Device) else Device(device)
        if device_.config.values.get("power", {}).get("cut", "never") not in (
            "never",
            "on-request",
        ):
            message = 'power.cut: a drive with files is cut on request only: set "on-request"'
            raise ConfigError([message])
        if device_ in _attached:
            raise ConfigError(["device: another Drive uses this device: give that Drive instead"])
        if device_ is not device:
            device_.precondition(progress=False)
        _attached.add(device_)
        self.device = device_
        self.files = Files(device_, None if folder is None else Path(folder), cache_pages)

    def power_cut(self, at_ns: int | None = None) -> None:
        """Cut the power now, or at simulated time `at_ns`, even in the middle of a call.

        It needs `power.cut = "on-request"` and `run.data = "digest"`. The interrupted call and all
        later ones fail with `apsw.IOError` until `mount`. Raises `WorkloadError`.
        """
        self.files.power_cut(at_ns)

    def mount(self) -> Recovery:
        """Mount the drive after a power cut, and restore the files from the data that it still has.

        Names and sizes of files survive. A page has the data that were synced last, or those of a
        later write that had reached the drive. Connections that were open stay unusable: close
        them, and `connect` again. Returns the result of `Device.mount`. Raises `WorkloadError`
        while the power is on.
        """
        return self.files.mount()
