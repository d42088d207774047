"""`ssdlab serve`: a drive that programs use, killed and started again."""

import json
import os
import random
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

import ssdlab
from nbd_client import FLUSH, FUA, NO_HOLE, READ, TRIM, WRITE, ZEROES, RefusedError
from running import COMMAND, HANG_S, nothing_left, refused, ssdlab_command
from served_drive import DRIVE, PAGE, UNIX, served
from ssdlab.running.served import Address, Pacing, handle_signals, serve_drive


def test_what_was_flushed_survives_kill_9(tmp_path: Path) -> None:
    draw, options = random.Random(5), [*UNIX, "--state", "drive"]
    memory: dict[int, bytes] = {}
    buffered = [*options, "--set", "host.write_buffer_pages=8"]
    for life in range(3):
        # In the second life the log is folded again and again.
        limit = ["--log-limit", "2KiB"] if life == 1 else []
        with served(*buffered, *limit, cwd=tmp_path) as server:
            assert ("was killed" in server.said) == (life > 0)
            if again := re.search(r"killed: ([\d,]+) requests", server.said):
                assert (int(again[1]) < 200) == (life == 2)
            mode = (tmp_path / "drive.sock").stat().st_mode
            assert stat.S_IMODE(mode) == 0o600
            first, second = server.client(), server.client(structured=False)
            for page, data in memory.items():
                assert first.read(page * PAGE, PAGE) == data
            for _ in range(200):
                page, data = draw.randrange(200), draw.randbytes(PAGE)
                draw.choice([first, second]).write(page * PAGE, data)
                memory[page] = data
            memory.pop(7, None)
            second.ask(TRIM, 7 * PAGE, PAGE)
            memory[7] = bytes(PAGE)
            second.ask(FLUSH)
            # Nobody promises these; some are under way when it is killed.
            for page in range(300, 320):
                first.send(WRITE, page * PAGE, PAGE, draw.randbytes(PAGE))
            server.kill()
    with served(*buffered, cwd=tmp_path) as server:
        client = server.client()
        assert all(client.read(page * PAGE, PAGE) == data for page, data in memory.items())
        # Another server is refused, and this one serves on.
        done = ssdlab_command("serve", "tiny.toml", *buffered, cwd=tmp_path)
        refused(done, 2, "another server uses it")
        assert client.read(7 * PAGE, PAGE) == bytes(PAGE)
        assert "too few replies" in server.stop()
    assert not (tmp_path / "drive.sock").exists()
    with served(*buffered, cwd=tmp_path) as server:
        assert "was killed" not in server.said
        client = server.client()
        assert all(client.read(page * PAGE, PAGE) == data for page, data in memory.items())
    # It has been killed without a request: any drive of this shape goes on; another shape does not.
    done = ssdlab_command(
        "serve", "tiny.toml", *options, "--set", "device.channels=4", cwd=tmp_path
    )
    refused(done, 2, "--state drive", "pages of 4096 bytes")


