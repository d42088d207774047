"""The transient at the start of a measurement is found, and the recommendation removes it."""

from pathlib import Path

import ssdlab
from running import ROOT, SMALL


def test_the_recommendation_of_the_page_works() -> None:
    page = (ROOT / "docs/statistics.md").read_text(encoding="utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    names: dict[str, object] = {}
    exec(program, names)
    wanted, after = names["wanted"], names["first"]
    assert isinstance(wanted, int)
    assert wanted == 25_000
    assert isinstance(after, ssdlab.Report)
    assert after.requests.warmup == wanted
    assert after.warmup.recommended_requests == wanted, "what was left out is enough"
    assert not any("transient" in text for text in after.warnings)


def test_a_transient_is_warned_of() -> None:
    values = {
        "device.blocks_per_plane": 64,
        "device.user_capacity": "200 MiB",
        "workload.kind": "uniform",
        "workload.requests": 200_000,
        "workload.read": 0,
    }
    for mode in ("timed", "functional"):
        report = ssdlab.run("greedy-8ch", set={**values, "run.mode": mode}, progress=False)
        wanted = report.warmup.recommended_requests
        if wanted is None:
            assert "drifts" in report.warmup.reason, "an empty device settles late or not at all"
            assert not report.steady_state.reached
        else:
            assert f"workload.warmup_requests = {wanted}" in " ".join(report.warnings)


def test_traces_and_short_runs_get_no_recommendation(tmp_path: Path) -> None:
    short = ssdlab.run("greedy-8ch", set={**SMALL, "workload.requests": 10}, progress=False)
    assert short.warmup.recommended_requests is None
    trace = str(next((ROOT / "traces").glob("*.trace.zst")))
    values = {**SMALL, "workload.fit": "wrap", "workload.trace": trace}
    replayed = ssdlab.run("greedy-8ch", set=values, out=tmp_path / "r", progress=False)
    assert replayed.warmup.recommended_requests is None
    assert "changes in a trace" in replayed.warmup.reason
    assert ssdlab.Report.read(tmp_path / "r").warmup == replayed.warmup
