"""Build a release into dist/ and check it as a new user would meet it. Run it by `make dist`.

The source distribution and the wheel of this machine are in dist/, wheels of other machines in a
folder of dist/ with the name of the machine. Exit code 2 with a sentence if something is missing.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from distribution import build, check
from distribution.commands import ROOT, WORK, Refused, outside, say


def release(machines: list[str]) -> None:
    """Build and check everything."""
    start = time.monotonic()
    build.check_machines(machines)
    WORK.mkdir(parents=True, exist_ok=True)
    build.install_tools()
    check.citation()
    sdist = build.source_distribution()
    check.sources(sdist)
    lab = build.lab_wheel()
    check.lab_contents(lab)
    source = build.unpacked(sdist)
    for machine in machines:
        file = build.wheel(source, machine)
        check.contents(file)
        check.portable(file)
        if machine == platform.machine():
            _as_a_user(file, lab)
        elif root := os.environ.get(f"SSDLAB_{machine.upper()}_ROOT"):
            check.emulated(file, Path(root))
        else:
            say(f"the wheel for {machine} was not run: SSDLAB_{machine.upper()}_ROOT is not set")
    with tempfile.TemporaryDirectory() as folder:
        check.built_from_sources(sdist, Path(folder))
    for file in sorted(build.OUT.rglob("*")):
        if file.is_file():
            say(f"{file.relative_to(ROOT)} ({file.stat().st_size:,} bytes)")
    say(f"all checks passed after {time.monotonic() - start:.0f} s")


def _as_a_user(wheel: Path, lab: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        python = check.first_picture(wheel, folder)
        check.goldens([python], outside())
        check.used(python, folder)
        check.lab_used(python, lab, folder)


def main() -> int:
    """Build what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machines", nargs="+", help=f"of {', '.join(build.MACHINES)}")
    try:
        release(parser.parse_args().machines)
    except Refused as error:
        sys.stderr.write(f"make dist: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
