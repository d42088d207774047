"""A virtual machine whose drive is a served one, and which does what `guest_agent` knows.

It needs no privileges and no disk: its root is an archive of this machine's programs. QEMU emulates
the processor, so the machine of the tests may be a virtual one, too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from running import HANG_S

AGENT = Path(__file__).with_name("guest_agent.py")
QEMU = "qemu-system-x86_64"
KERNEL = Path(os.environ.get("SSDLAB_KERNEL", "/"))
"""The folder that has `boot` and `lib/modules` of the guest, such as an unpacked package."""
PACKAGES = {
    QEMU: "qemu-system-x86",
    "mkfs.ext4": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "xfs_repair": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "btrfs": "btrfs-progs",
    "pgbench": "postgresql",
    "nbdfuse": "libnbd-bin",
    "losetup": "mount",
    "delpart": "util-linux",
    "fusermount": "fuse3",
}
"""Where Debian has the programs."""
MODULES = ("virtio_pci", "virtio_blk", "xfs", "btrfs")
NEEDLESS = {"test", "site-packages", "idlelib", "tkinter", "ensurepip", "lib2to3", "bitcode"}
"""Parts of Python's library and of PostgreSQL that take room, and that nobody in the guest uses."""
START = """\
#!{python} -SEu
import os, sys
os.environ.update(PATH={path!r}, TZ="UTC", LC_ALL="C")
sys.path.insert(0, "/")
import guest_agent
guest_agent.main()
"""


def kernel() -> Path:
    """The newest kernel that has an NVMe driver built in, as those of Debian's cloud have."""
    for image in sorted(KERNEL.glob("boot/vmlinuz-*"), reverse=True):
        version = image.name.removeprefix("vmlinuz-")
        built_in = KERNEL / "lib/modules" / version / "modules.builtin"
        if os.access(image, os.R_OK) and "/nvme.ko" in built_in.read_text():
            return image
    pytest.skip(
        "no kernel for a guest: apt-get download linux-image-cloud-amd64, unpack it and the package"
        " that it depends on with dpkg -x into a folder, and name that in SSDLAB_KERNEL"
    )


def modules(image: Path, *names: str) -> list[Path]:
    """The files of kernel modules and of those that they depend on, in the order of loading."""
    folder = KERNEL / "lib/modules" / image.name.removeprefix("vmlinuz-")
    files = {path.stem.replace("-", "_"): path for path in folder.rglob("*.ko")}
    paths: list[Path] = []
    for name in names:
        path = files[name]
        depends = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        assert depends, path
        dependencies = filter(None, depends[1].decode().replace("-", "_").split(","))
        paths_with_dependencies = (*modules(image, *dependencies), path)
        paths += [module for module in paths_with_dependencies if module not in paths]
    return paths


def libraries(programs: Iterable[Path]) -> set[Path]:
    """The shared libraries of programs."""
    process = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, check=False
    )
    return {Path(path) for path in re.findall(r"(/\S+) \(0x", process.stdout)}


def files_below(folder: Path) -> Iterable[Path]:
    """The files of a folder, without what is needless."""
    for directory, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in NEEDLESS]
        yield from (Path(directory, name) for name in files if name != "llvmjit.so")


