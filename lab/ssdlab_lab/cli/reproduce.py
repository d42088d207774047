"""`ssdlab reproduce`, and the papers and studies that it has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdlab.cli.ending import end
from ssdlab.cli.examples import add_examples
from ssdlab.cli.options import Jobs, Json, OnOption, Quiet
from ssdlab.cli.terminal import Form, put_result
from ssdlab.errors import ConfigError
from ssdlab_lab.cli.examples import EXAMPLES

if TYPE_CHECKING:
    from ssdlab_lab.reproduce.studies import StudyEntry

app = typer.Typer()
OF_STUDIES = "--quick, --jobs, --on, --out, --json and --quiet"
"""The options that a study has."""


@app.command("reproduce")
def reproduce_command(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER|STUDY", help="One of `ssdlab list papers`.")
    ],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Use a smaller device and fewer requests, a quarter of a paper's."
        ),
    ] = False,
    workloads: Annotated[
        str | None,
        typer.Option("--workloads", metavar="A,B,...", help="Only these workloads."),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            "--traces", metavar="DIR", help="Folder of recorded traces.  [default: traces]"
        ),
    ] = None,
    readings: Annotated[
        bool,
        typer.Option(
            "--readings", help="Also run the alternative readings of what the paper leaves open."
        ),
    ] = False,
    jobs: Jobs = None,
    on: OnOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Output folder; an interrupted reproduction in it is resumed."
            "  [default: runs/reproduce-PAPER, or runs/STUDY]",
        ),
    ] = None,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Repeat a paper's evaluation, with published numbers next to simulated ones, or a study."""
    from ssdlab_lab.reproduce import reproduce  # needs numpy, which is slow to import
    from ssdlab_lab.reproduce.remapcom import choices
    from ssdlab_lab.reproduce.studies import STUDIES

    names = None if workloads is None else workloads.split(",")
    options = {
        "--workloads": workloads is not None,
        "--traces": traces is not None,
        "--readings": readings,
        "--on": on is not None,
    }
    context: dict[str, Any] = {"jobs": jobs, "on": on, "out": out, "progress": not quiet}
    if paper in STUDIES:
        unsupported = ("--workloads", "--traces", "--readings")
        _refuse(options, unsupported, f"{paper} accepts only {OF_STUDIES}")
        _study(STUDIES[paper], {"quick": quick, **context}, json_, quiet)
        return
    if paper == choices.NAME:
        reason = "remapcom has no recorded traces and no readings, and its runs are made here"
        _refuse(options, ("--traces", "--readings", "--on"), reason)
        _remapcom(quick, names, jobs, out, json_, quiet)
        return
    reproduction = reproduce(
        paper, quick=quick, workloads=names, traces=traces, readings=readings, **context
    )
    put_result(json_, quiet, reproduction.to_json, reproduction.summary)
    end(reproduction.folder, reproduction.failures, reproduction.interrupted, quiet)


def _refuse(is_set: Mapping[str, bool], options: tuple[str, ...], reason: str) -> None:
    """Raise `ConfigError` if one of the options is given."""
    unsupported = [option for option in options if is_set[option]]
    if unsupported:
        raise ConfigError([f"{' and '.join(unsupported)}: {reason}"])


def _study(study: StudyEntry, options: Mapping[str, Any], json_: Form, quiet: bool) -> None:
    """Run a study and print its verdict, or its numbers."""
    result = study.run(**options)
    text = "\n".join([*study.verdict(result), ""])
    put_result(json_, quiet, lambda: study.to_json(result), lambda: text)
    end(result.folder, result.failures, result.interrupted, quiet)


def _remapcom(
    quick: bool,
    workloads: list[str] | None,
    jobs: int | None,
    out: Path | None,
    json_: Form,
    quiet: bool,
) -> None:
    """The paper whose runs are simulations of the store."""
    from ssdlab_lab.reproduce.remapcom import command, page

    outcome = command.reproduce(
        quick=quick, workloads=workloads, jobs=jobs, out=out, progress=not quiet
    )
    put_result(json_, quiet, lambda: command.to_json(outcome), lambda: page.summary(outcome))
    end(outcome.folder, outcome.failures, outcome.interrupted, quiet)


def papers() -> list[dict[str, str]]:
    """Name and title of everything that can be reproduced, for `ssdlab list papers`."""
    from ssdlab_lab.reproduce import PAPERS  # needs numpy, which is slow to import
    from ssdlab_lab.reproduce.remapcom import choices
    from ssdlab_lab.reproduce.studies import STUDIES

    titles = {name: paper.title for name, paper in PAPERS.items()}
    titles[choices.NAME] = choices.TITLE
    titles |= {name: study.title for name, study in STUDIES.items()}
    return [{"name": name, "summary": title} for name, title in titles.items()]


add_examples(app, EXAMPLES)
