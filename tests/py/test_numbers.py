"""How numbers are printed: the same text in the terminal, on pages and by the page's script."""

import json
import math
import re
import shutil
import subprocess
from importlib import resources

import pytest

from ssdlab.display import numbers
from ssdlab.display.progress import speed
from ssdlab.html.page import number

KIB, MIB = 1024.0, 1024.0**2

SHOWN = [
    ("waf.total", 2.6069, "2.607"),
    ("waf", None, "-"),
    ("steady_state.wa_first", 1.0, "1.000"),
    ("latency.write.mean", 999_500.0, "1.00 ms"),
    ("latency.write.count", 12_345, "12,345"),
    ("write_mean_ns", 0, "0 ns"),
    ("gc.mean_victim_invalid_ratio", 0.9995, "100 %"),
    ("gc.mean_victim_invalid_ratio", 0.9994, "99.9 %"),
    ("gc_foreground_share", 1.0, "100 %"),
    ("gc_foreground_share", 0.0, "0 %"),
    ("host.write_bytes_per_s", 781.0, "781 B/s"),
    ("host.write_bytes_per_s", 1023.9 * KIB, "1.00 MiB/s"),
    ("host.read_bytes_per_s", 250 * MIB, "250 MiB/s"),
    ("device.page_bytes", 4096, "4 KiB"),
    ("wear.host_bytes_written", 1_500_000, "1.43 MiB"),
    ("speed.requests_per_s", 1_600_000.0, "1.60 M"),
    ("latency.by_volume.3.read.p99", 2_000_000, "2.00 ms"),
    ("latency_parts.read.queue", 2_000_000.0, "2.00 ms"),
    ("device.utilisation.chip.12", 0.5, "50.0 %"),
    ("waf.gc", 1.25, "1.250"),
    ("speed.bytes_per_page", 24.0, "24 B"),
    ("gc.victims_by_policy.reserve-greedy", 12_345, "12,345"),
    ("not.a.number.of.ours", 12_345, "12,345"),
    ("gc.calls", 158_897, "158,897"),
    ("little.mean_in_system", 12.346, "12.3"),
    ("device.erase_mean", math.nan, "-"),
    ("completed", True, "yes"),
    ("run.name", "demo", "demo"),
]


@pytest.mark.parametrize(("key", "value", "text"), SHOWN)
def test_a_number_reads_the_same_everywhere(key: str, value: numbers.Value, text: str) -> None:
    assert numbers.format_value(key, value) == text
    on_page = re.sub(r"<.*?>", "", number(key, value)).replace("\u00a0", " ")
    assert on_page == ("–" if text == "-" else text)


def test_no_number_is_absent() -> None:
    every = (numbers.duration, numbers.size, numbers.bandwidth, numbers.rate, numbers.percent)
    for write in (*every, numbers.ratio, numbers.number):
        assert write(None) == write(math.nan) == write(math.inf) == "-"


def test_units_of_a_page_are_its_own() -> None:
    assert numbers.on_page(numbers.duration(1500.0)) == "1.50 µs"
    assert (
        numbers.on_page("a user used 10 us, 1.5 us +- 78.1 us")
        == "a user used 10 µs, 1.5 µs +- 78.1 µs"
    )
    assert numbers.on_page(numbers.ABSENT) == "–"


def test_progress_has_the_units_of_reports() -> None:
    assert speed(45.6 * MIB, "reading") == "45.6 MiB/s"
    assert speed(1_230_000, "workload") == "1.23 M requests/s"


JS = [
    *((ns, "ns", numbers.duration(ns)) for ns in (0, 7, 999, 999.5, 1e3, 84_120, 999_500, 3.5e9)),
    *((b, "bytes", None) for b in (0, 781)),
    *((b, "bytes", numbers.bandwidth(b)[:-2]) for b in (1.5 * KIB, 1023.4 * KIB, 1023.9 * KIB)),
    *((s, "share", numbers.percent(s)) for s in (0, 4e-6, 1.234e-4, 0.5, 0.9994, 0.9995, 1)),
    *((r, "ratio", numbers.ratio(r)) for r in (0, 0.0004, 1, 2.6069, 1234.6)),
    (1234, "count", "1,234"),
]


@pytest.mark.skipif(shutil.which("node") is None, reason="no node: the script was not run")
def test_the_script_writes_them_so_too() -> None:
    source = resources.files("ssdlab.html").joinpath("values.js").read_text(encoding="utf-8")
    begin, end = source.index("  const UNITS"), source.index("  const showTip")
    cases = [(value, unit) for value, unit, _ in JS]
    program = f"{source[begin:end]}\nconsole.log(JSON.stringify({json.dumps(cases)}.map("
    program += "([value, unit]) => shown(value, unit))));"
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    for (value, unit, text), got in zip(JS, json.loads(done.stdout), strict=True):
        expected = f"{value} B" if text is None else text.replace(" us", " µs")
        assert got == expected, (value, unit)


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [(-0.0004, 0, "0 %"), (0.0, 1, "0.0 %"), (-0.0006, 1, "-0.1 %"), (0.0123, 1, "+1.2 %")],
)
def test_a_difference_that_rounds_to_none_has_no_sign(share: float, digits: int, text: str) -> None:
    assert numbers.difference(share, digits) == text
