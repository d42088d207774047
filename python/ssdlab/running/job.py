"""A run as a value, which any process can execute, and the key of its results."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from ssdlab import _core, versions
from ssdlab.config import memory
from ssdlab.config.files import files_of
from ssdlab.config.resolve import Config
from ssdlab.errors import WorkloadError
from ssdlab.policy import Policies
from ssdlab.running.fitted import fitted
from ssdlab.running.sources import sources_digest
from ssdlab.store.keys import key_of, key_text

READ_BYTES = 1 << 20
BASE_BYTES = 64 << 20
"""Memory of a run besides its device: the interpreter's share, buffers, the report."""
FRESH_S = 2.0
"""A file changed this recently may change again without a later time of change."""


@dataclass(frozen=True)
class InputFile:
    """A file that a run reads."""

    key: str
    """The key that names it, such as `workload.trace`."""
    path: str
    """Where it is for the process that planned the run."""
    digest: str
    """SHA-256 of its contents."""
    bytes: int
    """Its size."""
    file: str
    """Its absolute path: `path`, or a file in the folder `path`."""
    of_folder: bool
    """`path` is a folder."""
    others: int = 0
    """Other files that are read with it; `digest` and `bytes` cover all of them."""
    version: tuple[int, int] | None = None
    """Its inode and time of change, if these show whether it has changed."""


@dataclass(frozen=True)
class Job:
    """A run as a value: equal jobs have equal results, wherever they run."""

    config: str
    """The resolved configuration, as JSON."""
    policies: bytes = b""
    """`Policies.pack()` of those in Python."""
    sources: str = ""
    """Digest of these policies (`sources_digest`)."""
    inputs: tuple[InputFile, ...] = ()
    """The files that it reads."""

    @staticmethod
    def of(config: Config, policies: bytes = b"") -> Job:
        """The job of a configuration. Reads its files; a device that follows its trace is fitted.

        Raises `WorkloadError` if one is missing or a pipe, `ConfigError` for policies that cannot
        replace the configured ones, and if no device of this form holds the trace.
        """
        inputs = tuple(_inputs(config))
        config = fitted(config)
        if not policies:
            return Job(config.text, inputs=inputs)
        # A configured policy that is replaced by one in Python has no effect.
        named = Policies.unpack(policies).name_in(config)
        return Job(named.text, policies, sources_digest(policies), inputs)

    @cached_property
    def text(self) -> str:
        """Everything that the results depend on, and nothing else, as JSON.

        These are the configuration without the names of run, preset and drive, the contents of the
        files that the run reads, the policies in Python, and the version of the results.
        """
        digests = {file.key: file.digest for file in self.inputs}
        return key_text(json.loads(self.config), digests, self.sources, versions.RESULTS)

    @cached_property
    def key(self) -> str:
        """The digest of `text`: equal keys, equal results."""
        return key_of(self.text)

    def is_current(self) -> bool:
        """Whether its files, and the code of its policies, are unchanged."""
        files = [contents(Path(file.file)) for file in self.inputs]
        expected = [(file.digest, file.bytes, file.others) for file in self.inputs]
        return files == expected and (
            not self.policies or sources_digest(self.policies) == self.sources
        )

    def memory_bytes(self, shared_bytes: int = 0) -> int:
        """Upper estimate of the memory that the run takes for itself.

        `shared_bytes`: a trace of at most this size is shared with other runs and does not count,
        unless the run fits its addresses to the device or has its own process.
        """
        config = Config(self.config)
        total_bytes = memory.device_bytes(config) + BASE_BYTES
        for file in self.inputs:
            if file.key.startswith("workload.") and file.key != "workload.job":
                trace_bytes = _traced_bytes(file.file, file.digest)
                is_unfitted = file.key != "workload.like" and config["workload.fit"] == "none"
                is_shared = is_unfitted and not self.policies and trace_bytes <= shared_bytes
                total_bytes += 0 if is_shared else trace_bytes
        return total_bytes


@lru_cache(maxsize=1024)
def _traced_bytes(file: str, digest: str) -> int:
    """Memory that the requests of a trace take."""
    del digest  # The file may be another one with the next digest.
    try:
        return _core.trace_memory_bytes(file)
    except OSError:  # The run will tell what is wrong with it.
        return 0


