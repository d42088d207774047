"""From what a user specifies (preset, file, single keys) to a resolved configuration."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab import _core
from ssdlab.config.drives import (
    UNTIMED,
    NotedDrive,
    Origin,
    errors_beside,
    named_errors,
    named_titles,
    own_title,
)
from ssdlab.config.files import files_of
from ssdlab.config.given import typed
from ssdlab.config.parquet import as_table, is_parquet
from ssdlab.config.published import configuration
from ssdlab.display.argument import name_argument, option
from ssdlab.errors import ConfigError

STDIN = "-"
"""The name of a trace that is read from a pipe."""


class Config:
    """A resolved, checked configuration. `config["gc.victim.policy"]` is one of its values.

    Values are as in a report: times in nanoseconds (`timing.read_ns`), sizes in bytes
    (`device.page_bytes`), the capacity in pages (`device.user_pages`). `values` is all of it,
    by section; `text` is the same as JSON.
    """

    def __init__(
        self, text: str, file: Path | None = None, origin: Origin | NotedDrive | None = None
    ) -> None:
        self.text = text
        """The configuration as JSON."""
        self.file = file
        """The file from which it was read, if any."""
        self.origin = origin
        """The drive from which the configuration comes, as far as it is known."""
        self.values: dict[str, Any] = json.loads(text)
        """`text`, parsed."""

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401
        """The value of a dotted key; a `KeyError` names the part that does not exist."""
        value: Any = self.values
        for part in key.split("."):
            if isinstance(value, list) and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            elif isinstance(value, dict) and part in value:
                value = value[part]
            else:
                message = f"{key}: no such key: {part!r}"
                raise KeyError(message)
        return value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def name(self) -> str:
        """Name of the run and of its default folder."""
        return str(self.values["run"]["name"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before a run begins, such as triggers that can never be satisfied."""
        return tuple(_core.config_notes(self.text))

    def toml(self) -> str:
        """As TOML that resolves to this configuration."""
        return _core.config_toml(self.text)

    def file_text(self) -> str:
        """As TOML that loads from any folder: the paths of existing files are absolute.

        On the worker of a cluster the files may not exist.
        """
        values: dict[str, Any] = json.loads(self.text)
        for key, file in files_of(values):
            part, _, name = key.partition(".")
            if file != STDIN and Path(file).exists():
                values[part][name] = str(Path(file).absolute())
        return _core.config_toml(json.dumps(values))

    def __repr__(self) -> str:
        device = self.values["device"]
        size = raw_pages(device) * device["page_bytes"] / 2**30
        return (
            f"<Config {self.name}: {device['channels']} channels, {size:.3g} GiB raw, victim"
            f" {self['gc.victim.policy']}, workload {self['workload.kind']}>"
        )


def flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Values with dotted keys, given either so or as tables."""
    flattened: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flattened |= flatten(value, f"{prefix}{name}.")
        else:
            flattened[f"{prefix}{name}"] = value
    return flattened


NAMING_KEYS = ("run.name", "run.drive", "preset")
"""Keys of a resolved configuration that set nothing."""


def changed_keys(values: Mapping[str, object]) -> dict[str, str]:
    """The keys of a resolved configuration that differ from its preset, or from the defaults.

    Keys and values are as in `--set KEY=VALUE`.
    """
    preset = values.get("preset")
    defaults = _settings(load_config(None if preset is None else str(preset)).text)
    return {
        key: set_text(value)
        for key, value in _settings(json.dumps(values)).items()
        if key not in NAMING_KEYS and (key not in defaults or defaults[key] != value)
    }


def _settings(text: str) -> dict[str, object]:
    """The keys of a resolved configuration (JSON), as a file sets them."""
    return flatten(json.loads(_core.toml_json(_core.config_toml(text))))


def planes(device: Mapping[str, Any]) -> int:
    """All planes of a resolved `device`."""
    return int(device["channels"] * device["chips_per_channel"] * device["planes_per_chip"])


def raw_pages(device: Mapping[str, Any]) -> int:
    """All flash pages of a resolved `device`, over-provisioning included."""
    return planes(device) * int(device["blocks_per_plane"]) * int(device["pages_per_block"])


ConfigLike: TypeAlias = "str | Path | Config"
"""Name of a preset, path of a TOML file, or a resolved configuration."""


def preset_names() -> list[str]:
    """Names of the presets that come with ssdlab."""
    return [*_presets()]


@cache
def _presets() -> tuple[str, ...]:
    # Every configuration that is loaded asks for them, and listing the registry takes milliseconds.
    return tuple(preset["name"] for preset in json.loads(_core.registry())["presets"])


DRIVE = "drive:"
"""The prefix of the names of presets that are drives on sale."""
DEFAULT_DRIVE = "tlc-960gb"
"""The drive used if none is named: the preset of a typical one."""


def drive_presets() -> list[str]:
    """Names of the presets that are drives, the default drive first."""
    return [DEFAULT_DRIVE, *(name for name in preset_names() if name.startswith(DRIVE))]


def drive_preset(drive: str, spelling: str, presets: Collection[str] | None = None) -> str:
    """The preset of a named drive, with or without `drive:`; `spelling` is the text for errors.

    `presets` are those to choose from; by default all drives. Raises `ConfigError`.
    """
    presets_by_name = {preset.removeprefix(DRIVE): preset for preset in presets or drive_presets()}
    names, name = [*presets_by_name], drive.removeprefix(DRIVE)
    if name in presets_by_name:
        return presets_by_name[name]
    partial_matches = [preset for preset in names if name.lower() in preset] if name else []
    matches = partial_matches or get_close_matches(name.lower(), names, 1)
    hint = f"; did you mean {' or '.join(matches)}?" if matches else ""
    raise ConfigError([f"{spelling}: no such drive; there are: {', '.join(names)}{hint}"])


def whole_word_lines(pages: int, config: Config) -> int:
    """Pages of a block with about `pages` that has whole word lines of `config`: at least one."""
    word_line = int(config.values["device"].get("word_line", 1))
    return max(word_line, pages // word_line * word_line)


def with_blocks_of(pages: int, config: Config) -> dict[str, object]:
    """Keys of a device like `config` with this many pages per block, which are whole word lines.

    Erases take the same share of a plane's time as with the blocks of `config`.
    """
    erase = config["timing.erase_ns"] * pages / config["device.pages_per_block"]
    return {"device.pages_per_block": pages, "timing.erase": f"{round(erase)} ns"}


def set_text(value: object) -> str:
    """A Python value as text after `--set key=`: TOML, or a bare word."""
    if isinstance(value, str):
        return value
    if isinstance(value, Path):
        return _quote(str(value))
    return _toml(value)


def options(keys: Mapping[str, object]) -> str:
    """Keys as options of the command, each after a space."""
    return "".join(f" {option(key, set_text(value))}" for key, value in keys.items())


def _quote(text: str) -> str:
    """A TOML string: as in JSON, except for DEL and characters above U+FFFF."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{_quote(name)} = {_toml(item)}" for name, item in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str | Path):
        return _quote(str(value))
    return str(value)