class Archive:
    """An archive of files for the kernel: cpio, in the form `newc`."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.names = {"."}

    def add(self, name: str, data: bytes | None, mode: int = 0o755) -> None:
        """Add a file, or without data a folder, and the folders above it."""
        if name in self.names:
            return
        self.names.add(name)
        self.add(str(Path(name).parent), None)
        kind, data = (0o040000, b"") if data is None else (0o100000, data)
        fields = [len(self.names), kind | mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        for part in (head, data):
            self.parts += [part, bytes(-len(part) % 4)]

    def add_files(self, paths: Iterable[Path]) -> None:
        """Add files of this machine under their names."""
        for path in paths:
            self.add(str(path).lstrip("/"), path.read_bytes())

    def write(self, path: Path) -> None:
        """Write the archive."""
        self.names.discard("TRAILER!!!")
        self.add("TRAILER!!!", b"")
        path.write_bytes(b"".join(self.parts))


def write_root(path: Path, image: Path, programs: Iterable[Path], folders: Iterable[Path]) -> None:
    """Write the root of a guest with `programs` and all files of `folders`."""
    python = Path(sys.executable).resolve()
    files = {python, *programs, *files_below(Path(sysconfig.get_path("stdlib")))}
    for folder in folders:
        files |= {*files_below(folder)}
    binaries = [file for file in files if os.access(file, os.X_OK) or file.suffix == ".so"]
    archive = Archive()
    for name in ("proc", "sys", "dev", "tmp", "run", "mnt", "etc"):
        archive.add(name, None, 0o1777 if name == "tmp" else 0o755)
    places = sorted({str(program.parent) for program in programs})
    archive.add("init", START.format(python=python, path=":".join(places)).encode())
    archive.add("guest_agent.py", AGENT.read_bytes())
    for number, module in enumerate(modules(image, *MODULES)):
        archive.add(f"modules/{number:02}-{module.name}", module.read_bytes())
    archive.add_files(sorted(files | libraries(binaries)))
    archive.write(path)


def program(name: str, places: str | None = None) -> Path:
    """Where a program is; without it the test is skipped."""
    path = shutil.which(name, path=places or f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"no {name}: apt-get install {PACKAGES[name]}")
    return Path(path)


class Guest:
    """A virtual machine on the drive at the socket `drive.sock` in `folder`."""

    def __init__(
        self, folder: Path, device: str, programs: Iterable[Path], folders: Iterable[Path] = ()
    ) -> None:
        self.console, image = folder / "console", kernel()
        write_root(folder / "root", image, programs, folders)
        options = {
            "-accel": "tcg",
            "-cpu": "qemu64,+rdrand",  # Without it the guest has no random numbers at its start.
            "-m": "1G",
            "-display": "none",
            "-kernel": str(image),
            "-initrd": "root",
            # What a drive has failed is not asked of it again. On a busy machine the timer would
            # fail the test of the kernel.
            "-append": "console=ttyS0 panic=-1 mitigations=off nvme_core.max_retries=0"
            " no_timer_check",
            "-blockdev": "nbd,node-name=drive,server.type=unix,server.path=drive.sock",
            "-device": f"{device},drive=drive",
            "-chardev": "stdio,id=agent,signal=off",
        }
        # The first line is the console, the second one the agent's.
        lines = ["-nodefaults", "-no-reboot", "-serial", "file:console", "-serial", "chardev:agent"]
        words = [str(program(QEMU)), *(word for pair in options.items() for word in pair), *lines]
        with (folder / "qemu").open("w") as stderr:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                words, cwd=folder, stdin=pipe, stdout=pipe, stderr=stderr, text=True, bufsize=1
            )
        self.answer()

    def ask(self, name: str, *values: object) -> None:
        """Call a function of the agent."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps([name, *values]) + "\n")

    def answer(self) -> Any:  # noqa: ANN401 - whatever the function returns
        """What it has returned."""
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith("{"):
                reply = json.loads(line)
                assert "error" not in reply, reply["error"] + "\n" + self.end_of_console()
                return reply["value"]
        raise AssertionError("the guest has ended:\n" + self.end_of_console())

    def call(self, name: str, *values: object) -> Any:  # noqa: ANN401 - whatever it returns
        """Call a function of the agent and wait for it."""
        self.ask(name, *values)
        return self.answer()

    def detach(self) -> None:
        """QEMU connects to the next server by itself."""

    def attach(self) -> None:
        """See `detach`."""

    def end_of_console(self) -> str:
        """What the kernel has said last."""
        return "\n".join(self.console.read_text(errors="replace").splitlines()[-30:])

    def end(self) -> None:
        """Switch it off."""
        self.process.kill()
        self.process.communicate(timeout=HANG_S)
