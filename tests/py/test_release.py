"""What a release says of itself: citation, container, versions; what `make dist` cannot do here."""

import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import ssdlab
import ssdlab_lab
from running import ROOT
from ssdlab import _core, versions

sys.path.insert(0, str(ROOT / "tools"))
from distribution import build, check
from distribution.commands import Refused, outside

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")


def test_the_lab_is_of_this_version() -> None:
    manifest = tomllib.loads((ROOT / "lab/pyproject.toml").read_text(encoding="utf-8"))
    assert ssdlab_lab.__version__ == ssdlab.__version__
    lines = manifest["project"]["dependencies"]
    assert f"ssdlab=={ssdlab.__version__}" in lines
    # The others are those of ssdlab.
    assert {line for line in lines if "ssdlab" not in line} <= {*PROJECT["project"]["dependencies"]}
    builders = [*manifest["build-system"]["requires"]]
    assert {one.replace("_", "-") for one in builders} <= {*PROJECT["dependency-groups"]["build"]}


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    [version] = re.findall(r"^version: (.+)$", text, re.MULTILINE)
    assert version == ssdlab.__version__
    [author] = PROJECT["project"]["authors"]
    assert re.findall(r"^  - name: (.+)$", text, re.MULTILINE) == [author["name"]]
    licences = re.search(r"^license:\n((?:  - .+\n)+)", text, re.MULTILINE)
    assert licences
    assert " OR ".join(re.findall(r"- (.+)", licences[1])) == PROJECT["project"]["license"]


def test_versions_are_told() -> None:
    assert versions.described().endswith(f", results {ssdlab.__results_version__}")
    assert ssdlab.__results_version__ == _core.__results_version__
    report = ssdlab.run("greedy-8ch", set={"workload.requests": 100}, progress=False)
    assert report.provenance.results == ssdlab.__results_version__
    assert report.provenance.ssdlab == ssdlab.__version__


def test_the_container_copies_all_sources() -> None:
    copied = [
        word
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINER, re.MULTILINE)
        for word in line.split()
    ]
    assert set(copied) == (check.SOURCES - {"PKG-INFO"}) | {"requirements.lock"}
    assert all((ROOT / name).exists() for name in copied)
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in kept if line.startswith("!")} == set(copied)


def test_the_container_is_pinned_and_has_no_root() -> None:
    images = re.findall(r"^FROM (\S+):(\S+)", CONTAINER, re.MULTILINE)
    assert [name for name, _ in images] == ["rust", "python"]
    assert all(re.match(r"\d+\.\d+\.\d+-", tag) for _, tag in images)
    toolchain = tomllib.loads((ROOT / "rust-toolchain.toml").read_text(encoding="utf-8"))
    assert images[0][1].startswith(toolchain["toolchain"]["channel"])
    last = CONTAINER.rpartition("FROM ")[2]
    assert last.index("USER ssdlab") < last.index("ENTRYPOINT")


def test_the_tools_are_pinned() -> None:
    lines = (ROOT / "tools/distribution/requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in pins)
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    for builder in ("flit-core", "maturin"):
        assert next(line for line in pins if line.startswith(builder)) in locked


def test_what_is_missing_is_said() -> None:
    for wanted, message in (("vax", "no wheel is built for vax"), ("s390x", "x86_64, aarch64")):
        done = subprocess.run(
            [sys.executable, "tools/dist.py", wanted],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert done.stderr.startswith("make dist: ")
        assert message in done.stderr


def test_a_target_without_a_library_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MACHINES", ("sparc64",))
    with pytest.raises(Refused, match=r"`rustup target add sparc64-unknown-linux-gnu`"):
        build.check_machines(["sparc64"])


def test_what_does_not_belong_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ssdlab-0.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name in sorted(check.SOURCES | {"target"}):
            archive.add(ROOT / "LICENSE-MIT", f"ssdlab-0/{name}")
    with pytest.raises(Refused, match=r"\['target'\]"):
        check.sources(file)
    with tarfile.open(file, "w:gz") as archive:
        for name in sorted(check.SOURCES):
            archive.add(ROOT / "LICENSE-MIT", f"ssdlab-0/{name}")
    with pytest.raises(Refused, match=r"python/ssdlab/__init__\.py"):
        check.sources(file)


def test_sources_that_differ_are_of_now(tmp_path: Path) -> None:
    place, file = tmp_path / "source", tmp_path / "ssdlab-0.tar.gz"

    def packed(**files: str) -> Path:
        with tarfile.open(file, "w:gz") as archive:
            for name, text in files.items():
                content = text.encode()
                entry = tarfile.TarInfo(f"ssdlab-0/{name}")
                entry.size, entry.mtime = len(content), 1000
                archive.addfile(entry, io.BytesIO(content))
        return file

    build.unpacked(packed(a="1", b="2", gone="3"), place)
    for name in ("a", "b"):
        os.utime(place / name, (5000, 5000))
    build.unpacked(packed(a="1", b="other"), place)
    assert sorted(path.name for path in place.iterdir()) == ["a", "b"]
    assert (place / "a").stat().st_mtime == 5000
    assert (place / "b").read_text(encoding="utf-8") == "other"
    assert (place / "b").stat().st_mtime > 5000


def test_a_new_user_has_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    monkeypatch.setenv("PATH", f"{ROOT}/.venv/bin:/usr/bin")
    found = outside({"A": "b"})
    assert "PYTHONPATH" not in found
    assert found["PATH"] == "/usr/bin"
    assert found["A"] == "b"
