"""`python -m ssdlab_lab.reproduce.register NAME ...`: write what is fixed before results to a file.

The file is made from the code. If the code changes what is run, the two differ, and the choices
must be registered and run again.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ssdlab.errors import ConfigError
from ssdlab.results import outputs
from ssdlab_lab.reproduce import calibration, lifetimes
from ssdlab_lab.reproduce.paper import Scale
from ssdlab_lab.reproduce.papers import PAPERS, READINGS
from ssdlab_lab.reproduce.readings import AS_RUN, cells_by_reading
from ssdlab_lab.reproduce.registration import COMMAND, FOLDER, file_of

FORMAT = 1
"""Version of the file."""
STUDIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "combined": ("combined.choices", ()),
    "drives": ("drives.choices", ()),
    "maps": ("maps.choices", ()),
    "raid-beyond": (
        "raid_beyond",
        (
            *("PRESET", "AIM", "SEEDS", "REQUESTS", "BLOCKS", "CHANNELS", "CHIPS", "PAGES", "USER"),
            *("FILL", "UNCOLLECTED", "LINES", "ORDER_KEYS", "WORKLOADS", "INTERVALS_US"),
        ),
    ),
    "remapcom": ("remapcom.choices", ()),
    "scale": ("scales.choices", ()),
    "separations": ("separations.choices", ()),
    "suspension": ("suspension.choices", ()),
}
"""Module of the choices of a study, and the constants that are choices; all of them if empty."""


def text_of(name: str) -> str:
    """What is to be registered for a paper or study, from the code."""
    if name not in STUDIES and name not in PAPERS:
        names = ", ".join([*PAPERS, *STUDIES])
        raise ConfigError([f"{name}: nothing to register; there are: {names}"])
    values = _of_study(name) if name in STUDIES else _of_paper(name)
    head = {"format": FORMAT, "command": f"{COMMAND} {name}", "name": name}
    return json.dumps({**head, **values}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _of_paper(name: str) -> dict[str, Any]:
    """Decisions, main runs and readings of a paper with block requests."""
    paper, readings = PAPERS[name], READINGS[name]
    whole = Scale(quick=False)
    main = _runs(paper.cells(whole, paper.workloads, {}))
    plan = {
        title: _runs(cells)
        for title, cells in cells_by_reading(readings, whole, paper.workloads).items()
    }
    first = plan.pop(AS_RUN)
    files = [calibration.file_of(name), lifetimes.FILE] if readings.longest else []
    return {
        "decided": plain(paper.decided),
        "calibrated": {file.name: sha256(file.read_bytes()).hexdigest() for file in files},
        "main": main,
        "main on the small device": _difference(first, main),
        "readings": {title: _difference(runs, first) for title, runs in plan.items()},
    }


def _runs(cells: Sequence[Any]) -> dict[str, Any]:
    """Schemes, requests and seeds of some runs."""
    return {
        "schemes": {
            cell.scheme.name: {"preset": cell.scheme.preset, **plain(cell.scheme.keys)}
            for cell in cells
        },
        "requests": {cell.workload.name: plain(cell.workload.keys) for cell in cells},
        "seeds": sorted({cell.seed for cell in cells}),
    }


def _difference(values: Any, base: Any) -> Any:  # noqa: ANN401 - JSON
    """What of `values` is not in `base`; keys that are only in the latter are null."""
    if not isinstance(values, dict) or not isinstance(base, dict):
        return values
    changed = {
        key: _difference(value, base.get(key))
        for key, value in values.items()
        if value != base.get(key)
    }
    return {**changed, **{key: None for key in base if key not in values}}


def _of_study(name: str) -> dict[str, Any]:
    """Constants of the module of a study's choices."""
    module, names = STUDIES[name]
    return {"choices": constants(import_module(f"ssdlab_lab.reproduce.{module}"), names)}


def constants(module: ModuleType, names: Sequence[str] = ()) -> dict[str, Any]:
    """The constants that a module defines, or some of them, as JSON values."""
    defined = []
    for statement in ast.parse(inspect.getsource(module)).body:
        targets = (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
            if isinstance(statement, ast.AnnAssign)
            else []
        )
        for target in targets:
            elements = target.elts if isinstance(target, ast.Tuple) else [target]
            defined += [element.id for element in elements if isinstance(element, ast.Name)]
    upper = [name for name in defined if name.isupper() and not name.startswith("_")]
    return {name: plain(getattr(module, name)) for name in names or upper}


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A value as JSON can hold it; of a function or class its name."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "__name__", None) or (
        value.name if isinstance(value, Path) else str(value)
    )


def main() -> None:
    """Register the choices of the papers and studies that are named."""
    for name in sys.argv[1:]:
        try:
            text = text_of(name)
        except ConfigError as error:
            sys.exit(str(error))
        FOLDER.mkdir(exist_ok=True)
        outputs.write_all({file_of(name): outputs.text(text)}, force=True)
        print(f"{file_of(name)}: commit it before anything is run")


if __name__ == "__main__":
    main()
