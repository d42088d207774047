"""An example or two of every verb, shown below its options."""

from __future__ import annotations

from collections.abc import Mapping

import typer

EXAMPLES: dict[str, tuple[str, ...]] = {
    "try": (
        "ssdlab try traces/varmail.trace.zst",
        "ssdlab try mine.csv.gz --drive samsung-pm9a3 --budget 10min",
    ),
    "plan": (
        "ssdlab plan traces/mysql.trace.zst --years 5 --waf 2.5",
        "ssdlab plan mine.csv.gz --drive samsung-pm9a3 --capacity 1.92TB --p99.9 5ms --years 5",
    ),
    "run": (
        "ssdlab run modern-tlc --set gc.victim=fifo",
        "ssdlab run mine.toml --trace mine.csv --set device.fit=trace --out runs/mine",
    ),
    "compare": (
        "ssdlab compare mine.toml --vary gc.victim=greedy,cost-benefit --seeds 5",
        "ssdlab compare greedy-8ch modern-tlc --trace mine.csv",
    ),
    "sweep": (
        "ssdlab sweep modern-tlc --vary device.over_provisioning=0.05:0.30:0.05",
        "ssdlab sweep greedy-8ch --set gc.victim=d-choices --vary gc.victim.d=1:64:x2 --seeds 5",
        "ssdlab sweep --drive samsung-pm9a3 --vary host.queue_depth=1:256:x2 --budget 2h",
        "ssdlab sweep modern-tlc --vary gc.victim=greedy,fifo --store kept",
        "ssdlab sweep modern-tlc --draw latin-hypercube --points 500 --vary workload.read=0.0:0.9",
    ),
    "search": (
        'ssdlab search modern-tlc --minimize latency.write.p99_9 --subject-to "waf < 1.02 * greedy"'
        " --space all",
        "ssdlab search mine.toml --minimize waf --space gc.victim --trace a.csv --test-trace b.csv",
        "ssdlab search greedy-8ch --minimize waf --space gc.victim=greedy,d-choices"
        " --space gc.victim.d=log:1:64 --trials 50",
    ),
    "fleet": (
        "ssdlab fleet volumes.csv.gz --drive samsung-pm9a3",
        "ssdlab fleet --stand-in alibaba:100 --drive mine.toml --drive other.toml",
    ),
    "serve": (
        "ssdlab serve modern-tlc --nbd unix:drive.sock --state drive",
        "ssdlab serve drive:samsung-pm9a3 --nbd 127.0.0.1:10809 --scale 20 --record session",
    ),
    "serve status": ("ssdlab serve status drive", "ssdlab serve status drive --smart --json"),
    "serve why": ("ssdlab serve why 1234 drive",),
    "report": ("ssdlab report runs/demo --plots figures --picture png",),
    "export": ("ssdlab export runs/demo/greedy/seed-1 --to parquet",),
    "list": ("ssdlab list policies", "ssdlab list drives"),
    "doctor": ("ssdlab doctor",),
    "config show": ("ssdlab config show greedy-8ch --set device.over_provisioning=0.2",),
    "config check": ("ssdlab config check mine.toml",),
    "config init": ("ssdlab config init mine.toml --preset modern-tlc",),
    "config schema": ("ssdlab config schema",),
    "config reference": ("ssdlab config reference",),
    "trace info": (
        "ssdlab trace info mine.csv.gz",
        "ssdlab trace info mine.csv other.csv --html traces.html",
    ),
    "trace convert": ("ssdlab trace convert mine.csv.gz mine.ssdtrace.zst",),
    "trace merge": ("ssdlab trace merge mysql.csv mail.csv.gz --out both.ssdtrace",),
    "trace generate": ("ssdlab trace generate app:mysql mysql.ssdtrace --size 4GiB",),
    "trace split": ("ssdlab trace split volumes.csv --out volumes",),
    "drives calibrate": ("ssdlab drives calibrate mine.csv --out mine.toml",),
    "kv dump": ("ssdlab kv dump store/000005.ldb",),
    "kv stats": ("ssdlab kv stats store",),
    "kv verify": ("ssdlab kv verify store",),
    "kv repair": ("ssdlab kv repair store",),
    "kv simulate": (
        "ssdlab kv simulate remapcom --remap full --set device.pages_per_block=4"
        " --set device.user_capacity=192MiB",
    ),
    "kv compare": (
        "ssdlab kv compare remapcom --remaps off,full --seeds 2 --set device.pages_per_block=4"
        " --set device.user_capacity=192MiB",
    ),
    "results query": (
        'ssdlab results query "select gc_victim, avg(waf) from results group by 1" --store kept',
        """ssdlab results query "select report->>'$.gc.calls' from results" --store kept --csv""",
    ),
    "results list": ("ssdlab results list --store kept",),
    "results show": ("ssdlab results show 8c2352ab --store kept",),
    "results export": (
        "ssdlab results export kept.parquet --store kept",
        "ssdlab results export runs/again --run 8c2352ab --store kept",
    ),
    "results gc": ("ssdlab results gc --store kept --unused 90 --max-size 20GiB",),
    "results verify": ("ssdlab results verify --store kept",),
    "snapshot make": ("ssdlab snapshot make mine.toml --out mine.snapshot",),
    "snapshot info": ("ssdlab snapshot info mine.snapshot",),
}


def add_examples(app: typer.Typer, examples: Mapping[str, tuple[str, ...]]) -> None:
    """Show the examples of every verb of `app` below its help."""
    group = [app.info.name] if isinstance(app.info.name, str) else []
    for command in app.registered_commands:
        epilog = _epilog(examples.get(" ".join([*group, command.name or ""]), ()), command.epilog)
        command.epilog = epilog or command.epilog
    # A group may be a verb itself.
    app.info.epilog = _epilog(examples.get(" ".join(group), ()), app.info.epilog) or app.info.epilog


def _epilog(examples: tuple[str, ...], epilog: str | None) -> str | None:
    """The text below the help of a verb with these examples."""
    if not examples:
        return None
    head = f"Example{'s' * (len(examples) > 1)}:"
    # A paragraph of help is one line, which the terminal wraps.
    line = " ".join((epilog or "").split())
    return "\n\n".join([*filter(None, [line]), head, *examples])
