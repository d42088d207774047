"""A run as a value, which any process can execute, and the key of its results."""

from __future__ import annotations

import hashlib
import inspect
import json
import pickle
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ssdlab import versions
from ssdlab.config import memory
from ssdlab.config.resolve import Config
from ssdlab.errors import WorkloadError

FILES = (
    ("workload", "trace"),
    ("workload", "like"),
    ("workload", "job"),
    ("workload", "msr"),
    ("precondition", "snapshot"),
)
"""Keys of the configuration that name a file, or a folder, which a run reads."""
READ_BYTES = 1 << 20
BASE_BYTES = 64 << 20
"""Memory of a run beside its device: the interpreter's share, buffers, the report."""


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


@dataclass(frozen=True)
class Job:
    """A run as a value: equal jobs have equal results, wherever they run."""

    config: str
    """The resolved configuration, as JSON."""
    policies: bytes = b""
    """`Policies.packed()` of those in Python."""
    sources: str = ""
    """Digest of these policies: of what they are made of and of the files of their modules."""
    inputs: tuple[InputFile, ...] = ()
    """The files that it reads."""

    @staticmethod
    def of(config: Config, policies: bytes = b"") -> Job:
        """The job of a configuration. Reads its files. Raises `WorkloadError` if one is missing."""
        return Job(config.text, policies, sources_digest(policies), tuple(_inputs(config)))

    @cached_property
    def key(self) -> str:
        """Digest of all that the results depend on, and of nothing else.

        These are the configuration without the name of the run, the contents of the files it names,
        the policies in Python, and the version of the results.
        """
        values: dict[str, Any] = json.loads(self.config)
        del values["run"]["name"], values["preset"]  # labels
        for one in self.inputs:
            part, name = one.key.split(".")
            values[part][name] = one.digest
        what = [versions.RESULTS, values, self.sources]
        text = json.dumps(what, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def memory_bytes(self) -> int:
        """Upper estimate of the memory that the run takes."""
        return memory.needed(Config(self.config)) + BASE_BYTES


def _inputs(config: Config) -> Iterator[InputFile]:
    for part, name in FILES:
        given = config.values.get(part, {}).get(name)
        if not given or given in ("none", "-"):
            continue
        path = Path(given)
        file = _file_of(path, config)
        digest, size = file_digest(file)
        place = str(file.absolute()), file != path
        yield InputFile(f"{part}.{name}", str(given), digest, size, *place)


def check_files(config: Config) -> None:
    """Raise `WorkloadError` for an input that can be read only once, and only here."""
    for part, name in FILES:
        given = config.values.get(part, {}).get(name)
        if given == "-" or (given and Path(given).is_fifo()):
            message = (
                f"{part}.{name}: {given}: a pipe cannot be read by other processes: name a file"
            )
            raise WorkloadError(message)


def _file_of(path: Path, config: Config) -> Path:
    """A file itself; of a folder with volumes, the file of the volume."""
    if path.is_dir():
        volume = str(config["workload.kind"]).rpartition(":")[2]
        found = sorted(one for one in path.iterdir() if one.name.startswith(volume))
        if not found:
            message = f"{path}: no file of volume {volume}"
            raise WorkloadError(message)
        return found[0]
    return path


_known: dict[tuple[object, ...], str] = {}
"""Digests of files by path and what `stat` says: a file is read once for all jobs."""


def file_digest(path: Path) -> tuple[str, int]:
    """SHA-256 and size of a file. Raises `WorkloadError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            found = path.stat()
            version = (str(path.absolute()), found.st_mtime_ns, found.st_size, found.st_ino)
            if version not in _known:
                digest = hashlib.sha256()
                while part := file.read(READ_BYTES):
                    digest.update(part)
                _known[version] = digest.hexdigest()
            return _known[version], found.st_size
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror or error}"
        raise WorkloadError(message) from error


def sources_digest(policies: bytes) -> str:
    """Digest of policies in Python, as packed; empty without policies.

    cloudpickle packs classes of scripts and notebooks with their code, and other classes by name:
    the files of the modules of these are read as well. Modules that these import are not.
    """
    if not policies:
        return ""
    digest = hashlib.sha256(policies)
    for one in pickle.loads(policies).values():
        for kind in type(one).__mro__:
            module = sys.modules.get(kind.__module__)
            own = kind.__module__ not in ("builtins", "__main__", "typing")
            file = inspect.getsourcefile(module) if own and module else None
            if file is not None and Path(file).exists():
                digest.update(Path(file).read_bytes())
    return digest.hexdigest()


def missing_traces(names: Iterable[object]) -> list[str]:
    """The traces among `names` that are not there, each once; None and `-` name no file."""
    wanted = dict.fromkeys(str(name) for name in names if name not in (None, "-"))
    return [name for name in wanted if not Path(name).exists()]
