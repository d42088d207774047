"""A guest on a served drive, which is killed again and again while the guest works.

The guest is a virtual machine, or (for root) programs of this machine, which nothing slows down.
After each kill the guest unmounts, the drive is served again, and everything that the guest had
forced to the drive has to be there, in file systems and databases that are whole. A recorder
between both knows what the drive has promised, whatever the guest makes of it. `SSDLAB_KILLS` says
how often.
"""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from guest import Guest, program
from ledger import Ledger
from mounted import MountedDrive
from recorder import Recorder, Tape, check_drive
from running import sets
from served_drive import PAGE, ServedDrive

pytestmark = pytest.mark.slow  # An emulated processor needs twenty seconds to start.

KILLS = int(os.environ.get("SSDLAB_KILLS", "5"))
DRIVE = {
    "device.channels": 4,
    "device.chips_per_channel": 2,
    "device.planes_per_chip": 2,
    "device.blocks_per_plane": 80,
    "device.pages_per_block": 256,
    "device.user_capacity": "1GiB",
    "host.write_buffer_pages": 256,
    "precondition.fill": 1,
    "precondition.overwrite": 1,
}
"""A worn-in drive with a buffer whose data a cut loses."""
# QEMU 7.2 says that its NVMe drive can force single writes through the cache, but does not. What a
# guest has forced to it would be lost. Without a cache QEMU forces all writes.
DEVICES = {
    "mounted": "",
    "nvme": "nvme,serial=ssdlab,write-cache=off",
    "virtio": "virtio-blk-pci",
}
"""What the drive is to the guest: one that is mounted on this machine, or a device of QEMU."""
FILE_SYSTEMS = ("mkfs.ext4", "e2fsck", "mkfs.xfs", "xfs_repair", "mkfs.btrfs", "btrfs")


class KilledDrive:
    """A guest on a drive whose server is killed."""

    def __init__(self, folder: Path, guest: Callable[[], Guest | MountedDrive]) -> None:
        self.folder, self.draw = folder, random.Random(1)
        self.recorder = Recorder(
            folder / "drive.sock",
            folder / "server.sock",
            Ledger(PAGE, is_volatile=True),
            Tape(folder / "tape"),
        )
        self.server = self.serve()
        try:
            self.guest = guest()
        except BaseException:
            self.kill()
            raise

    def serve(self) -> ServedDrive:
        """Serve the drive, which has all that it has promised."""
        words = ("--nbd", "unix:server.sock", "--state", "drive")
        server = ServedDrive(*words, *sets(DRIVE), cwd=self.folder)
        check_drive(self.recorder.ledger, self.recorder.server)
        self.recorder.open()
        return server

    def kill(self) -> None:
        """Kill the server."""
        self.server.kill()
        self.recorder.close()

    def keep(self) -> None:
        """Keep what a failure has to be explained with: the drive and the tape after the kill."""
        kept = self.folder / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for name in ("drive", "tape"):
            words = ["cp", "-a", "--sparse=always", str(self.folder / name), str(kept)]
            subprocess.run(words, check=True)

    def kill_during(self, call: str, *values: object, most_s: float) -> object:
        """Kill the server at a random moment of a call, and serve again; what the call returns."""
        self.guest.ask(call, *values)
        time.sleep(self.draw.uniform(0, most_s))
        self.kill()
        done = self.guest.answer()
        self.guest.detach()
        self.keep()
        self.server = self.serve()
        self.guest.attach()
        assert "the last server was killed" in self.server.said
        return done


@contextmanager
def killed_drive(folder: Path, guest: Callable[[], Guest | MountedDrive]) -> Iterator[KilledDrive]:
    """The same, which ends with the test."""
    drive = KilledDrive(folder, guest)
    with drive.recorder:
        try:
            yield drive
            drive.guest.end()
            assert "requests of" in drive.server.stop()
        finally:
            drive.guest.end()
            drive.kill()


def guest(
    folder: Path, device: str, programs: list[Path], folders: Iterable[Path] = ()
) -> Guest | MountedDrive:
    """A guest with this device."""
    if device == "mounted":
        return MountedDrive(folder, programs)
    return Guest(folder, DEVICES[device], programs, folders)


@pytest.mark.parametrize("device", DEVICES)
def test_file_systems_and_sqlite_survive_kills(tmp_path: Path, device: str) -> None:
    programs = [program(name) for name in FILE_SYSTEMS]
    steps, counts = 0, []
    with killed_drive(tmp_path, lambda: guest(tmp_path, device, programs)) as drive:
        drive.guest.call("partition", ["ext4", "xfs", "btrfs"], [300, 320, 300])
        for _ in range(KILLS):
            done = drive.kill_during("work", most_s=3)
            assert isinstance(done, list)
            steps += sum(done)
            counts = drive.guest.call("check")
    print(f"{KILLS} kills in {steps:,} changes of files and rows, which are {counts} in the end")


@pytest.mark.parametrize("device", DEVICES)
def test_postgresql_survives_kills(tmp_path: Path, device: str) -> None:
    binaries = ":".join(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)))
    postgres = program("pgbench", binaries)
    version = postgres.parent.parent.name
    folders = [postgres.parent.parent, Path("/usr/share/postgresql") / version]
    programs = [*map(program, FILE_SYSTEMS[:2]), postgres, Path("/bin/sh")]
    with killed_drive(tmp_path, lambda: guest(tmp_path, device, programs, folders)) as drive:
        drive.guest.call("partition", ["ext4"], [900])
        drive.guest.call("make_postgres", 1)
        for _ in range(KILLS):
            drive.kill_during("run_postgres", 4, most_s=8 if device == "mounted" else 60)
            there, acknowledged = drive.guest.call("check_postgres")
    print(f"{KILLS} kills in {there:,} transactions, {acknowledged:,} of them acknowledged")
