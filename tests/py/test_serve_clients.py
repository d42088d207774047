"""Programs of others use a served drive over NBD; each is skipped where it is absent."""

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbd_client import FLUSH
from running import HANG_S
from served_drive import PAGE, UNIX, ServedDrive, served

URI = "nbd+unix:///tiny?socket=drive.sock"
PACKAGES = {
    "nbdinfo": "libnbd-bin",
    "nbdcopy": "libnbd-bin",
    "qemu-io": "qemu-utils",
    "qemu-img": "qemu-utils",
    "fio": "fio",
    "nbdfuse": "libnbd-bin fuse3",
    "mkfs.ext4": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "debugfs": "e2fsprogs",
}
"""Where Debian has the programs."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServedDrive]:
    """A server of a new drive."""
    new = ("--set", "precondition.fill=0", "--set", "precondition.overwrite=0")
    with served(*UNIX, "--state", "drive", *new, cwd=tmp_path) as server:
        yield server
        server.stop()


def need(*names: str) -> None:
    """Skip the test if a program is absent."""
    for name in names:
        if shutil.which(name) is None:
            pytest.skip(f"no {name}: apt-get install {PACKAGES[name]}")


def client(server: ServedDrive, *words: str) -> str:
    """What a client prints that succeeds."""
    need(words[0])
    done = subprocess.run(
        words, cwd=server.folder, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nbdinfo_sees_what_the_server_offers(server: ServedDrive) -> None:
    export = json.loads(client(server, "nbdinfo", "--json", URI))["exports"][0]
    assert export["export-name"] == "tiny"
    assert export["contexts"] == ["base:allocation"]
    offers = ("can_flush", "can_fua", "can_multi_conn", "can_trim", "can_zero", "can_df")
    assert all(export[name] for name in offers)
    assert not export["is_read_only"]
    assert export["block_size_preferred"] == PAGE
    size = int(client(server, "nbdinfo", "--size", URI))
    assert size == export["export-size"]
    server.client().write(0, bytes(PAGE))
    extents = json.loads(client(server, "nbdinfo", "--map", "--json", URI))
    assert [(one["length"], one["type"]) for one in extents] == [(PAGE, 0), (size - PAGE, 3)]


def test_nbdcopy_brings_back_what_it_has_brought(server: ServedDrive) -> None:
    data = random.Random(6).randbytes(int(client(server, "nbdinfo", "--size", URI)))
    (server.folder / "in").write_bytes(data)
    client(server, "nbdcopy", "--connections=4", "--requests=16", "--flush", "in", URI)
    client(server, "nbdcopy", "--connections=4", "--requests=16", URI, "out")
    assert (server.folder / "out").read_bytes() == data
    client(server, "qemu-img", "compare", "-f", "raw", "-F", "raw", "in", URI)


def test_qemu_io_finds_its_patterns(server: ServedDrive) -> None:
    commands = [
        "write -P 7 0 64k",
        "write -P 9 1000 3000",
        "read -P 9 1000 3000",
        "read -P 7 4000 1024",
        "discard 16k 32k",
        "read -P 0 16k 32k",
        "write -z 100 5000",
        "read -P 0 100 5000",
        "write -z -u 48k 16k",
        "read -P 0 48k 16k",
        "write -f -P 3 60k 8k",
        "flush",
        "read -P 3 60k 8k",
    ]
    words = [word for command in commands for word in ("-c", command)]
    said = client(server, "qemu-io", "-f", "raw", *words, URI)
    assert "Pattern verification failed" not in said
    assert said.count("read ") == 6


# Of several jobs that trim and write at random, fio 3.33 lets the first one alone write.
@pytest.mark.parametrize("kind", ["randrw", "trimwrite"])
def test_fio_verifies_what_it_has_written_over_four_connections(
    server: ServedDrive, kind: str
) -> None:
    said = client(
        server,
        "fio",
        "--name=verify",
        "--ioengine=nbd",
        f"--uri={URI}",
        f"--rw={kind}",
        "--verify=crc32c",
        "--verify_fatal=1",
        f"--bs={PAGE}",
        "--size=1m",
        "--offset_increment=1m",
        "--numjobs=4",
        "--iodepth=8",
        "--output-format=json",
    )
    jobs = json.loads(said[said.index("{") :])["jobs"]
    assert len(jobs) == 4
    assert all(job["error"] == 0 for job in jobs)
    for name in ("read", "write", *(["trim"] if kind == "trimwrite" else [])):
        assert all(job[name]["total_ios"] > 0 for job in jobs), name


@contextmanager
def as_file(server: ServedDrive) -> Iterator[Path]:
    """The drive as a file."""
    need("nbdfuse")
    path = server.folder / "disk"
    path.touch()
    fuse = subprocess.Popen(
        ["nbdfuse", str(path), URI], cwd=server.folder, stderr=subprocess.PIPE, text=True
    )
    try:
        while path.stat().st_size == 0:
            if fuse.poll() is not None:
                assert fuse.stderr is not None
                pytest.skip(f"no FUSE: {fuse.stderr.read()}")
        yield path
    finally:
        fuse.terminate()
        fuse.communicate(timeout=HANG_S)


def test_a_file_system_survives_a_kill_of_its_drive(tmp_path: Path) -> None:
    need("mkfs.ext4", "e2fsck", "debugfs")
    options = (*UNIX, "--state", "drive", "--set", "precondition.fill=0")
    data = random.Random(8).randbytes(300_000)
    (tmp_path / "files").mkdir()
    (tmp_path / "files/data").write_bytes(data)
    with served(*options, "--set", "precondition.overwrite=0", cwd=tmp_path) as server:
        with as_file(server) as disk:
            client(server, "mkfs.ext4", "-q", "-d", "files", str(disk))
            assert "data" in client(server, "debugfs", "-R", "ls -l /", str(disk))
        server.client().ask(FLUSH)
        server.kill()
    with served(*options, "--set", "precondition.overwrite=0", cwd=tmp_path) as server:
        assert "was killed" in server.said
        with as_file(server) as disk:
            client(server, "e2fsck", "-fn", str(disk))
            client(server, "debugfs", "-R", "dump /data back", str(disk))
        server.stop()
    assert (tmp_path / "back").read_bytes() == data
