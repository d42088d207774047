"""How many fields the objects of the kernel have, and how long the files of the crates are."""

import re
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_FIELDS = 16
MEDIAN_LINES = 130


def _fields(rust: str) -> Iterator[tuple[str, int]]:
    """The structs of a Rust file, and how many fields each has."""
    struct = r"^(?:pub(?:\([^)]*\))? )?struct (\w+)[^;{(]*\{\n(.*?)^\}"
    field = r"^    (?:pub(?:\([^)]*\))? )?\w+: "
    for found in re.finditer(struct, rust, re.MULTILINE | re.DOTALL):
        yield found[1], len(re.findall(field, found[2], re.MULTILINE))


def test_objects_of_the_machine_are_small() -> None:
    machine = ROOT / "crates/ssd-core/src/sim"
    found = {
        name: fields
        for file in sorted(machine.rglob("*.rs"))
        for name, fields in _fields(file.read_text(encoding="utf-8"))
    }
    assert found["Core"] + found["Ssd"] > 10, "the fields are not counted"
    assert {name: n for name, n in found.items() if n > MOST_FIELDS} == {}


def test_files_are_short() -> None:
    files = sorted((ROOT / "crates").glob("*/src/**/*.rs"))
    lines = [len(file.read_text(encoding="utf-8").splitlines()) for file in files]
    assert len(lines) > 400, "the files are not found"
    assert statistics.median(lines) < MEDIAN_LINES


def test_fields_are_counted() -> None:
    rust = """
/// A struct.
#[derive(Clone)]
pub(super) struct One<T: Copy> {
    /// first: a field
    pub(in crate::sim) first: Vec<T>,
    second: u32,
}
struct Two(u32);
pub struct Three {
    pub only: [u8; 3],
}
"""
    assert list(_fields(rust)) == [("One", 2), ("Three", 1)]
