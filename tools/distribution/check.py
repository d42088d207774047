"""What is checked of a release: what the files hold, and whether a new user gets on with them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from distribution.build import POLICY, TOOLS, commit
from distribution.commands import ROOT, WORK, Refused, environment, output_of, outside, say

TRACE = ROOT / "traces/wiredtiger.trace.zst"
PAGE = ROOT / "docs/tutorials/ten-minutes.md"
MOST_SECONDS = 60.0
"""From `pip install` to the first picture."""
MANUAL = r"ssdlab-[\d.]+\.data/data/share/man/man1/ssdlab\.1"
LAB_COMMAND = shlex.split("reproduce adaptive-channel --quick --workloads mysql --out reproduced")
"""What is run with the lab: seconds, and it reads the tables of a paper."""
EXTENSION = "ssdlab/_core.abi3.so"
SOURCES = {
    *("Cargo.lock", "Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "PKG-INFO", "README.md"),
    *("crates", "packaging", "papers", "presets", "pyproject.toml", "python"),
}
"""What stands at the top of the source distribution."""


def citation() -> None:
    """CITATION.cff is valid."""
    output_of([TOOLS / "bin/cffconvert", "--validate", "--infile", ROOT / "CITATION.cff"])


def sources(sdist: Path) -> None:
    """The source distribution has all sources and nothing else."""
    with tarfile.open(sdist) as archive:
        names = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    names_found = {name.parts[0] for name in names if name.parts}
    if names_found != SOURCES:
        raise Refused(
            f"{sdist.name}: differs from what is expected by {sorted(names_found ^ SOURCES)}"
        )
    package = {name.as_posix() for name in names if name.parts[:1] == ("python",) and name.suffix}
    if differs := package ^ {name for name in _files_in("python") if Path(name).suffix}:
        raise Refused(f"{sdist.name}: its package differs from the checkout by {sorted(differs)}")


def _files_in(folder: str) -> set[str]:
    """The files in a folder that are kept in git, or all where there is no git."""
    if (ROOT / ".git").exists():
        return set(output_of(["git", "ls-files", folder]).split())
    paths = (ROOT / folder).rglob("*")
    return {
        file.relative_to(ROOT).as_posix()
        for file in paths
        if file.is_file() and file.suffix not in (".pyc", ".so")
    }


def contents(wheel: Path) -> None:
    """The wheel has the package, the extension and what describes them, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        library = archive.read(EXTENSION)
    package = {name.removeprefix("python/") for name in _files_in("python")} | {EXTENSION}
    metadata = {name for name in names if re.match(r"ssdlab-[\d.]+\.dist-info/", name)}
    manual = {name for name in names if re.fullmatch(MANUAL, name)}
    if not manual:
        raise Refused(f"{wheel.name}: without its manual page")
    if differs := (names - metadata - manual) ^ package:
        raise Refused(f"{wheel.name}: differs by {sorted(differs)}")
    _licensed(wheel, metadata)
    for place in (Path.home(), ROOT):
        if place != Path("/") and os.fsencode(place) + b"/" in library:
            raise Refused(f"{wheel.name}: the extension names the folder {place}")


