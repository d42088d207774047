"""ADR 0005 names every direct dependency, and the licences of all crates built are accepted."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/adr/0005-dependencies.md").read_text(encoding="utf-8")
ACCEPTED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
    # As BSD-3-Clause, without its second clause.
    "bzip2-1.0.6",
}


def _accepted(licence: str) -> bool:
    """Whether an SPDX expression (or the old form with a slash) can be met by ACCEPTED licences."""
    text = re.sub(r"\s*/\s*", " OR ", licence)
    if "(" in text:
        text = re.sub(r"\(([^()]*)\)", lambda m: "MIT" if _accepted(m[1]) else "refused", text)
    return all(
        any(choice.strip() in ACCEPTED for choice in part.split(" OR "))
        for part in text.split(" AND ")
    )


def _table(title: str) -> set[str]:
    rows = PAGE.split(f"| {title} |")[1].split("\n\n")[0]
    return set(re.findall(r"^\| ([\w-]+) \|", rows, flags=re.MULTILINE))


def test_every_direct_crate_is_named() -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    ours = {path.name for path in (ROOT / "crates").iterdir()}
    assert _table("Rust crate") == set(manifest["workspace"]["dependencies"]) - ours


def test_crates_take_their_versions_from_the_workspace() -> None:
    for path in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, line in manifest.get(kind, {}).items():
                assert isinstance(line, dict), f"{path}: {name}"
                assert line.get("workspace"), f"{path}: {name}"


def test_every_direct_python_package_is_named() -> None:
    manifest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = list(manifest["project"]["dependencies"])
    lines += [line for group in manifest["dependency-groups"].values() for line in group]
    assert _table("Python package") == {re.split(r"[^\w-]", line)[0] for line in lines}


def test_locks_hold_the_direct_packages_exactly() -> None:
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    lines = [line for line in lock.splitlines() if not line.startswith("#")]
    assert all(re.match(r"[a-z0-9-]+==[\w.]+(?: ; .*)?$", line) for line in lines)
    assert _table("Python package") <= {line.split("==")[0] for line in lines}
    runtime = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert set(runtime.splitlines()) <= set(lock.splitlines())


def _output_of(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_licences_of_all_crates_are_accepted() -> None:
    cargo = os.environ.get("CARGO", "cargo")
    host = re.search(r"^host: (.+)$", _output_of("rustc", "-vV"), flags=re.MULTILINE)
    assert host
    # Of this platform only: those of the others have not been fetched.
    metadata = _output_of(
        cargo, "metadata", "--locked", "--format-version=1", f"--filter-platform={host[1]}"
    )
    packages = json.loads(metadata)["packages"]
    assert len(packages) > 10
    refused = [
        f"{p['name']}: {p['license']}" for p in packages if not _accepted(p["license"] or "")
    ]
    assert not refused


def test_licence_expressions() -> None:
    assert _accepted("MIT/Apache-2.0")
    assert _accepted("(MIT OR Apache-2.0) AND Unicode-3.0")
    assert _accepted("GPL-3.0 OR MIT")
    assert not _accepted("GPL-3.0")
    assert not _accepted("MIT AND GPL-3.0")
    assert not _accepted("(GPL-2.0 OR GPL-3.0) AND MIT")
    assert not _accepted("")