def _read_config(config: str | Path) -> tuple[str | None, tuple[str, str] | None, str | None]:
    """The preset, or the file (name and text) with the title of its drive, that `config` names."""
    name = str(config)
    presets = preset_names()
    if isinstance(config, str) and name in presets:
        return name, None, None
    if not isinstance(config, str | os.PathLike):
        forms = "the name of a preset, the path of a TOML file, or a Config"
        raise ConfigError([f"config: found {config!r}; expected {forms}"])
    path = Path(config)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"{name}: no such file"
        if path.suffix != ".toml" and path.name == name:
            matches = get_close_matches(name, presets, 1)
            hint = f"; did you mean {matches[0]}?" if matches else ""
            message += f", and no preset has this name; presets: {', '.join(presets)}{hint}"
        raise ConfigError([message]) from None
    except UnicodeDecodeError as error:
        message = f"{name}: not a TOML file: byte {error.start} is not UTF-8"
        raise ConfigError([f"{message}; {_try_hint(name)}"]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError([f"{name}: cannot be read: {reason}"]) from None
    return None, (name, configuration(text)), own_title(name, text)


def _try_hint(name: str) -> str:
    """What to do with a trace that was given as a configuration."""
    return f"to try it as a trace: ssdlab try {shlex.quote(name)}"


@typed
def load_config(
    config: ConfigLike | None = None,
    *,
    trace: str | Path | None = None,
    set: Mapping[str, object] | None = None,
    preset: str | None = None,
    seed: int | None = None,
) -> Config:
    """Resolve the configuration of a preset or TOML file, with overrides.

    `config` is the name of a preset or the path of a file; `preset` is the preset that the file
    extends; `set` maps dotted keys to values ({"gc.victim": "fifo", "timing.read": "60 us"}).
    Raises `ConfigError` with all errors at once.
    """
    is_unchanged = preset is None and trace is None and seed is None and not set
    if isinstance(config, Config) and is_unchanged:
        return config
    return Source(config, preset).load(set, trace=trace, seed=seed)


class Source:
    """The files that `load_config` loads, read once: for many configurations of one origin."""

    def __init__(self, config: ConfigLike | None, preset: str | None = None) -> None:
        self.preset = preset
        self._note = ""
        self.file: tuple[str, str] | None
        """Name and text."""
        if isinstance(config, Config):
            if preset is not None:
                message = "preset: a resolved configuration takes no preset; load it from its file"
                raise ConfigError([message])
            self.file = (f"{config.name}.toml", config.toml())
            self.path = config.file
            self.origin = config.origin or _noted_drive(config.values)
        else:
            preset_name, self.file, title = (
                (None, None, None) if config is None else _read_config(config)
            )
            if preset_name and preset and preset_name != preset:
                raise ConfigError(
                    [f"preset: {preset_name} and {preset} are both presets; name one"]
                )
            self.preset = preset or preset_name
            self.path = None if self.file is None else Path(self.file[0])
            self.origin = self._origin(title)

    def load(
        self,
        set: Mapping[str, object] | None = None,
        *,
        trace: str | Path | None = None,
        seed: int | None = None,
        names: Mapping[str, str] | None = None,
    ) -> Config:
        """The configuration with overrides, as from `load_config`.

        In functional mode a drive lacks the parts that have no effect there. `names` are the
        arguments of the caller that have set keys of `set`, for messages.
        """
        keys = {**(set or {})}
        if self.origin is not None and keys.get("run.mode") == "functional":
            keys = {**UNTIMED, **keys}
        sets = [(key, set_text(value)) for key, value in keys.items()]
        names = {**(names or {})}
        if trace is not None:
            sets.append(("workload.trace", _quote(str(trace))))
            names["workload.trace"] = "trace"
        if seed is not None:
            sets.append(("run.seed", str(seed)))
            names["run.seed"] = "seed"
        try:
            config = Config(self._load_with_note(sets), self.path, self.origin)
            traces = [key for key in ("trace", "like") if is_parquet(config["workload"][key] or "")]
            if not traces:
                return config
            tables = [(f"workload.{key}", str(as_table(config["workload"][key]))) for key in traces]
            return Config(self._load_with_note([*sets, *tables]), self.path, self.origin)
        except _core.ConfigError as error:
            messages = [name_argument(message, names) for message in error.args[0]]
            raise ConfigError(self._add_hints(messages)) from None

    def _add_hints(self, messages: list[str]) -> list[str]:
        """The messages, with the uses of a file that is no TOML, such as a trace or a job of fio.

        They follow the last message that says so, unless the file is named as TOML.
        """
        name = "" if self.file is None else self.file[0]
        is_not_toml = [
            message.startswith(f"{name}:") and ": not TOML: " in message for message in messages
        ]
        if name.endswith(".toml") or not any(is_not_toml):
            return messages
        run_command = f"ssdlab run greedy-8ch {option('workload.job', name)}"
        hints = [_try_hint(name), f"to run it as a job of fio: {run_command}"]
        last_index = len(is_not_toml) - 1 - is_not_toml[::-1].index(True)
        hints = hints[::-1] if name.endswith(".fio") else hints
        messages[last_index] = "; ".join([messages[last_index], *hints])
        return messages

    def _load_with_note(self, sets: list[tuple[str, str]]) -> str:
        """The configuration as JSON, with the note on its drive."""
        if self.origin is None:
            return _core.load(self.preset, self.file, sets)
        # Configurations with the same origin usually have the same note.
        text = _core.load(self.preset, self.file, [*sets, ("run.drive", self._note)])
        note = self.origin.note(json.loads(text))
        if note != self._note:
            text = _core.load(self.preset, self.file, [*sets, ("run.drive", note)])
            self._note = note
        return text

    def _origin(self, title: str | None) -> Origin | NotedDrive | None:
        """The drive with that title in the file, or that of the preset that the file extends."""
        try:
            values = json.loads(_core.load(self.preset, self.file, []))
            if self.path is not None and title is not None:
                return Origin(title, str(self.path), values, errors_beside(self.path))
            preset = values.get("preset")
            if values["run"]["drive"] or preset not in named_titles():
                return _noted_drive(values)
            preset_values = json.loads(_core.load(preset, None, []))
        except _core.ConfigError:
            return None  # The file may need keys that are set later.
        return Origin(named_titles()[preset], preset, preset_values, named_errors().get(preset))


def _noted_drive(values: Mapping[str, Any]) -> NotedDrive | None:
    """The drive that a configuration names in its note."""
    note = values["run"].get("drive")
    return NotedDrive(note, values) if note else None
