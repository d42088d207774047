"""Every command by which `make papers` makes a page ends well, on the small device."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from running import ROOT, ssdlab_command
from ssdlab_lab.reproduce.folders import JSON
from ssdlab_lab.reproduce.papers import PAPERS
from ssdlab_lab.reproduce.remapcom.choices import NAME as REMAPCOM
from ssdlab_lab.reproduce.studies import STUDIES


def commands() -> dict[str, list[str]]:
    """The arguments of `ssdlab reproduce` in the recipe of `make papers`, by paper or study."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = text[text.index("\npapers:") :].split("\n\n")[0]
    repeated = re.search(r"for paper in ([\w -]+);", recipe)
    assert repeated is not None
    names = repeated[1].split()
    found = {}
    for name, options in re.findall(r"/ssdlab reproduce (\S+)((?: --[a-z]+)*) --out", recipe):
        for each in names if name == "$$paper" else [name]:
            found[each] = [each, *options.split()]
    return found


def test_every_paper_and_study_has_a_command() -> None:
    assert commands().keys() == {*PAPERS, REMAPCOM, *STUDIES}
    assert commands()["noc-copyback"] == ["noc-copyback", "--readings"]


@pytest.mark.slow
@pytest.mark.parametrize("name", commands())
def test_the_command_ends_well(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["reproduce", *commands()[name], "--quick", "--out", str(out)]
    done = ssdlab_command(*asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = json.loads((out / JSON).read_text(encoding="utf-8"))
    assert values["completed"]
    assert not values["failures"]
    assert values["registered"]