def _inputs(config: Config) -> Iterator[InputFile]:
    for key, name in files_of(config.values):
        if name == "-":
            continue
        path = Path(name)
        of_folder = path.is_dir()
        file = _volume(path, str(config["workload.kind"])) if of_folder else path
        absolute = str(file.absolute())
        version = version_of(file)
        digest, size, other_count = contents(file)
        yield InputFile(key, name, digest, size, absolute, of_folder, other_count, version)


def check_files(config: Config) -> None:
    """Raise `WorkloadError` for an input that can be read only once, or only here."""
    for key, name in files_of(config.values):
        if name == "-" or Path(name).is_fifo():
            message = f"{key}: {name}: other processes cannot read a pipe: name a file"
            raise WorkloadError(message)


def contents(file: Path) -> tuple[str, int, int]:
    """Digest and size of what a run reads with this file, and the number of other files.

    For a file that blktrace wrote for a CPU, this includes those of the other CPUs.
    """
    files = _of_all_cpus(file)
    if len(files) == 1:
        return *file_digest(file), 0
    digests = [(cpu, *file_digest(member)) for cpu, member in files]
    text = "".join(f"{cpu} {digest}\n" for cpu, digest, _ in digests)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return digest, sum(size for *_, size in digests), len(files) - 1


def _volume(folder: Path, kind: str) -> Path:
    """The file of the MSR volume that a kind of workload names, as the simulator finds it."""
    volume = kind.rpartition(":")[2]
    names = [f"{volume}.{ending}" for ending in ("csv", "csv.gz", "csv.zst")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise WorkloadError(f"{folder}: has no volume {volume}; expected one of {', '.join(names)}")


CPU = re.compile(r"(?P<base>.*\.blktrace\.)(?P<cpu>\d+)(?P<end>|\.gz|\.zst)", re.ASCII | re.DOTALL)
"""Name of a file that blktrace wrote for a CPU."""


def _of_all_cpus(path: Path) -> list[tuple[int, Path]]:
    """The files that are read with the trace `path`, including itself, by CPU."""
    match = CPU.fullmatch(path.name)
    if match is None:
        return [(0, path)]
    by_cpu = {int(match["cpu"]): path}
    for candidate in sorted(path.parent.iterdir()) if path.parent.is_dir() else ():
        candidate_match = CPU.fullmatch(candidate.name)
        if candidate_match and (candidate_match["base"], candidate_match["end"]) == (
            match["base"],
            match["end"],
        ):
            by_cpu.setdefault(int(candidate_match["cpu"]), candidate)
    return sorted(by_cpu.items())


_digests: dict[tuple[object, ...], str] = {}
"""Digests of files by path and the result of `stat`: a file is read once for all jobs."""


def file_digest(path: Path) -> tuple[str, int]:
    """SHA-256 and size of a file. Raises `WorkloadError` if it cannot be read, or is a pipe."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            message = f"{path}: not a file, which could be read twice"
            raise WorkloadError(message)
        with path.open("rb") as file:
            status = path.stat()
            version = (str(path.absolute()), status.st_mtime_ns, status.st_size, status.st_ino)
            if version in _digests:
                return _digests[version], status.st_size
            hasher = hashlib.sha256()
            while chunk := file.read(READ_BYTES):
                hasher.update(chunk)
            digest = hasher.hexdigest()
            if abs(time.time() - status.st_mtime) > FRESH_S:
                _digests[version] = digest
            return digest, status.st_size
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror or error}"
        raise WorkloadError(message) from error


def version_of(path: Path) -> tuple[int, int] | None:
    """Inode and time of change of a file; None if it may change without a change of that time."""
    try:
        status = path.stat()
    except OSError:  # told when it is read
        return None
    is_fresh = abs(time.time() - status.st_mtime) <= FRESH_S
    return None if is_fresh else (status.st_ino, status.st_mtime_ns)


def check_traces(names: Iterable[object]) -> None:
    """Raise `WorkloadError` if one of the traces does not exist; None and `-` name no file."""
    requested = dict.fromkeys(str(name) for name in names if name not in (None, "-"))
    missing = [name for name in requested if not Path(name).exists()]
    if missing:
        raise WorkloadError(f"{', '.join(missing)}: cannot open the trace: no such file")
