"""The reproduction of deferred GC in chip-level RAID-5: what is exact, and what is measured."""

import csv
import io
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import ssdlab
from ssdlab.export.logs import log
from ssdlab_lab.reproduce.command import recorded_traces, reproduce
from ssdlab_lab.reproduce.page import DECIDED, decisions_markdown, page
from ssdlab_lab.reproduce.paper import Scale, published
from ssdlab_lab.reproduce.papers.deferred_gc_raid import cases, measures
from ssdlab_lab.reproduce.papers.deferred_gc_raid import paper as raid
from ssdlab_lab.reproduce.papers.deferred_gc_raid.decisions import DECIDED as DECISIONS
from ssdlab_lab.reproduce.requests import volume_of

VALUES = published(measures.NAME).values
SMALL = Scale(quick=True, divide_by=16)


@pytest.mark.parametrize("preset", raid.PRESETS.values())
def test_figure_1_every_page_is_on_its_chip(preset: str) -> None:
    figure = VALUES["figure1_layout"]["stripes"]
    assert len(figure) == 4
    assert cases.layout(preset, len(figure)) == figure


@pytest.mark.parametrize("preset", raid.PRESETS.values())
def test_figure_3_operations_of_the_three_writes(preset: str) -> None:
    figure = VALUES["figure3_operations"]
    printed = [figure[name] for name in ("w0", "w1", "w2")]
    ours = cases.operations(preset)
    assert [(one["reads"], one["writes"]) for one in printed] == [(0, 4), (2, 2), (1, 3)]
    assert [(one.reads, one.writes) for one in ours] == [
        (one["reads"], one["writes"]) for one in printed
    ]
    assert [list(one.chips) for one in ours] == [one["chips"] for one in printed]


def test_figure_5_redirection_saves_two_slots() -> None:
    baseline, deferred = (cases.ending(preset) for preset in raid.PRESETS.values())
    # W2 reads after W0 has ended, then waits for the collection of chip 0, then programs.
    read_ns = 25_000
    assert deferred.ns == 2 * cases.PROGRAM_NS + read_ns
    assert baseline.ns == deferred.ns + cases.ERASE_NS
    assert cases.slots_saved(baseline, deferred) == VALUES["figure5"]["slots_saved_by_redirection"]
    assert (baseline.erases, baseline.redirected) == (1, 0)
    # Writes still to be queued are known, and the page goes elsewhere before its chip collects.
    assert (deferred.erases, deferred.redirected) == (0, 1)


def test_section_4_4_bits_of_the_mapping_table() -> None:
    printed = VALUES["mapping_overhead"]
    bits, base, extra = measures.mapping_overhead(256 << 30, 64, 4096)
    assert bits == printed["extra_bits_per_entry_64_chips"] == 7
    assert base >> 20 == printed["base_mib_for_256_gib"] == 512
    assert extra >> 20 == printed["extra_mib_for_256_gib"] == 56
    # Chips that are no power of two need the next larger number of bits.
    assert measures.mapping_overhead(1 << 30, 33, 4096)[0] == 7
    assert measures.mapping_overhead(1 << 30, 32, 4096)[0] == 6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ssdlab.Report:
    """The beginning of a volume on a small device, with a log of the requests."""
    (scheme, _), workload = raid.schemes(SMALL), raid.stand_in("hm_0", SMALL)
    keys = {**scheme.keys, **workload.keys, "workload.requests": 20_000}
    logged = {**keys, "metrics.request_log": True}
    out = tmp_path_factory.mktemp("run") / "out"
    return ssdlab.run(preset=scheme.preset, set=logged, out=out, html=False, progress=False)


def test_means_and_percentiles_are_those_of_the_requests(run: ssdlab.Report) -> None:
    stream = log(run, "requests")
    assert stream is not None
    with io.TextIOWrapper(stream, encoding="utf-8") as text:
        rows = [*csv.DictReader(text)]
    took = np.array([int(row["completion"]) - int(row["arrival"]) for row in rows]) / 1e6
    kind = np.array([row["op"] for row in rows])
    waited = np.array([int(row["gc_wait"]) + int(row["queue"]) for row in rows]) / 1e6
    assert {*kind} == {"read", "write"}
    for op in raid.OPS:
        of = took if op == "all" else took[kind == op]
        assert measures.mean_ms(op)(run) == pytest.approx(of.mean())
        # Within a class of the histogram.
        ninety_nine = np.percentile(of, 99, method="inverted_cdf")
        assert measures.p99_ms(op)(run) == pytest.approx(ninety_nine, rel=0.005)
    assert measures.WAITING(run) == pytest.approx(100 * waited.sum() / took.sum())
    shares = [measures.part(*parts)(run) for _, parts in measures.PARTS]
    assert sum(share for share in shares if share is not None) == pytest.approx(100)


