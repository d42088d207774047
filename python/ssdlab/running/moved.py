"""Files of a run whose local paths differ from those in its configuration.

The run reads them from their local paths. Its report and its messages contain the paths of the
configuration, so that they do not depend on the machine that executed the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab import _core
from ssdlab.config.resolve import Config


@dataclass(frozen=True)
class LocalPaths:
    """Where files are here, by the key that names them, such as `workload.trace`.

    The local paths have to be so distinctive that no other text contains them.
    """

    paths: Mapping[str, str]

    def config(self, config: Config) -> Config:
        """`config` with the paths here."""
        if not self.paths:
            return config
        values: dict[str, Any] = json.loads(config.text)
        for key, path in self.paths.items():
            part, name = key.split(".")
            values[part][name] = path
        return Config(json.dumps(values), config.file)

    def text(self, text: str, config: Config) -> str:
        """A message of the run, with the paths of `config`."""
        for key, path in self.paths.items():
            text = text.replace(path, str(config[key]))
        return text

    def json(self, text: str, config: Config) -> str:
        """As `text`, for JSON."""
        for key, path in self.paths.items():
            text = text.replace(_quoted(path), _quoted(str(config[key])))
        return text

    def report(self, text: str, config: Config) -> dict[str, Any]:
        """The parsed report.json of the run, with the paths of `config` and their digest."""
        values: dict[str, Any] = json.loads(self.json(text, config))
        if self.paths:
            digest = _core.config_digest(json.dumps(values["config"]))
            values["provenance"]["config_digest"] = digest
        return values


def _quoted(path: str) -> str:
    return json.dumps(path, ensure_ascii=False)[1:-1]


NOTHING = LocalPaths({})
"""Every file is where the configuration says."""
