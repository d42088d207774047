"""Speed and memory of the kernel, with its answers checked: `ssdlab bench`.

- `cases`: what is run, what it must reach, and how its answer is known.
- `measure`: one case in one process.
- `history`: bench/history.jsonl, one line per case and run; the latest answers are the recorded
  ones.
- `instructions`: smaller cases, counted by valgrind (crates/ssd-trace/examples/bench_case.rs).
- `parity`, `separation`: a device with and without them, run in turn (`in_turn`); also commands.
- `pairs`: these cases under two commits, side by side.
"""
