"""Fit the processor times of `ssdlab kv simulate` to the measurements in bench/history.jsonl.

Cost of a write = write + write_kib * (KiB of the pair) + (merge_kib + step_kib) * (KiB written to
tables for it), of which the calls of the file layer are a part. Prints the times and how far they
are from each measurement. With `--shares`, measures which share of the last cost is merge_kib: the
time to merge pairs that are all dropped by the time to merge pairs that are all written.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

HISTORY = Path(__file__).resolve().parents[1] / "bench" / "history.jsonl"
CALL_NS, KIB_NS = 400, 100
"""Of the file layer (`fs.call_ns`, `fs.kib_ns`)."""


def measured() -> tuple[dict[tuple[str, int], float], dict[tuple[str, int], float]]:
    """The latest processor time of each workload and size, and table bytes by user bytes."""
    times: dict[tuple[str, int], float] = {}
    write_ratios: dict[tuple[str, int], float] = {}
    for line in HISTORY.read_text().splitlines():
        record = json.loads(line)
        if not record.get("case", "").startswith("kv-") or "value_size" not in record:
            continue
        if "names" in record:
            write_ratios[record["names"][0], record["value_size"]] = record["ours"]
        elif "name" in record:
            cell = record["name"], record["value_size"]
            times[cell] = record["ours"]["cpu_s"] / record["n"] * 1e9
    return times, write_ratios


def compaction_ns(folder: Path, size: int, drops: bool) -> float:
    """Processor time to compact two overlapping tables, for a KiB of their pairs."""
    from ssdlab import kv

    store, count = folder / f"{size}-{drops}", (16 << 20) // (size + 16)
    pairs = 0
    for half in (0, 1):
        with kv.open(
            store,
            create_if_missing=True,
            write_buffer_size=64 << 20,
            compression=None,
            background="steps",
        ) as db:
            for number in range(count):
                key = b"%016d" % number
                if drops and half:
                    db.delete(key)
                elif drops or number % 2 == half:
                    db.put(key, number.to_bytes(size, "little"))
                else:
                    continue
                pairs += 1
    with kv.open(store, compression=None, background="steps") as db:
        start = time.process_time_ns()
        db.compact_range()
        elapsed_ns = time.process_time_ns() - start
    values = count * size
    return elapsed_ns * 1024 / (values + pairs * 24)


def print_shares() -> None:
    """Print the share of merging by the size of values, the quickest of five compactions each."""
    for size in (100, 256, 1024, 4096):
        best = {drops: float("inf") for drops in (True, False)}
        for _ in range(5):
            with tempfile.TemporaryDirectory(prefix="ssdlab-kv-costs-") as folder:
                for drops, best_ns in best.items():
                    best[drops] = min(best_ns, compaction_ns(Path(folder), size, drops))
        share = best[True] / best[False]
        print(f"{size:5} B: all dropped {best[True]:5.0f} ns a KiB, all written", end=" ")
        print(f"{best[False]:5.0f}: {share:.0%} merging")


def main() -> None:
    """Print the fit, or the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shares", action="store_true", help="measure merge_kib and step_kib")
    if parser.parse_args().shares:
        print_shares()
        return
    times, write_ratios = measured()
    rows, measured_ns, names = [], [], []
    for (name, size), amplification in write_ratios.items():
        if name not in ("fillseq", "fillrandom") or (name, size) not in times:
            continue
        pair = (16 + size) / 1024
        rows.append([1.0, pair, pair * amplification])
        measured_ns.append(times[name, size])
        names.append(f"{name} {size}")
    table, values = np.array(rows), np.array(measured_ns)
    # Relative errors; no negative time: the fit is repeated without the terms that become so.
    columns_left = [0, 1, 2]
    while True:
        weighted = table[:, columns_left] / values[:, None]
        fit, *_ = np.linalg.lstsq(weighted, np.ones(len(values)), rcond=None)
        if (fit >= 0).all():
            break
        columns_left.pop(int(np.argmin(fit)))
    costs = np.zeros(3)
    costs[columns_left] = fit
    for name, value, model in zip(names, values, table @ costs, strict=True):
        print(f"{name:16} measured {value:8.0f} ns, fit {model:8.0f} ns, {model / value - 1:+.0%}")
    print("write, write_kib, merge_kib + step_kib:", np.round(costs - [CALL_NS, KIB_NS, KIB_NS]))
    for name, cost in (("readrandom", "read"), ("seekrandom", "seek"), ("readseq", "next")):
        cells = [time for (case, _), time in times.items() if case == name]
        mean = float(np.exp(np.log(cells).mean()))
        deviations = ", ".join(f"{mean / cell - 1:+.0%}" for cell in cells)
        print(f"{cost}: {mean:.0f} ns with calls of the file layer; by size: {deviations}")


if __name__ == "__main__":
    main()
