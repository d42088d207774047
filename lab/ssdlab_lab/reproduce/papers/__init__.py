"""The papers that can be reproduced, a folder each.

A folder has a `PAPER` (`paper`: schemes, tables, figures, claims) and its `READINGS` (`readings`:
alternative readings of what the paper leaves open). Every folder here is a paper.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ssdlab_lab.reproduce.paper import Paper
from ssdlab_lab.reproduce.readings import Readings

_FOLDERS = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
PAPERS: dict[str, Paper] = {folder.PAPER.name: folder.PAPER for folder in _FOLDERS}
"""By name."""
READINGS: dict[str, Readings] = {folder.PAPER.name: folder.READINGS for folder in _FOLDERS}
"""By name of the paper."""
