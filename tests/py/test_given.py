"""Arguments of the wrong type get a sentence that says what was found and what is expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ssdlab

GREEDY = "greedy-8ch"
VARY = {"gc.victim": ["fifo"]}


@pytest.mark.parametrize(
    ("function", "words", "message"),
    [
        (ssdlab.run, {"config": 5}, "config: found 5; expected the name of a preset"),
        (ssdlab.run, {"config": GREEDY, "set": ["a"]}, r"set: found \['a'\]; expected a mapping"),
        (ssdlab.run, {"config": GREEDY, "set": {3: 4}}, r"set: found \{3: 4\}; expected a mapping"),
        (ssdlab.run, {"config": GREEDY, "seeds": "3"}, "seeds: found '3'; expected a whole number"),
        (ssdlab.run, {"config": GREEDY, "seed": True}, "seed: found True; expected a whole number"),
        (ssdlab.run, {"config": GREEDY, "out": 5}, "out: found 5; expected the path of a folder"),
        (ssdlab.run, {"config": GREEDY, "trace": 5}, "trace: found 5; expected the path"),
        (ssdlab.compare, {"configs": 5}, "configs: found 5; expected a preset, a file, or a list"),
        (ssdlab.compare, {"configs": [5]}, "config: found 5; expected the name of a preset"),
        (ssdlab.compare, {"configs": GREEDY, "vary": 5}, "vary: found 5; expected a mapping"),
        (ssdlab.compare, {"configs": GREEDY, "traces": "x"}, "traces: found 'x'; expected a list"),
        (ssdlab.compare, {"configs": GREEDY, "jobs": "2"}, "jobs: found '2'; expected a whole"),
        (
            ssdlab.sweep,
            {"config": GREEDY, "vary": ["a"]},
            r"vary: found \['a'\]; expected a mapping",
        ),
        (ssdlab.sweep, {"config": GREEDY, "vary": VARY, "points": 2.5}, "points: found 2.5; exp"),
        (ssdlab.try_trace, {"trace": 5}, "trace: found 5; expected the path of a trace"),
        (ssdlab.Trace, {"path": 5}, "path: found 5; expected the path of a trace"),
        (ssdlab.load_config, {"config": 3}, "config: found 3; expected the name of a preset"),
        (ssdlab.Device, {"config": GREEDY, "set": "a=b"}, "set: found 'a=b'; expected a mapping"),
    ],
)
def test_a_wrong_type_gets_a_sentence(
    function: Callable[..., object], words: dict[str, Any], message: str
) -> None:
    with pytest.raises(ssdlab.ConfigError, match=message):
        function(**words)


def test_whole_numbers_of_other_libraries_are_accepted() -> None:
    assert ssdlab.load_config(GREEDY, seed=int(np.int64(7)))["run.seed"] == 7
    assert ssdlab.load_config(GREEDY, seed=np.int64(7))["run.seed"] == 7  # type: ignore[arg-type]
