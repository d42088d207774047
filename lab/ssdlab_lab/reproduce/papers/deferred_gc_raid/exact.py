"""Tables of what needs no trace: figures 1, 3 and 5 and section 4.4, published and here."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab_lab.reproduce.matrix import Source
from ssdlab_lab.reproduce.paper import published
from ssdlab_lab.reproduce.papers.deferred_gc_raid import cases
from ssdlab_lab.reproduce.papers.deferred_gc_raid.measures import NAME, mapping_overhead, value
from ssdlab_lab.reproduce.tables import Row, Table

THREE = ("w0", "w1", "w2")
"""The writes of figure 3, as published."""


def tables(presets: Sequence[str], source: Source | None) -> list[Table]:
    """All tables; `presets` are those of the baseline and of deferred GC.

    Simulated values are in the lines of `source`; None: only the published numbers.
    """
    return [
        _figure_1(presets[0], source),
        _figure_3(presets[0], source),
        _figure_5(presets, source),
        _section_4_4(source),
    ]


def _row(label: str, numbers: Sequence[float], ours: Sequence[float], source: Source | None) -> Row:
    return Row(label, tuple(numbers), {} if source is None else {source: tuple(ours)})


def _figure_1(preset: str, source: Source | None) -> Table:
    figure: list[list[str]] = published(NAME).values["figure1_layout"]["stripes"]
    simulated = figure if source is None else cases.layout(preset, len(figure))
    pairs = [pair for row in zip(figure, simulated, strict=True) for pair in zip(*row, strict=True)]
    kinds = (False, True)
    printed = [sum(page.startswith("P") == kind for page, _ in pairs) for kind in kinds]
    equal = [sum(a == b and a.startswith("P") == kind for a, b in pairs) for kind in kinds]
    note = (
        "Every page was written alone; where it and its parity were programmed is compared with"
        " the figure."
    )
    title = "Figure 1: pages on the chip of the figure"
    rows = (_row("as printed", printed, equal, source),)
    return Table("figure1", title, "pages", ("data", "parity"), rows, note)


def _figure_3(preset: str, source: Source | None) -> Table:
    figure = published(NAME).values["figure3_operations"]
    printed = [figure[name] for name in THREE]
    simulated = [] if source is None else cases.operations(preset)
    rows = (
        _row(
            "read",
            [request["reads"] for request in printed],
            [request.reads for request in simulated],
            source,
        ),
        _row(
            "programmed",
            [request["writes"] for request in printed],
            [request.writes for request in simulated],
            source,
        ),
        _row(
            "chips as printed",
            [len(request["chips"]) for request in printed],
            [
                len({*a["chips"]} & {*b.chips})
                for a, b in zip(printed, simulated, strict=bool(simulated))
            ],
            source,
        ),
    )
    columns = tuple(name.upper() for name in THREE)
    return Table("figure3", "Figure 3: operations of the three writes", "pages", columns, rows)


def _figure_5(presets: Sequence[str], source: Source | None) -> Table:
    slots = [] if source is None else [cases.slots_saved(*map(cases.ending, presets))]
    rows = (_row("slots", [value("figure5", "slots_saved_by_redirection")], slots, source),)
    note = "A slot is the time of one program; a block without valid pages is collected in two."
    title = "Figure 5: slots saved by redirection"
    return Table("figure5", title, "slots", ("slots",), rows, note)


def _section_4_4(source: Source | None) -> Table:
    keys = (
        *("base_entry_bytes", "extra_bits_per_entry_64_chips"),
        *("base_mib_for_256_gib", "extra_mib_for_256_gib"),
    )
    printed = [value("mapping_overhead", key) for key in keys]
    bits, base, overhead = mapping_overhead(256 << 30, 64, 4096)
    ours = (printed[0], bits, base / 2**20, overhead / 2**20)
    return Table(
        "section44",
        "Section 4.4: mapping table of 256 GiB with 64 chips",
        "",
        ("bytes of an entry", "bits added", "MiB", "MiB added"),
        (_row("64 chips", printed, ours, source),),
        "Computed. In this simulator the chip follows from the physical page number.",
    )
