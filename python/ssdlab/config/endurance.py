"""How much the flash of a drive can take, from its rated endurance.

Makers rate drives, not flash: in bytes written by the host (TBW), or in drive writes per day (DWPD)
for the years of the warranty, under random writes of 4 KiB to the whole drive. The flash can take
that many bytes times the write amplification of those writes, whatever the host writes instead
(docs/adr/0028-years-follow-from-what-the-flash-takes.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ssdlab import _core
from ssdlab.config.published import published
from ssdlab.config.resolve import Config, ConfigLike, raw_pages
from ssdlab.display.argument import argument
from ssdlab.display.numbers import ratio
from ssdlab.display.words import join_names
from ssdlab.errors import ConfigError

DAYS = 365
"""Days in a year."""
RATED: Mapping[str, str] = {
    "dwpd": "drive writes a day",
    "tbw": "terabytes that the host may write",
    "years": "years of the warranty",
    "waf": "write amplification of the writes for which the drive is rated",
}
"""Keys of `rated` in `[published]`."""
EXAMPLE = "rated = { dwpd = 1, years = 5, waf = 4.2 }"


@dataclass(frozen=True)
class Endurance:
    """How much the flash of a drive can take; `cycles` is None if a figure is missing."""

    cycles: float | None
    """Programs of every page."""
    text: str
    """Where that comes from, in words; or what is missing."""
    years: float | None
    """Years of the warranty."""
    missing: str = ""
    """The keys of the rating that are missing."""

    def writable_bytes(self, raw_bytes: float) -> float | None:
        """The bytes that this much flash can take."""
        return None if self.cycles is None else self.cycles * raw_bytes


def endurance(drive: ConfigLike, config: Config) -> Endurance:
    """The endurance of a drive whose own configuration is `config`.

    Raises `ConfigError` if the file of the drive states it in another form.
    """
    name, rated = _name(drive), _rating(drive, config)
    years, cycles = rated.get("years"), int(config["wear.endurance"])
    if cycles:
        return Endurance(cycles, f"{cycles:,} erases of a block (wear.endurance)", years)
    missing = _missing_keys(rated)
    if missing:
        figures = join_names([f"`{key}` ({RATED[key]})" for key in missing])
        option = argument(set="wear.endurance=5000")
        text = (
            f"the endurance of {name} is unknown, since its file lacks {figures}: state it there,"
            f" under [published], {EXAMPLE}, or give the erases that a block survives, {option}"
        )
        return Endurance(None, text, years, join_names([f"`{key}`" for key in missing]))
    device = config.values["device"]
    if "tbw" in rated:
        tbw, rating = rated["tbw"] * 1e12, f"{rated['tbw']:,g} TB"
    else:
        tbw = rated["dwpd"] * device["user_pages"] * device["page_bytes"] * DAYS * rated["years"]
        writes = "drive write" if rated["dwpd"] == 1 else "drive writes"
        rating = f"{rated['dwpd']:g} {writes} a day for {rated['years']:g} years"
    erases = tbw * rated["waf"] / raw_bytes(config)
    text = f"rated for {rating} at WAF {ratio(rated['waf'])}: {erases:,.0f} erases of a block"
    return Endurance(erases, text, years)


def raw_bytes(config: Config) -> int:
    """All flash of a drive."""
    device = config.values["device"]
    return raw_pages(device) * int(device["page_bytes"])


def _missing_keys(rated: Mapping[str, float]) -> list[str]:
    """The keys without which the rating says nothing about the flash."""
    keys = [] if "tbw" in rated else [key for key in ("dwpd", "years") if key not in rated]
    return [*keys, *["waf"] * ("waf" not in rated)]


def _name(drive: ConfigLike) -> str:
    if isinstance(drive, Config):
        return str(drive.file or drive.name)
    return str(drive)


def _rating(drive: ConfigLike, config: Config) -> dict[str, float]:
    """The rating in the file of a drive, or of the preset that it extends."""
    name, rated = _name(drive), _published_table(config).get("rated", {})
    if not isinstance(rated, dict):
        raise ConfigError([f"{name}: [published] rated: found {rated!r}; expected {EXAMPLE}"])
    errors = [error for key, value in rated.items() if (error := _figure_error(key, value))]
    if {"tbw", "dwpd"} <= {*rated}:
        errors.append("`tbw` and `dwpd` are both given; give one of them")
    if errors:
        raise ConfigError(f"{name}: [published] rated: {error}" for error in errors)
    return rated


def _figure_error(key: str, value: object) -> str:
    """Why a figure of a rating is invalid; empty if it is valid."""
    if key not in RATED:
        matches = get_close_matches(key, RATED, 1)
        hint = f"; did you mean `{matches[0]}`?" if matches else f"; there are {', '.join(RATED)}"
        return f"no such key: `{key}`{hint}"
    low = 1.0 if key == "waf" else 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= low:
        return f"`{key}`: found {value!r}; expected {RATED[key]}, a number from {low:g}"
    return "" if value else f"`{key}`: found 0; expected {RATED[key]}"


def _published_table(config: Config) -> Mapping[str, Any]:
    """The table `[published]` of the file of a drive, or of the preset that it extends."""
    if config.file is not None:
        table = published(str(config.file), config.file.read_text(encoding="utf-8"))
        if table:
            return table
    presets = json.loads(_core.registry())["presets"]
    tables = {preset["name"]: preset["published"] for preset in presets}
    return tables.get(config.values.get("preset")) or {}