@pytest.mark.parametrize("name", raid.WORKLOADS)
def test_shrunk_volumes_have_the_figures_of_table_2(name: str) -> None:
    workload, scheme = raid.stand_in(name, SMALL), raid.schemes(SMALL)[0]
    config = ssdlab.load_config(preset=scheme.preset, set={**scheme.keys, **workload.keys})

    class RunStub:
        """As much of a report as `volume_of` looks at."""

        def __init__(self) -> None:
            self.config = config

    found = volume_of(cast("ssdlab.Report", RunStub()))
    table = published(measures.NAME)
    for key, ours in (
        ("requests", found.requests),
        ("write_ratio", found.write_share),
        ("working_set_gb", found.range_bytes / 1e9),
        ("unique_write_space_gb", found.unique_bytes / 1e9),
    ):
        (printed,) = table.row("table2_traces", key, [name])
        assert ours == pytest.approx(printed, rel=0.05), key


def test_original_files_are_run_on_the_whole_device(tmp_path: Path) -> None:
    lines = [
        f"{128166372003061629 + 10_000 * at},hm,0,{'Write' if at % 3 else 'Read'},{4096 * at},512,0"
        for at in range(300)
    ]
    (tmp_path / "hm_0.csv").write_text("\n".join(lines) + "\n")
    found, notes = recorded_traces(raid.WORKLOADS, tmp_path, raid.PAPER.trace_files)
    assert [*found] == ["hm_0"]
    assert notes == [
        f"No recorded trace of stg_0, src2_0, rsrch_0, wdev_0 in {tmp_path}: synthetic requests"
        " only."
    ]
    for scale in (Scale(quick=True), Scale(quick=False)):
        cells = raid.PAPER.cells(scale, raid.WORKLOADS, found)
        recorded = [cell for cell in cells if cell.workload.source == "recorded"]
        assert len(recorded) == (0 if scale.quick else 2 * len(raid.GROUPS))
    work = recorded[0].config.values["workload"]
    assert (work["kind"], work["msr"]) == ("msr:hm_0", str(tmp_path))
    assert work["whole_pages"]
    assert "pattern" not in work
    keys = {**raid.schemes(SMALL)[0].keys, **recorded[0].workload.keys}
    report = ssdlab.run(preset=raid.PRESETS[raid.RAID], set=keys, progress=False)
    # Half a KiB of each page is read or written: whole pages here.
    assert (report.host.pages_read, report.host.pages_written) == (100, 200)
    assert report.requests.completed == 300
    figures = volume_of(report)
    assert figures.requests == 300
    assert figures.write_share == pytest.approx(2 / 3)
    assert figures.range_bytes == 4096 * 299 + 512


def test_all_schemes_of_a_group_differ_in_the_scheme_alone() -> None:
    for group in raid.GROUPS:
        base, mine = (
            ssdlab.load_config(preset=one.preset, set=dict(one.keys)).values
            for one in raid.schemes(Scale(quick=False), group)
        )
        differs = {
            f"{table}.{key}"
            for table, values in base.items()
            if isinstance(values, dict)
            for key, value in values.items()
            if value != mine[table].get(key)
        }
        assert differs - {"run.name"} <= {"gc.trigger", "raid.redirect", "raid.queue"}
        assert base["gc"]["trigger"][0]["soft"] == 409
        assert base["raid"]["group"] == mine["raid"]["group"] == group


def test_the_decisions_come_before_the_claims(tmp_path: Path) -> None:
    done = reproduce(
        measures.NAME, quick=True, workloads=["wdev_0"], out=tmp_path / "out", progress=False
    )
    text, html = (tmp_path / "out/reproduction.md").read_text(), page(done)
    lines = decisions_markdown(raid.PAPER)
    assert "\n".join(lines) in text
    assert text.index(DECIDED) < text.index("## Claims")
    assert html.index(DECIDED) < html.index('id="checklist"')
    assert {one.basis for one in DECISIONS.decisions} == {
        "text",
        "published elsewhere",
        "ours",
    }
