"""Write requirements.lock and requirements-dev.lock from pyproject.toml, for all Pythons at once.

Plain pip resolves once for every supported Python. pip judges environment markers by the Python
that runs it, so what another Python needs besides is looked up here, until nothing is missing.
Run it by `make lock`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypeAlias

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
HEAD = "# Written by `make lock` from pyproject.toml: change that, not this.\n"

Resolution: TypeAlias = dict[NormalizedName, str]  # name -> version


def requirements_of(project: dict[str, object], groups: list[str]) -> list[str]:
    """The requirement lines of the project and of some of its dependency groups."""
    match project:
        case {"project": {"dependencies": list(lines)}, "dependency-groups": dict(by_name)}:
            return [*lines, *(line for group in groups for line in by_name[group])]
    raise SystemExit("pyproject.toml: [project] dependencies or [dependency-groups] missing")


def resolve(requirements: list[str], python: str) -> Resolution:
    """What pip would install for `requirements` on `python`."""
    environment = _environment(python)
    direct = [Requirement(line) for line in requirements]
    requirements = [
        f"{r.name}{r.specifier}"
        for r in direct
        if r.marker is None or r.marker.evaluate(environment)
    ]
    while True:
        installations = _ask_pip(requirements, python)
        versions = {
            canonicalize_name(i["metadata"]["name"]): i["metadata"]["version"]
            for i in installations
        }
        missing = _missing(installations, versions, python)
        if not missing:
            return versions
        requirements += missing


def _environment(python: str) -> dict[str, str]:
    """What environment markers are judged by on `python`."""
    environment = {str(k): str(v) for k, v in default_environment().items()}
    return environment | {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "extra": "",
    }


def _ask_pip(requirements: list[str], python: str) -> list[dict[str, dict[str, str]]]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--only-binary=:all:", f"--target={folder}"]
        command += [f"--python-version={python}", f"--report={report}", *requirements]
        subprocess.run(command, check=True)
        installations: list[dict[str, dict[str, str]]] = json.loads(report.read_text())["install"]
        return installations


def _missing(
    installations: list[dict[str, dict[str, str]]], versions: Resolution, python: str
) -> list[str]:
    environment = _environment(python)
    dependencies = [
        Requirement(r) for i in installations for r in i["metadata"].get("requires_dist", [])
    ]
    names = {
        f"{r.name}{r.specifier}"
        for r in dependencies
        if r.marker is not None
        and r.marker.evaluate(environment)
        and canonicalize_name(r.name) not in versions
    }
    return sorted(names)


def merged(resolutions: dict[str, Resolution]) -> str:
    """One file for all Pythons: a line per package and version, marked where versions differ."""
    lines = []
    for name in sorted({name for resolution in resolutions.values() for name in resolution}):
        versions = [resolutions[python].get(name) for python in PYTHONS]
        start = 0
        for end in range(1, len(PYTHONS) + 1):
            if end < len(PYTHONS) and versions[end] == versions[start]:
                continue
            if versions[start] is not None:
                lines.append(f"{name}=={versions[start]}{_marker(start, end)}\n")
            start = end
    return HEAD + "".join(lines)


def _marker(start: int, end: int) -> str:
    bounds = [f'python_version >= "{PYTHONS[start]}"'] if start > 0 else []
    bounds += [f'python_version < "{PYTHONS[end]}"'] if end < len(PYTHONS) else []
    return f" ; {' and '.join(bounds)}" if bounds else ""


def main() -> None:
    """Write both files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for file, groups in [
        ("requirements.lock", ["build"]),
        ("requirements-dev.lock", ["build", "checks", "site"]),
    ]:
        requirements = requirements_of(project, groups)
        resolutions = {python: resolve(requirements, python) for python in PYTHONS}
        (ROOT / file).write_text(merged(resolutions))
        sys.stderr.write(f"{file}: {len(resolutions[PYTHONS[-1]])} packages\n")


if __name__ == "__main__":
    main()
