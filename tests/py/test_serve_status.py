"""`ssdlab serve status` and `ssdlab serve why`: a drive that is being served, or was."""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from nbd_client import FLUSH
from running import refused, ssdlab_command
from served_drive import PAGE, UNIX, ServedDrive, served
from ssdlab.results.served import MEDIA, SMART_NAMES, UNIT, smart_text, why_text
from ssdlab.running.served import Address, Pacing, serve_drive

PARTS = ("queue_ns", "chip_ns", "transfer_ns", "gc_wait_ns", "metadata_ns")


def said(*words: str, cwd: Path) -> Any:  # noqa: ANN401 - whatever is in the JSON
    """The JSON that a verb prints."""
    done = ssdlab_command("serve", *words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def work(server: ServedDrive, writes: int) -> None:
    """Write pages here and there, several requests at a time."""
    draw, client = random.Random(3), server.client()
    for _ in range(writes // 8):
        for _ in range(8):
            client.send(1, draw.randrange(client.bytes // PAGE) * PAGE, PAGE, bytes(PAGE))
        for _ in range(8):
            client.answer()
    client.ask(FLUSH)


def test_the_status_is_that_of_the_server_and_then_that_of_its_end(tmp_path: Path) -> None:
    folders = ["drive", "rec"]
    with served(*UNIX, "--state", "drive", "--record", "rec", cwd=tmp_path) as server:
        work(server, 4000)
        running = said("status", "drive", cwd=tmp_path)
        assert running["is_running"]
        assert running["requests"] == 4001
        assert 0 < running["space"]["mapped_bytes"] <= running["space"]["stored_bytes"]
        assert running["space"]["log_bytes"] > 24 * 4001
        text = ssdlab_command("serve", "status", "rec", cwd=tmp_path).stdout
        assert re.search(r"^running, served for .* requests/s$", text, re.MULTILINE)
        assert re.search(r"^\d+ of 128 blocks erased", text, re.MULTILINE)
        assert "replies late by" in text
        server.stop()
    for folder in folders:
        assert not (tmp_path / folder / "status").exists()
        stopped = said("status", folder, cwd=tmp_path)
        assert (stopped["is_running"], stopped["was_killed"]) == (False, False)
        assert stopped["life"]["writes"] == 4000
    text = ssdlab_command("serve", "status", "drive", cwd=tmp_path).stdout
    assert text.startswith("stopped, served for")
    with served(*UNIX, "--state", "drive", cwd=tmp_path) as server:
        work(server, 80)
        server.kill()
    killed = said("status", "drive", cwd=tmp_path)
    assert (killed["is_running"], killed["was_killed"]) == (False, True)
    # That is what it was soon after it began: its requests are in the log.
    assert 4000 <= killed["life"]["writes"] <= 4080
    assert killed["space"]["log_bytes"] > 24 * 81
    assert said("why", "80", "drive", cwd=tmp_path)["request"]["op"] == "flush"
    text = ssdlab_command("serve", "status", "drive", cwd=tmp_path).stdout
    assert text.startswith("killed or failed; this summary is from when it had served for")
    assert re.search(r"^the next server will replay the log of .* and mount", text, re.MULTILINE)
    with served(*UNIX, "--state", "drive", cwd=tmp_path):
        smart = said("status", "drive", "--smart", cwd=tmp_path)
        assert smart["host_write_commands"] == 4080
        assert (smart["power_cycles"], smart["unsafe_shutdowns"]) == (3, 1)


def test_the_counters_give_the_write_amplification_as_those_of_a_real_drive_do(
    tmp_path: Path,
) -> None:
    with served(*UNIX, "--state", "drive", cwd=tmp_path) as server:
        work(server, 4000)
        server.stop()
    smart = said("status", "drive", "--smart", cwd=tmp_path)
    assert list(smart) == [*SMART_NAMES, *MEDIA]
    assert smart["data_units_written"] == -(-4000 * PAGE // 512_000)
    summary = said("status", "drive", cwd=tmp_path)
    waf = smart["Physical media units written"]["lo"] / (4000 * PAGE)
    assert waf == pytest.approx(summary["report"]["waf"]["total"])
    assert waf > 1.1
    rough = smart["Physical media units written"]["lo"] / (smart["data_units_written"] * UNIT)
    assert rough == pytest.approx(waf, rel=1 / smart["data_units_written"])
    text = ssdlab_command("serve", "status", "drive", "--smart", cwd=tmp_path).stdout
    assert text == smart_text("tiny", summary)


def test_the_layout_is_that_of_nvme_cli() -> None:
    life = dict.fromkeys(("media_read_bytes", "busy_ns", "on_ns"), 0) | {
        "host_read_bytes": 1_234_567 * UNIT - 1,
        "host_written_bytes": 7_654_321 * UNIT,
        "reads": 111,
        "writes": 2_222_222,
        "ends": 1,
        "cuts": 1,
        "media_written_bytes": 123_456_789,
    }
    worn = {"used": 3, "spare": 100}
    lines = smart_text("zero", {"life": life, "worn": worn}).splitlines()
    # As nvme-cli 2.3 prints a log page with these values.
    assert lines[0] == "Smart Log for NVME device:zero namespace-id:ffffffff"
    assert lines[1] == "critical_warning\t\t\t: 0"
    assert lines[3] == "available_spare\t\t\t\t: 100%"
    assert lines[5:7] == [
        "percentage_used\t\t\t\t: 3%",
        "endurance group critical warning summary: 0",
    ]
    assert lines[7] == "Data Units Read\t\t\t\t: 1234567 (632.10 GB)"
    assert lines[8] == "Data Units Written\t\t\t: 7654321 (3.92 TB)"
    assert lines[10] == "host_write_commands\t\t\t: 2222222"
    assert lines[22] == "Thermal Management T2 Total Time\t: 0"
    assert lines[24] == "  Physical media units written -   \t        0 123456789"


def test_the_log_says_what_each_request_waited_for(tmp_path: Path) -> None:
    with served(*UNIX, "--state", "drive", "--record", "rec", cwd=tmp_path) as server:
        work(server, 4000)
        slowest = said("status", "drive", cwd=tmp_path)["slowest"]
        assert len(slowest) == 10
        answers = [said("why", str(one["id"]), "drive", cwd=tmp_path) for one in slowest[:3]]
        assert [answer["request"] for answer in answers] == slowest[:3]
        last = max(answers[0]["operations"], key=lambda one: one["end_ns"])
        assert last["end_ns"] == slowest[0]["arrival_ns"] + slowest[0]["latency_ns"]
        done = ssdlab_command("serve", "why", str(slowest[0]["id"]), "drive", cwd=tmp_path)
        assert done.stdout == why_text(answers[0])
        assert "collection" in done.stdout
        assert "meanwhile these ran in the same plane, chip or channel:" in done.stdout
        done = ssdlab_command("serve", "why", "5000", "drive", cwd=tmp_path)
        refused(done, 2, "request 5000", "0 to 4000", "the nearest one is 4000")
        done = ssdlab_command("serve", "why", "5", "rec", cwd=tmp_path)
        refused(done, 2, "rec", "expected run.toml, which the server writes when it is stopped")
        assert "ssdlab serve why 5 STATE" in done.stderr
        server.stop()
    done = ssdlab_command("serve", "why", "5", "drive", cwd=tmp_path)
    again = "ssdlab serve drive/2.toml --nbd unix:drive.sock --state drive --record NEW"
    refused(done, 2, "has no requests", again)
    # A recording has them all, wherever it is.
    shutil.move(tmp_path / "rec", tmp_path / "moved")
    again = said("why", str(slowest[0]["id"]), "moved", cwd=tmp_path)
    assert again == answers[0]
    for verb in (["status"], ["why", "0"]):
        for folder in (".", "nowhere"):
            done = ssdlab_command("serve", *verb, folder, cwd=tmp_path)
            refused(done, 2, folder, "expected the state of a served drive")


def test_a_recording_without_a_state_says_what_a_request_waited_for(tmp_path: Path) -> None:
    with served(*UNIX, "--record", "rec", cwd=tmp_path) as server:
        work(server, 400)
        slowest = said("status", "rec", cwd=tmp_path)["slowest"]
        server.stop()
    assert said("why", str(slowest[0]["id"]), "rec", cwd=tmp_path)["request"] == slowest[0]


def test_a_request_without_an_operation_of_its_own_is_explained_by_what_ended_meanwhile() -> None:
    place = {"channel": 1, "chip": 0, "plane": 2, "block": 7}
    one = {"op": "program", "cause": "gc", **place, "request": None}
    before = [{**one, "queued_ns": 0, "start_ns": 5 * i, "end_ns": 5 * i + 5} for i in range(4)]
    asked = {"id": 3, "op": "write", "sector": 8, "sectors": 8, "arrival_ns": 7, "latency_ns": 13}
    text = why_text(
        {"request": asked | dict.fromkeys(PARTS, 0), "operations": [], "before": before[1:]}
    )
    assert "request 3: write of 4 KiB at 4 KiB" in text
    assert "no flash operation of its own" in text
    row = " ".join(text.splitlines()[-1].split())
    assert row == "program for gc channel 1, chip 0, plane 2 7 3 13 ns"


def test_a_recorded_session_leaves_the_workload_of_its_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rec").mkdir()
    monkeypatch.setattr("ssdlab._core.serve", lambda *_, **__: "{}")
    config = ssdlab.load_config("modern-tlc")
    assert config["workload.warmup_requests"] > 0
    serve_drive(
        config,
        Address(unix=tmp_path / "socket"),
        state=None,
        record=tmp_path / "rec",
        pacing=Pacing(),
        most_log=1 << 20,
        ready=lambda _: None,
        status=lambda _: None,
        stops=lambda: None,
        progress=False,
    )
    again = ssdlab.load_config(tmp_path / "rec/run.toml")
    assert again["workload.warmup_requests"] == 0
    assert again["device"] == config["device"]
    assert json.loads((tmp_path / "rec/summary.json").read_text()) == {
        "is_over": True,
        "real_time": False,
    }


def test_a_folder_without_a_socket_is_served_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ssdlab.running.served_socket import StatusSocket, request_summary

    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    assert request_summary(deep) is None
    socket = StatusSocket(deep)
    try:
        assert (deep / "status").is_socket()
    finally:
        socket.close()
    assert request_summary(deep) is None
    monkeypatch.setattr("ssdlab.running.served_socket.SOCKET", "no/such/folder")
    StatusSocket(deep).close()
