"""The digest of policies in Python: of all their code and values.

cloudpickle packs classes of scripts and notebooks with their code, and those of modules by name.
Here the former are packed without what differs between processes. For the latter the files are
read: those of their modules, and those of the user's modules that these use.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import importlib.util
import io
import re
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from ssdlab.policy import Policies


def sources_digest(policies: bytes) -> str:
    """Digest of policies in Python, `Policies.pack()`; empty without policies.

    Equal in all processes for the same classes with the same values, wherever a script or a
    notebook defines them. Code in installed packages counts by the version of the package. Sets of
    texts have another order in each process, so their policies have another digest.
    """
    if not policies:
        return ""
    packed, modules = _repack(policies)
    digest = hashlib.sha256(packed)
    for name, content in sorted(_contents(modules)):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _repack(policies: bytes) -> tuple[bytes, frozenset[str]]:
    """Policies packed again, and the names of the modules that they use by name."""
    import cloudpickle  # type: ignore[import-untyped]  # slow to import

    modules: set[str] = set()

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # without types
        def reducer_override(self, obj: Any) -> Any:  # noqa: ANN401 - of pickle
            if isinstance(obj, types.CodeType):
                steps = dis.get_instructions(obj)
                modules.update(step.argval for step in steps if step.opname == "IMPORT_NAME")
                # The position of the code in its file has no effect.
                obj = obj.replace(co_firstlineno=1, co_linetable=b"")
                return cloudpickle.Pickler.dispatch_table[types.CodeType](obj)
            reduced = super().reducer_override(obj)
            if isinstance(obj, type) and isinstance(reduced, tuple):
                reduced = _without_identity(reduced)
            elif not isinstance(reduced, tuple):
                modules.add(_module_of(obj))
            return reduced

    out = io.BytesIO()
    Pickler(out).dump(Policies.unpack(policies).by_key)
    return out.getvalue(), frozenset(modules)


def _module_of(obj: object) -> str:
    """Name of the module of a class or function, or of the class of an object."""
    if isinstance(obj, types.ModuleType):
        return obj.__name__
    owner = obj if isinstance(obj, type | types.FunctionType) else type(obj)
    return owner.__module__ or ""


def _without_identity(reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """How a class is rebuilt, without the random number that cloudpickle gives it."""
    make, arguments, *rest = reduced
    plain = ("" if _is_random(argument) else argument for argument in arguments)
    return (make, tuple(plain), *rest)


def _is_random(argument: object) -> bool:
    return isinstance(argument, str) and re.fullmatch("[0-9a-f]{32}", argument) is not None


def _contents(modules: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """The contents of modules, and of those of the user that they import: files, or a version."""
    pending, seen = [*modules], set[str]()
    while pending:
        name = pending.pop()
        top = name.partition(".")[0]
        # The contents of `__main__` are packed; the version of the results covers ssdlab.
        if name in seen or top in ("", "__main__", "ssdlab", "cloudpickle"):
            continue
        seen.add(name)
        spec = _spec_of(name)
        if spec is None or spec.origin is None or _is_standard(spec.origin):
            continue
        if _is_installed(spec.origin):
            yield top, str(getattr(sys.modules.get(top), "__version__", "")).encode()
        elif Path(spec.origin).is_file():
            content = Path(spec.origin).read_bytes()
            yield name, content
            pending += _imports(content, spec)


def _spec_of(name: str) -> ModuleSpec | None:
    """Where a module comes from; None if it does not exist or cannot be found."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded.__spec__
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None


def _imports(content: bytes, spec: ModuleSpec) -> Iterator[str]:
    """The modules that a file imports, even in functions, with names that are not modules."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return  # no source: an extension
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = spec.name if spec.submodule_search_locations else spec.parent or ""
            steps = package.split(".")[: len(package.split(".")) - max(0, node.level - 1)]
            base = ".".join(filter(None, [*(steps if node.level else []), node.module or ""]))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


@cache
def _folders(*names: str) -> tuple[Path, ...]:
    return tuple(Path(sysconfig.get_path(name)).resolve() for name in names)


def _is_installed(file: str) -> bool:
    """Whether a module is in the folder of installed packages."""
    parents = Path(file).resolve().parents
    return any(folder in parents for folder in _folders("purelib", "platlib"))


def _is_standard(file: str) -> bool:
    """Whether a module comes with Python."""
    parents = Path(file).resolve().parents
    return not _is_installed(file) and any(
        folder in parents for folder in _folders("stdlib", "platstdlib")
    )