def lab_contents(wheel: Path) -> None:
    """The wheel of the lab has its package and what describes it, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name.removeprefix("lab/") for name in _files_in("lab/ssdlab_lab")}
    metadata = {name for name in names if re.match(r"ssdlab_lab-[\d.]+\.dist-info/", name)}
    if differs := (names - metadata) ^ package:
        raise Refused(f"{wheel.name}: differs by {sorted(differs)}")
    _licensed(wheel, metadata)


def _licensed(wheel: Path, metadata: set[str]) -> None:
    """The metadata of a wheel has both licences."""
    for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
        if not any(name.endswith(licence) for name in metadata):
            raise Refused(f"{wheel.name}: without {licence}")


def portable(wheel: Path) -> None:
    """The extension needs no newer C library than the name of the wheel says."""
    report = " ".join(output_of([TOOLS / "bin/python", "-m", "auditwheel", "show", wheel]).split())
    tag = re.search(r'following platform tag: "manylinux_2_(\d+)_', report)
    if not tag or int(tag[1]) > int(POLICY.rpartition("_")[2]):
        raise Refused(f"{wheel.name}: {report}")
    if POLICY not in wheel.name:
        raise Refused(f"{wheel.name}: is not for {POLICY}")


def first_picture(wheel: Path, folder: Path) -> Path:
    """Install into an empty environment and try a trace; gives its Python. Both are timed."""
    python = environment(folder / "new")
    start = time.monotonic()
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    output_of([*pip, "--no-cache-dir", wheel], folder=folder)
    after_install = time.monotonic()
    command = python.parent / "ssdlab"
    output_of([command, "try", TRACE, "--no-open", "--out", "tried"], folder=folder)
    end = time.monotonic()
    if "<svg" not in (folder / "tried/report.html").read_text(encoding="utf-8"):
        raise Refused("the page of `ssdlab try` has no picture")
    durations = f"install {after_install - start:.1f} s, `ssdlab try` {end - after_install:.1f} s"
    say(f"from pip install to the first picture: {end - start:.1f} s ({durations})")
    if end - start > MOST_SECONDS:
        raise Refused(f"the first picture took more than {MOST_SECONDS:.0f} s: {durations}")
    return python


def used(python: Path, folder: Path) -> None:
    """The installed package describes itself and takes a newcomer through the first page."""
    say("run `ssdlab doctor` and the page of the first ten minutes")
    doctor = output_of([python.parent / "ssdlab", "doctor"], folder=folder)
    place = output_of([python, "-c", "import ssdlab; print(ssdlab.__file__)"], folder=folder)
    if "test run" not in doctor or not place.startswith(str(folder)):
        raise Refused(f"another package than the installed one was used: {place}{doctor}")
    sys.path.insert(0, str(ROOT / "tests/py"))
    from documents import Scratch, blocks

    directory = folder / "walked"
    directory.mkdir()
    scratch = Scratch(directory, ROOT, python)
    block = None
    try:
        for block in blocks(PAGE.read_text(encoding="utf-8")):
            scratch.run(block)
    except AssertionError as error:
        line = block.line if block else 0
        raise Refused(f"{PAGE.relative_to(ROOT)}:{line}: {error}") from error


def lab_used(python: Path, wheel: Path, folder: Path) -> None:
    """Without the lab `ssdlab reproduce` says what is missing; with it, it reproduces a paper."""
    say("install the lab and reproduce a part of a paper")
    command: list[str | Path] = [python.parent / "ssdlab", *LAB_COMMAND]
    process = subprocess.run(
        command, cwd=folder, env=outside(), capture_output=True, text=True, check=False
    )
    if process.returncode != 2 or "pip install ssdlab-lab==" not in process.stderr:
        raise Refused(f"without the lab: exit code {process.returncode}: {process.stderr}")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    output_of([*pip, wheel], folder=folder)
    output_of(command, folder=folder)
    if "<svg" not in (folder / "reproduced/report.html").read_text(encoding="utf-8"):
        raise Refused("the page of `ssdlab reproduce` has no picture")


def built_from_sources(sdist: Path, folder: Path) -> None:
    """Pip builds and installs the source distribution, and it gives the results of the goldens."""
    say("build and install the source distribution with pip")
    python = environment(folder / "from-sources")
    env = outside(commit() | {"CARGO_TARGET_DIR": str(WORK / "cargo")})
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    output_of([*pip, sdist], folder=folder, env=env)
    goldens([python], outside())


GOLDENS = """
import json, pathlib, sys, ssdlab
for case in sorted(pathlib.Path("tests/golden").glob("*/config.toml")):
    found = ssdlab.run(case, progress=False)
    kept = json.loads((case.parent / "report.json").read_text(encoding="utf-8"))
    same = found.provenance.event_digest == kept["provenance"]["event_digest"]
    if not same or found.waf.total != kept["waf"]["total"]:
        sys.exit(f"{case.parent.name}: other results than the golden ones")
"""


def goldens(command: list[str | Path], env: dict[str, str]) -> None:
    """An installed package gives the golden results."""
    output_of([*command, "-B", "-c", GOLDENS], env=env)


def emulated(wheel: Path, root: Path) -> None:
    """The wheel of another machine, with the Python of a folder, under emulation."""
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    [*pythons] = sorted(root.glob("usr/bin/python3.*[0-9]"))
    if emulator is None or not pythons:
        raise Refused(f"{wheel.name}: no qemu-aarch64-static on PATH, or no Python in {root}")
    say("run the wheel for aarch64 under emulation")
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "site")
        version = pythons[0].name.removeprefix("python")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        tags = [f"--platform=manylinux_{tag}_aarch64" for tag in ("2_28", "2_27", "2_17")]
        pip += ["--only-binary=:all:", *tags, f"--python-version={version}", f"--target={site}"]
        output_of([*pip, "--platform=manylinux2014_aarch64", wheel])
        env = outside({"PYTHONPATH": str(site), "QEMU_LD_PREFIX": str(root)})
        output_of([emulator, pythons[0], "-m", "ssdlab", "doctor"], folder=Path(folder), env=env)
        goldens([emulator, pythons[0]], env)
