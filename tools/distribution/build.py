"""The source distribution, and from it, unpacked, a wheel for every machine.

The wheels are built from what the source distribution holds, so a file that it lacks is noticed
here. They are linked against the C library of manylinux 2.28 with zig, which needs no other
compiler for another machine. Paths of this machine are mapped away, times are those of the commit,
and maturin adds no list of crates, which would name the folder: building the same commit again
gives the same wheel.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from distribution.commands import ROOT, WORK, Refused, output_of, outside, say

MACHINES = ("x86_64", "aarch64")
POLICY = "manylinux_2_28"
OUT = ROOT / "dist"
TOOLS = WORK / "tools"


def folder_of(machine: str) -> Path:
    """Where a wheel goes: `pip install dist/*.whl` finds those of this machine alone."""
    return OUT if machine == platform.machine() else OUT / machine


def target_of(machine: str) -> str:
    """The name by which Rust knows a machine."""
    return f"{machine}-unknown-linux-gnu"


def check_machines(machines: list[str]) -> None:
    """Say at once what the machine lacks."""
    if shutil.which("rustc") is None:
        raise Refused("rustc not found: install Rust (https://rustup.rs)")
    for machine in machines:
        if machine not in MACHINES:
            raise Refused(
                f"no wheel is built for {machine}: the machines are {', '.join(MACHINES)}"
            )
        target = target_of(machine)
        library = output_of(["rustc", "--print", "target-libdir", "--target", target]).strip()
        if not list(Path(library).glob("libstd-*")):
            raise Refused(
                f"Rust has no standard library for {target}: run `rustup target add {target}`, or"
                f" leave this wheel out with `make dist MACHINES={platform.machine()}`"
            )


def install_tools() -> None:
    """The pinned tools, in a virtual environment of their own."""
    requirements = ROOT / "tools/distribution/requirements.txt"
    stamp = TOOLS / "requirements.txt"
    if stamp.exists() and stamp.read_bytes() == requirements.read_bytes():
        return
    say("install the tools")
    output_of(["python3", "-m", "venv", "--clear", TOOLS])
    pip = [str(TOOLS / "bin/python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    output_of([*pip, "--disable-pip-version-check", "-r", requirements])
    shutil.copyfile(requirements, stamp)


def commit() -> dict[str, str]:
    """The commit and its time for whoever builds; nothing outside of a checkout."""
    if not (ROOT / ".git").exists():
        return {}
    time = output_of(["git", "log", "-1", "--format=%ct"]).strip()
    name = output_of(["git", "describe", "--always", "--dirty", "--exclude", "*", "--abbrev=12"])
    return {"SOURCE_DATE_EPOCH": time, "SSDLAB_COMMIT": name.strip()}


def source_distribution() -> Path:
    """The sources, from which everything else is built."""
    shutil.rmtree(OUT, ignore_errors=True)
    say("build the source distribution")
    output_of([TOOLS / "bin/maturin", "sdist", "--out", OUT], env=outside(commit()))
    [file] = OUT.glob("*.tar.gz")
    return file


def unpacked(sdist: Path, place: Path = WORK / "source") -> Path:
    """The sources as a user gets them, in the same folder for every release.

    Files of an earlier release are replaced if they differ, and then are of now: cargo goes by
    times, and those of an archive would let it take an older commit for built.
    """
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            if hasattr(tarfile, "data_filter"):
                archive.extractall(folder, filter="data")
            else:
                archive.extractall(folder)
        [source] = Path(folder).iterdir()
        files = {file.relative_to(source) for file in source.rglob("*") if file.is_file()}
        for name in {f.relative_to(place) for f in place.rglob("*") if f.is_file()} - files:
            (place / name).unlink()
        for name in files:
            content, file = (source / name).read_bytes(), place / name
            if not file.exists() or file.read_bytes() != content:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
    return place


def wheel(source: Path, machine: str) -> Path:
    """Build one wheel; the compiler's messages go to a log."""
    say(f"build the wheel for {machine}")
    output = folder_of(machine)
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    sysroot = output_of(["rustc", "--print", "sysroot"]).strip()
    prefixes = {home / "registry/src": "crates", Path(sysroot): "rust", source: "."}
    extra = commit() | {
        "CARGO_TARGET_DIR": str(WORK / "cargo"),
        "PATH": f"{TOOLS / 'bin'}{os.pathsep}{outside()['PATH']}",
        "RUSTFLAGS": " ".join(f"--remap-path-prefix={a}={b}" for a, b in prefixes.items()),
        "CFLAGS": " ".join(f"-ffile-prefix-map={a}={b}" for a, b in prefixes.items()),
        "RUSTUP_TOOLCHAIN": _toolchain(),
    }
    command = ["maturin", "build", "--release", "--zig", "--target", target_of(machine)]
    command += ["--compatibility", POLICY, "--out", str(output)]
    log = WORK / f"{machine}.log"
    with log.open("w", encoding="utf-8") as messages:
        process = subprocess.run(
            command, cwd=source, env=outside(extra), stderr=messages, stdout=messages, check=False
        )
    if process.returncode:
        last = "\n".join(log.read_text(encoding="utf-8").splitlines()[-20:])
        raise Refused(f"the wheel for {machine} was not built ({log}):\n{last}")
    [file] = output.glob(f"*{machine}.whl")
    return file


def lab_wheel() -> Path:
    """Build the wheel of the lab, which is pure Python, with the licences of the project."""
    say("build the wheel of the lab")
    place = WORK / "lab"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "lab", place, ignore=shutil.ignore_patterns("__pycache__"))
    for licence in ROOT.glob("LICENSE-*"):
        shutil.copy(licence, place)
    command = [str(TOOLS / "bin/python"), "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--no-build-isolation", "--wheel-dir", str(OUT)]
    output_of([*command, place], env=outside(commit()))
    [file] = OUT.glob("ssdlab_lab-*.whl")
    return file


def _toolchain() -> str:
    """The compiler that the checkout pins: the sources of a release pin none."""
    text = (ROOT / "rust-toolchain.toml").read_text(encoding="utf-8")
    return text.partition('channel = "')[2].partition('"')[0]
