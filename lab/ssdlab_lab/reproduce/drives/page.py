"""The comparison of named drives as a page, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from ssdlab.config.drives import Errors
from ssdlab.display.numbers import difference, duration, on_page
from ssdlab.drives.measurements import KNEE_NS, UNIFORM, Load
from ssdlab.drives.sustained import RATE, Figure, value_of
from ssdlab.html.answer import paragraph
from ssdlab.html.page import Section, document, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.results.text import counted
from ssdlab.versions import described
from ssdlab_lab.reproduce.drives import choices, sustained
from ssdlab_lab.reproduce.drives.errors import Line, errors_of, full_size, lines
from ssdlab_lab.reproduce.drives.known import Drive
from ssdlab_lab.reproduce.drives.pictures import pictures
from ssdlab_lab.reproduce.drives.study import Drives
from ssdlab_lab.reproduce.drives.sustained import figure_lines
from ssdlab_lab.reproduce.pictures import files_of, markdown_of
from ssdlab_lab.reproduce.study import Rows, json_of, table_of

ABOUT = (
    "Presets `drive:...` (`ssdlab list drives`) beside published measurements of these drives. The"
    " configuration of each, with the source of every number, is in"
    " [Presets](reference/presets.md). A CSV file beside each preset contains the measurements and"
    " marks those used for fitting. Of drives for data centres the raw capacity is fitted to one"
    " measured write amplification, and the firmware time to the latencies at the middle one of"
    " the published loads below the knee, or at the lower of the two in the middle. Everything"
    " else is predicted. [Sustained writes](#sustained-writes) to consumer drives follow below."
    " The firmware time does not depend on the load, but tails of real drives do. So p99 is too"
    " long at lower loads, and too short next to the knee.",
    "Measurements of drives for data centres: SSD-iq (Haas et al., PVLDB 18(11), 2025, p. 4295),"
    " from the drives' own counters. Numbers marked *from its logs* are our own estimates, media"
    " writes divided by host writes over the last fifth of the samples; they do not prove that the"
    " drive was in its steady state by then. *Second hand*: medians over the last tenth of the"
    " samples, as others report them from the same data. Latencies are medians over samples of 60"
    " s (`paper/finallat10/iob-stats-id0-*` of github.com/gabriel-haas/ssdiq-pub), of a thread"
    " that sends 5,000 of the writes and, in addition, 5,000 reads per second.",
    "These published drives and figures are missing here. The paper plots the write amplification"
    " of the PM9A3, the CM7-R and the 7450 PRO under Zipf and under two zones, without numbers;"
    " the logs (`iob-log-*` in `paper/finalwa03c` and `paper/finalwa05b`) were not available to"
    " us. The counters of the PE8110 do not report media writes. Of the Samsung PM1733 there are"
    " neither write amplifications (`paper/finalwa03milan`) nor latencies in the files that we"
    " could read. The model of the WD drive is not stated, and the storage of the AWS i4i instance"
    " has no data sheet, so neither has a configuration.",
    "Write amplification is simulated on one die with four of its planes; blocks and pages have"
    " the sizes of the drive. Each run fills the used space sequentially, writes four times that"
    " space to warm up, and measures while it writes twice that space. Zipf by rank, with the hot"
    " pages next to each other, runs on a quarter of that size. Load tests use all dies and"
    " planes, with 1/16 of the pages of a block and 1/16 of the erase time. Their requests are 99"
    " % writes and 1 % reads of 4 KiB with Poisson arrivals, with a warm-up of 4 s and a"
    " measurement of 8 s.",
    "The knee lies between two neighbouring loads: up to the lower, the 99th percentile of writes"
    " stays below 1 ms. The measured knee lies between two published loads. The simulated knee"
    " lies between two simulated loads, which are 3 % apart near it. The errors compare the"
    " midpoints. Latencies beyond the knee depend on how long requests kept arriving, so they are"
    " not compared. The 7450 and the CM7-R delay one write in a hundred by milliseconds at loads"
    " far below those at which their medians rise. The simulated drives do not, so their knees are"
    " several times too high, and their tails cannot be trusted.",
)
SUSTAINED = (
    "The consumer drives have an SLC cache ([the model](model.md#slc-blocks)). TechPowerUp erases"
    " each of them, fills it with one thread that writes 1 MB after the other, and publishes the"
    " rates, the volumes at which they change, and the mean rate. Volumes and rates of the reviews"
    " are rounded. Each phase below is a rate and the volume in GB (10^9 bytes) at which it ends.",
    "Fitted are the share of the SLC blocks to the end of the first phase, the SLC program time to"
    " its rate, the program time to the second of three rates, and the number of copies in flight,"
    " with their decoding time, to the last rate. So these rates test nothing. The fit of the last"
    " rate states how slowly the firmware folds, but not why: 16 planes of a die would copy"
    " several times as fast. The mean rate, and the volume at which folding begins after direct"
    " writes, are predicted. The mean depends mainly on the last rate, so it tests little else."
    " When the cache is full, drives with three rates write directly and those with two fold at"
    " once; this was chosen knowing the rates. The simulated drives write directly until their"
    " spare is used, too. Drives with an erased spare would begin to fold at the user capacity"
    " less twice the cache: 440 GB (Atom 50) and 1,600 GB (M480 Play).",
    "A sustained write is simulated with 1/64 of the pages of a block and 1/64 of the erase time,"
    " so shares and rates hold; volumes are multiplied by 64. At 1/16 of its size, the Samsung 980"
    " folded 3 % faster than at 1/64. To find the phases of a run, the logarithm of its rate is"
    " cut into as many phases as were published, with the least squares.",
)
NOT_MODELLED = (
    "Unknown for every drive: the GC policy, the size of a superblock, the reserve, and whether"
    " the host or GC goes first. Suspension (`timing.suspend`) is off, since no data sheet states"
    " it. Not modelled: programs of three pages in one step, SLC caches of data-centre drives,"
    " fixed parts of those of consumer drives, parity across dies, metadata on flash, refresh of"
    " old data, and throttling by temperature or power."
)
MEMORY = (
    "A run at full size needs 16 bytes of free memory per page, or ssdlab refuses it: 4.3 to 4.5"
    " GB for the drives of up to 1 TB, 8.6 to 8.9 GB for those of about 2 TB, and 17 GB for the"
    " drive of 3.84 TB. It uses about half of that, and starts from the mean-field state, or"
    " erased (consumer drives). `--set device.pages_per_block=N`, with the N that each preset"
    " names, simulates it at 1/8 of its size (consumer drives: 1/64). The numbers of channels,"
    " chips and planes may be reduced. The ratio of raw to user capacity stays the same. At 1/8"
    " erases occur eight times as often and take 2 % of the time of a plane, unless `timing.erase`"
    " is divided, too. For write amplification alone use `--set run.mode=functional`."
)

OWN = (
    "Two files with the same base name describe a drive. The TOML file contains its keys and, after"
    " them, the table `[published]` with its `title`. The CSV file contains its measurements. Pass"
    " the TOML file wherever an option takes a drive (`--drive my.toml`); the source code does not"
    " change. `ssdlab drives compare --drive my.toml` simulates every measurement in the CSV file"
    " and writes the errors beside it (`my.errors.json`). Every report names the drive and its"
    " errors. If the keys of a run differ from those of the drive, its report says that the errors"
    " do not apply.",
    'A file that begins with the drive that it resembles (`preset = "drive:samsung-pm9a3"`) states'
    " what differs. Without a preset, it states the flash: in `[device]` the numbers of `channels`,"
    " `chips_per_channel` (dies), `planes_per_chip`, `blocks_per_plane` and `pages_per_block`, and"
    " the `page_size` in which the drive maps; in `[timing]` the times of a flash `read`, `program`"
    " and `erase`. One of two keys of `[device]` gives the capacity of the host: `user_capacity`,"
    " or `over_provisioning`, flash over that capacity less one. `user_gb` in `[published]` is"
    " what the maker states. It changes no run. If the keys give a capacity that differs by more"
    " than 2 %, `ssdlab try` says so and leaves out the years.",
    "`ssdlab drives calibrate MEASUREMENTS.csv` generates both files from measurements. The column"
    " `fill` is the used share of the user capacity, in ascending order. The column `waf` is the"
    " write amplification in the steady state, from the counters of the drive. It is measured under"
    " uniform writes of 4 KiB, unless the column `workload` says `zipf 0.8 shuffled`, `zipf 0.8 by"
    " rank` or `zones 4`. Rows with `load` (writes per second), `p50_us` and `p99_us`, at one fill"
    " and without `waf`, serve to fit two more numbers. The knee gives the program time, because"
    " all planes are then always busy. Latencies below the knee give the firmware time, which is"
    " what a write takes in addition to link and SRAM. The column `use` marks the rows to hold out"
    " (`test`), or the only rows to fit (`fit`). The column `source` is free text. `--like PRESET`"
    " supplies everything that is not fitted.",
    "`ssdlab drives compare` also knows rows of a sustained write, which fills the empty drive in"
    " order. They have the number of a `phase`, from 1, its rate (`mb_per_s`) and the gigabytes"
    " written when it ends (`until_gb`), in one row or in two with different marks. A row without a"
    " phase has the mean rate of the whole drive. `calibrate` does not fit them.",
    "For each fill, the result lists the prediction of a fit without that fill. The errors are"
    " those of the rows held out. Without such rows they are the residual of the fit and the error"
    " with each point left out in turn, and every report says that no point was held out. For each"
    " unknown, the result lists the values that fit about as well when everything else is refitted."
    " If nearly all values do, it says that *the data cannot decide*. Write amplification depends"
    " on the difference between raw capacity and the blocks kept erased, so it cannot separate the"
    " two. It hardly depends on the size of a superblock, and not at all on the buffer. Latencies"
    " rise before all planes are busy, so the fitted program time is too long: the preset of the"
    " PM9A3"
    " has programs of 678.5 µs, but its knee would give 750 µs.",
)


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else difference(value, digits)


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _knee(knee: tuple[float, float] | None) -> str:
    return "–" if knee is None else f"{knee[0] - knee[1]:,.0f} to {knee[0] + knee[1]:,.0f}"


HEADS = (
    "drive",
    "fitted",
    "WAF, uniform",
    "skewed",
    "knee measured",
    "simulated",
    "error",
    "p50",
    "p99",
)


def overview(study: Drives) -> Rows:
    """Every drive in a line."""
    rows: Rows = []
    for drive in study.of.values():
        if not (drive.measured.wafs or drive.loads):
            continue
        errors = errors_of(study, drive)
        fits = "raw capacity" if drive.is_fitted else "nothing"
        fits += "" if drive.fitted is None else f", {100 * drive.fitted:.4g} % used"
        ours = study.knee(drive)
        of_fit = None if errors.residual is None else f"{_plain(errors.residual)} (fitted)"
        uniform = of_fit or _plain(errors.uniform)
        row = [fits, uniform, _plain(errors.skewed), _knee(drive.knee)]
        row += [_knee(ours), _percent(errors.knee), _percent(errors.p50), _percent(errors.p99)]
        rows.append((drive.title, row))
    return rows


SUSTAINED_HEADS = (
    "drive",
    "published phases, MB/s",
    "simulated",
    "start of folding",
    "whole drive, MB/s",
    "simulated",
    "error",
)


def sustained_overview(study: Drives) -> Rows:
    """Every drive with a sustained write in a line."""
    rows: Rows = []
    for drive in study.of.values():
        figures, course = drive.measured.sustained, study.course(drive)
        if not figures:
            continue
        errors = errors_of(study, drive)
        full = sustained.capacity_gb(drive)
        simulated = [] if course is None else course.figures(figures)
        mean = value_of(figures, RATE, 0)
        ours = None if course is None or mean is None else course.whole
        row = [_phases(figures, full), _phases(simulated, full) or "–", _percent(errors.folding)]
        row += ["–" if value is None else f"{value:,.0f}" for value in (mean, ours)]
        rows.append((drive.title, [*row, _percent(errors.sustained)]))
    return rows


def _phases(figures: Sequence[Figure], full: float) -> str:
    """Rates and the volumes until which they last."""
    steps = sustained.steps(figures, full)
    texts = [f"{rate:,.0f} until {end:,.0f} GB" for _, end, rate in steps[:-1]]
    return ", ".join([*texts, *(f"{rate:,.0f}" for _, _, rate in steps[-1:])])


FIGURE_HEADS = ("sustained write", "published", "simulated", "error")


def figure_rows(study: Drives, drive: Drive) -> Rows:
    """The figures of a sustained write."""

    def row(line: sustained.FigureLine) -> tuple[str, list[str]]:
        ours = "–" if line.simulated is None else f"{line.simulated:,.0f}"
        error = _percent(line.error) + (" (fitted)" if line.figure.fitted else "")
        return line.figure.name, [f"{line.figure.value:,.0f}", ours, error]

    return [row(line) for line in figure_lines(drive, study.course(drive))]


def facts(study: Drives, drive: Drive) -> list[str]:
    """What was fitted, what was decided, what was not known."""
    raw = (1 + drive.over_provisioning) * drive.user_gib
    capacities = f"raw capacity {raw:,.0f} GiB for a user capacity of {drive.user_gib:,.0f} GiB"
    if "raw" in drive.published:
        first = f"Not fitted: {capacities}, {drive.published['raw']}."
    elif drive.fitted is None:
        first = f"Fitted: {capacities}."
    else:
        waf = drive.uniform[drive.fitted]
        fill = f"a write amplification of {waf:g} with {100 * drive.fitted:.4g} % used"
        first = f"Fitted: {capacities}, to {fill}."
    firmware = [drive.config[f"controller.firmware_p{part}_ns"] for part in (50, 99)]
    if firmware[0]:
        rates = " and ".join(f"{load.rate:,.0f}/s" for load in drive.loads if load.fitted)
        times = on_page(f"median {duration(firmware[0])}, 99th percentile {duration(firmware[1])}")
        first += f" Firmware: {times}" + (f", fitted at {rates}." if rates else ".")
    sources = f" Measurements: {'; '.join(drive.measured.sources)}." * bool(drive.measured.sources)
    texts = [f"`{drive.name}`. {first}{sources}"]
    if drive.unknown:
        texts.append("Unknown: " + " ".join(drive.unknown))
    if drive.measured.sustained:
        seconds = sustained.published_seconds(drive)
        mean = sustained.capacity_gb(drive) * sustained.GB / sustained.MB / seconds
        texts.append(f"The published phases alone give a mean of {mean:,.0f} MB/s.")
    full_size_waf = full_size(study, drive)
    if full_size_waf is not None:
        small = study.waf((drive.name, UNIFORM, 1.0))
        comparison = "" if small is None else f", against {small:.3f} for the smaller device"
        text = "Write amplification at full size, from the mean-field state and with all of it used"
        texts.append(f"{text}: {full_size_waf:.3f}{comparison}.")
    return texts


LINE_HEADS = ("write amplification", "published", "simulated", "error")


def line_rows(lines_of_drive: Sequence[Line]) -> Rows:
    """Published and simulated write amplification."""

    def row(line: Line) -> tuple[str, list[str]]:
        ours = "–" if line.simulated is None else f"{line.simulated:.3f}"
        error = _percent(line.error) + (" (fitted)" if line.fitted else "")
        return line.name, [f"{line.published:g}", ours, error]

    return [row(line) for line in lines_of_drive]


LOAD_HEADS = ("requests/s", "published p50", "p99", "simulated p50", "p99", "error p50", "p99")


def shown(published: Sequence[Load], simulated_loads: Sequence[Load]) -> list[float]:
    """The loads in the table: those published, the lowest, and two on each side of the knee."""
    rates = [load.rate for load in simulated_loads]
    over_knee = [load.rate for load in simulated_loads if load.p99 > KNEE_NS]
    near_knee = [rate for rate in rates if over_knee and rate < over_knee[0]][-2:] + over_knee[:2]
    return sorted({*(load.rate for load in published), *rates[:1], *near_knee})


def load_rows(study: Drives, drive: Drive) -> Rows:
    """Latencies of writes over load."""
    published = {load.rate: load for load in drive.loads}
    simulated = {load.rate: load for load in study.loads(drive)}

    def pair(load: Load | None) -> list[str]:
        return (
            ["–", "–"]
            if load is None
            else [on_page(duration(percentile)) for percentile in (load.p50, load.p99)]
        )

    rows: Rows = []
    for rate in shown(drive.loads, [*simulated.values()]):
        published_load, simulated_load = published.get(rate), simulated.get(rate)
        is_over = simulated_load is not None and simulated_load.p99 > KNEE_NS
        row = [*pair(published_load), *(["beyond", "beyond"] if is_over else pair(simulated_load))]
        if (
            published_load is None
            or simulated_load is None
            or max(published_load.p99, simulated_load.p99) > KNEE_NS
        ):
            row += ["–", "–"]
        else:
            deviations = (
                simulated_load.p50 / published_load.p50 - 1,
                simulated_load.p99 / published_load.p99 - 1,
            )
            mark = " (fitted)" * published_load.fitted
            row += [_percent(deviation, 0) + mark for deviation in deviations]
        rows.append((f"{rate:,.0f}", row))
    return rows


def verdict(study: Drives) -> list[str]:
    """The errors of each drive, in words."""
    texts = []
    for drive in study.of.values():
        marks = [point.fitted for point in drive.measured.wafs]
        marks += [load.fitted for load in drive.measured.below_knee]
        marks += [figure.fitted for figure in drive.measured.sustained]
        errors = errors_of(study, drive)
        is_all_fitted = marks and all(marks) and drive.knee is None and errors == Errors()
        none = "every measurement is fitted, so none is left to compare"
        text = none if is_all_fitted else errors.text()
        texts.append(f"{drive.title}: {text}.")
    return texts


def _tables(study: Drives, drive: Drive) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    """Title, heads and rows."""
    waf_lines = lines(study, drive)
    if waf_lines:
        yield "Write amplification", LINE_HEADS, line_rows(waf_lines)
    if drive.loads:
        yield "Latency of writes", LOAD_HEADS, load_rows(study, drive)
    if drive.measured.sustained:
        yield "Sustained write", FIGURE_HEADS, figure_rows(study, drive)


def _overviews(study: Drives) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    """Title, heads and rows of the tables of several drives that have some."""
    for title, heads, rows in (
        ("All drives", HEADS, overview(study)),
        ("Sustained writes", SUSTAINED_HEADS, sustained_overview(study)),
    ):
        if rows:
            yield title, heads, rows


def page(study: Drives) -> str:
    """The page as HTML."""
    answer = "".join(paragraph(text) for text in verdict(study))
    first = "".join(
        html_table(list(heads), rows, title) for title, heads, rows in _overviews(study)
    )
    drawings = pictures(study)
    sections = [Section("all", "Errors", warnings_box(study.remarks()) + answer + first)]
    for drive in study.of.values():
        paragraphs = "".join(f"<p>{prose(text)}</p>" for text in facts(study, drive))
        tables = "".join(
            html_table(list(heads), rows, title) for title, heads, rows in _tables(study, drive)
        )
        picture = drawings.get(drive.name)
        figure = f"<figure>{picture.svg}</figure>" if picture else ""
        sections.append(Section(drive.config.name, drive.title, paragraphs + tables + figure))
    texts = "".join(f"<p>{prose(text)}</p>" for text in (*ABOUT, *SUSTAINED, NOT_MODELLED, MEMORY))
    sections.append(Section("how", "What was run, and what is not modelled", texts))
    sections.append(
        Section("own", "A drive of your own", "".join(f"<p>{prose(text)}</p>" for text in OWN))
    )
    count = counted(len(study.of), "drive")
    lead = f'<p class="lead">{count} beside measurements · ssdlab {escape(described())}</p>'
    return document(choices.TITLE, lead, sections)


def markdown(study: Drives) -> str:
    """The page as Markdown."""
    text = ["<!-- Written by `ssdlab drives compare`. -->", "", f"# {choices.TITLE}", ""]
    text += [line for item in (*ABOUT, *study.remarks()) for line in (item, "")]
    for title, heads, rows in _overviews(study):
        if heads == SUSTAINED_HEADS:
            text += [f"## {title}", "", *(line for item in SUSTAINED for line in (item, ""))]
        text += table_of(heads, rows)
    text += [line for item in (NOT_MODELLED, MEMORY) for line in (item, "")]
    drawings = pictures(study)
    for drive in study.of.values():
        text += [f"## {drive.title}", ""]
        text += [line for item in facts(study, drive) for line in (item, "")]
        for _, heads, rows in _tables(study, drive):
            text += table_of(heads, rows)
        if drive.name in drawings:
            text += markdown_of(drawings[drive.name])
    text += ["## A drive of your own", "", *(line for item in OWN for line in (item, ""))]
    text.append(f"`ssdlab drives compare`, ssdlab {described()}.")
    return "\n".join(text).rstrip() + "\n"


def drawn(study: Drives) -> dict[str, str]:
    """The files of the pictures."""
    return files_of(pictures(study))


def to_json(study: Drives) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = []
    for (name, kind, parameter), report in study.reports.items():
        write = report.latency.write
        is_timed = report.config["run.mode"] == "timed"
        runs.append(
            {
                "drive": name,
                "kind": kind,
                "at": parameter,
                "waf": report.waf.total,
                "p50_ns": write.p50 if is_timed else None,
                "p99_ns": write.p99 if is_timed else None,
                **_sustained_values(study, name, kind),
            }
        )
    return json_of(study, verdict(study), runs)


def _sustained_values(study: Drives, name: str, kind: str) -> dict[str, Any]:
    """The figures of a sustained write by name; nothing of other runs."""
    if kind != sustained.NAME:
        return {}
    drive = study.of[name]
    lines_of_drive = figure_lines(drive, study.course(drive))
    return {"figures": {line.figure.name: line.simulated for line in lines_of_drive}}
