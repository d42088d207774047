"""Speed and memory of the kernel, with its answers checked: `python -m ssdlab.bench`.

- `cases`: what is run, what it must reach, and how its answer is known.
- `measure`: one case in one process.
- `history`: bench/history.jsonl, one line a case and run; its latest answers are the recorded ones.
- `instructions`: the small case of crates/ssd-core/examples/bench_case.rs, counted by valgrind.
"""