@pytest.mark.parametrize("record", [[], ["--record", "rec"]])
def test_a_full_disk_refuses_writes_alone(tmp_path: Path, record: list[str]) -> None:
    options, draw = [*UNIX, "--state", "drive"], random.Random(4)
    most_bytes = 561 * PAGE
    memory: dict[int, bytes] = {}
    with served(*options, *record, cwd=tmp_path, most_bytes=most_bytes) as server:
        client = server.client(structured=False)
        for page in range(561):
            memory[page] = draw.randbytes(PAGE)
            client.write(page * PAGE, memory[page])
        sizes = []
        for page in range(600, 630):
            with pytest.raises(RefusedError) as error:
                client.write(page * PAGE, memory[0])
            assert error.value.number == 28
            sizes.append((tmp_path / "drive/1.log").stat().st_size if record else 0)
        # What the first one has freed is noted once. Nothing folds the log of a recorded session.
        assert len(set(sizes[1:])) == 1
        client.ask(FLUSH)
        assert all(client.read(page * PAGE, PAGE) == data for page, data in memory.items())
        server.kill()
    with served(*options, cwd=tmp_path, most_bytes=most_bytes) as server:
        client = server.client()
        assert all(client.read(page * PAGE, PAGE) == data for page, data in memory.items())
        client.ask(TRIM, 0, 100 * PAGE)
        for page in range(80):
            client.write(page * PAGE, b"new")
        server.stop(signal.SIGTERM)
    assert not list((tmp_path / "drive").glob("1.*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_disk_without_space_for_the_log_is_named_before_the_drive_is_served(
    tmp_path: Path,
) -> None:
    (tmp_path / "tiny.toml").write_text(DRIVE)
    (tmp_path / "full").mkdir()
    mount = 'mount -t tmpfs -o size=600k none full && "$@"; code=$?; ls full; exit $code'
    serve = [*COMMAND, "serve", "tiny.toml", *UNIX, "--state", "full/new/drive"]
    words = ["unshare", "--mount", "sh", "-c", mount, "sh", *serve]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=HANG_S
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 2
    assert "--state full/new/drive: " in done.stderr
    assert "the log of the drive needs 1 MiB" in done.stderr
    assert "Ctrl-C" not in done.stderr
    assert done.stdout == "", "a start that fails removes what it has created"


@pytest.mark.parametrize(
    ("options", "counts", "words"),
    [
        ((), (1, 0), "stopped the drive's clock"),
        (("--behind", "late", "--poll"), (0, 1), "more than 1 ms behind"),
    ],
)
def test_a_server_that_was_behind_says_so(
    options: tuple[str, ...], counts: tuple[int, int], words: str, tmp_path: Path
) -> None:
    # A read takes 70 us or more, and at this scale more than a third of a second.
    slowly = ("--scale", "5000", "--state", "drive", "--set", "precondition.fill=1", *options)
    with served(*UNIX, *slowly, cwd=tmp_path) as server:
        client = server.client()
        client.send(READ, 0, PAGE)
        # It is answered in no time, so the server has read both requests.
        assert client.extents(0, PAGE)
        server.process.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        time.sleep(1)
        server.process.send_signal(signal.SIGCONT)
        client.answer(PAGE)
        most_ns = 1e9 * (time.monotonic() - start)
        # It has caught up, whatever it waits for now.
        time.sleep(0.2)
        text = server.stop()
    assert words in text
    summary = json.loads((tmp_path / "drive" / "summary.json").read_text())
    delays = summary["stops"], summary["lags"]
    assert tuple(min(1, delay["count"]) for delay in delays) == counts
    assert 1e8 < sum(delay["ns"] for delay in delays) < most_ns


def test_polling_leaves_a_cpu_to_clients(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(DRIVE)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    done = ssdlab_command("serve", "tiny.toml", *UNIX, "--poll", cwd=tmp_path)
    refused(done, 2, "--poll: it needs a second CPU, but this process may use only one")
    nothing_left(tmp_path, "tiny.toml")


def test_a_second_signal_is_a_power_cut() -> None:
    before = signal.getsignal(signal.SIGINT)
    calls: list[str] = []
    with handle_signals(lambda: calls.append("stops")) as signals:
        assert not signals.take_status_request()
        signal.raise_signal(signal.SIGUSR1)
        assert signals.take_status_request()
        assert not signals.take_status_request()
        signal.raise_signal(signal.SIGTERM)
        assert signals.stop
        assert calls == ["stops"]
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is before


def test_a_repeat_of_the_first_signal_kills_no_server() -> None:
    calls: list[str] = []

    def stops() -> None:
        calls.append("stops")
        signal.raise_signal(signal.SIGTERM)

    with handle_signals(stops) as signals:
        signal.raise_signal(signal.SIGTERM)
        assert signals.stop
    assert calls == ["stops"]


def test_a_server_that_stops_has_no_priority_over_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = [os.sched_getscheduler(0)]

    def serve(
        *_: object,
        ready: Callable[[str], None],
        progress: Callable[[str, int, None], None],
        **_options: object,
    ) -> str:
        ready("{}")
        policies.append(os.sched_getscheduler(0))
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            progress("workload", 0, None)
        policies.append(os.sched_getscheduler(0))
        return "{}"

    monkeypatch.setattr("ssdlab._core.serve", serve)
    (tmp_path / "tiny.toml").write_text(DRIVE)
    said: list[dict[str, Any]] = []
    serve_drive(
        ssdlab.load_config(tmp_path / "tiny.toml"),
        Address(unix=tmp_path / "socket"),
        state=None,
        record=None,
        pacing=Pacing(),
        most_log=1 << 20,
        ready=said.append,
        status=said.append,
        stops=lambda: None,
        progress=False,
    )
    before, serving, stopping = policies
    if not said[0]["real_time"]:
        pytest.skip("real-time priority is not permitted")
    assert serving == os.SCHED_FIFO
    assert stopping == before


def test_a_recorded_session_runs_again_to_the_nanosecond(tmp_path: Path) -> None:
    draw = random.Random(9)
    with served("--nbd", "127.0.0.1:0", "--record", "rec", "--json", cwd=tmp_path) as server:
        client = server.client()
        pages = client.bytes // PAGE
        for _ in range(600):
            at, count = draw.randrange(pages - 4), draw.randrange(1, 4)
            match draw.randrange(8):
                case 0 | 1:
                    client.read(at * PAGE, count * PAGE)
                case 2:
                    client.ask(TRIM, at * PAGE, count * PAGE)
                case 3:
                    client.ask(ZEROES, at * PAGE + 100, count * PAGE, flags=NO_HOLE)
                case 4:
                    client.ask(FLUSH)
                case _:
                    client.write(at * PAGE + 512, draw.randbytes(PAGE), FUA * draw.randrange(2))
        client.close()
        summary: dict[str, Any] = json.loads(server.stop())
    assert summary["requests"] == summary["late"]["replies"] == 600
    assert summary["folds"]["count"] == 0
    done = ssdlab_command("run", "rec/run.toml", "--out", "again", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(next((tmp_path / "again").rglob("report.json")).read_text())
    served_report = summary["report"]
    for part in ("latency", "waf", "host", "gc"):
        # A run of a trace also has the latencies of each volume.
        for name, value in served_report[part].items():
            assert report[part][name] == value, f"{part}.{name}"
    digest = report["provenance"]["event_digest"]
    assert digest == served_report["provenance"]["event_digest"]


def test_a_bad_client_is_cut_off_and_the_others_are_served(tmp_path: Path) -> None:
    with served(*UNIX, "--json", cwd=tmp_path) as server:
        good = server.client()
        good.write(100, b"data")
        with socket.socket(socket.AF_UNIX) as bad:
            bad.connect(str(tmp_path / "drive.sock"))
            bad.sendall(b"GET / HTTP/1.1\r\n\r\n")
            while bad.recv(100):
                pass
        gone = server.client()
        gone.socket.sendall(bytes.fromhex("25609513 0000 0001") + bytes(8 + 8) + b"\0\1\0\0half")
        gone.socket.close()
        for command, offset, length, number in [
            (0, good.bytes - 10, 20, 22),
            (WRITE, good.bytes, 20, 28),
            (0, 1 << 63, 1, 22),
            (0, 0, 0, 22),
            (99, 0, 0, 22),
            (0, 0, 33 << 20, 22),
        ]:
            with pytest.raises(RefusedError) as error:
                good.ask(command, offset, length, bytes(20) if command == WRITE else b"")
            assert error.value.number == number
        with pytest.raises(RefusedError):
            good.write(0, bytes(33 << 20))
        assert good.read(98, 8) == b"\0\0data\0\0"
        assert good.extents(0, good.bytes)[0] == (PAGE, 0)
        assert re.search(r"\d requests of 3 clients answered", server.status())
        summary = json.loads(server.stop())
        assert summary["clients_refused"] == 1
        assert "IHAVEOPT" in summary["refused_because"] or "flags" in summary["refused_because"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--nbd", "somewhere"], ["--nbd somewhere", "unix:PATH", "127.0.0.1:10809"]),
        (["--nbd", "unix:"], ["path of a socket"]),
        (["--nbd", "unix:file"], ["file", "in use"]),
        (["--nbd", f"unix:{'a' * 120}"], ["107 bytes"]),
        (["--nbd", "0.0.0.0:10809"], ["0.0.0.0:10809", "loopback"]),
        (["--nbd", "nowhere.invalid:10809"], ["nowhere.invalid:10809", "and a port"]),
        ([*UNIX, "--scale", "0"], ["--scale 0", "0.001"]),
        ([*UNIX, "--scale", "fast"], ["--scale fast", "auto"]),
        ([*UNIX, "--log-limit", "many"], ["--log-limit many", "a size"]),
        ([*UNIX, "--record", "file"], ["--record file", "exists"]),
        ([*UNIX, "--state", "."], ["--state .", "other files"]),
        ([*UNIX, "--state", "file"], ["--state file", "give a folder"]),
        ([*UNIX, "--set", "run.mode=functional"], ["run.mode"]),
        ([*UNIX, "--set", 'power.cut={ every = "1 s" }'], ["power.cut"]),
        ([*UNIX, "--state", "d", "--set", "wear.endurance=10"], ["--state", "wear.endurance"]),
        (
            [
                *(*UNIX, "--state", "d", "--set", "raid.group=2"),
                *("--set", "power.buffer=protected", "--set", "host.write_buffer_pages=8"),
            ],
            ["power cuts with parity groups need", 'power.buffer = "volatile"'],
        ),
        (["--nbd", "unix:file", "--state", "a/b"], ["file", "in use"]),
    ],
)
def test_what_cannot_be_served_is_refused(
    tmp_path: Path, options: list[str], words: list[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "tiny.toml").write_text(DRIVE)
    done = ssdlab_command("serve", "tiny.toml", *options, cwd=tmp_path)
    refused(done, 2, *words)
    nothing_left(tmp_path, "file", "tiny.toml")


def test_a_start_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(DRIVE)
    options = [*UNIX, "--state", "a/b", "--record", "missing/record"]
    done = ssdlab_command("serve", "tiny.toml", *options, cwd=tmp_path)
    assert done.returncode != 0
    assert "--record missing/record" in done.stderr
    nothing_left(tmp_path, "tiny.toml")


def test_the_page_shows_the_drive_to_who_has_its_address(tmp_path: Path) -> None:
    with served(*UNIX, "--page", cwd=tmp_path) as server:
        client = server.client()
        address = server.page()
        for page in range(300):
            client.write(page * PAGE, bytes([page % 256]) * PAGE)
        with urlopen(address, timeout=HANG_S) as answer:
            text = answer.read().decode()
        assert "The slowest requests" in text
        assert 'src="' not in text, "it needs other files"
        port = urlsplit(address).port
        events = address.replace("/?", "/events?")
        with urlopen(events, timeout=HANG_S) as answer:
            while True:
                sections = json.loads(answer.readline().decode().removeprefix("data: "))
                assert answer.readline() == b"\n"
                if "write\u00a0of\u00a04\u00a0KiB" in sections["slow"]:
                    break
        assert set(sections) == {"now", "course", "latency", "slow", "blocks"}
        refusals = [
            (address + "x", "127.0.0.1", 403),
            (f"http://127.0.0.1:{port}/", "127.0.0.1", 403),
            (address, "evil.example", 403),
            (address.replace("/?", "/other?"), "127.0.0.1", 404),
        ]
        for url, host, code in refusals:
            with pytest.raises(HTTPError) as error:
                urlopen(Request(url, headers={"Host": f"{host}:{port}"}), timeout=HANG_S)
            assert error.value.code == code
            error.value.close()
        text = server.stop()
        assert "slow: " in text
    with pytest.raises(URLError):
        urlopen(address, timeout=HANG_S)


def test_the_verb_loads_nothing_that_draws() -> None:
    script = "import sys, ssdlab.cli.serve; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
