"""The simulator against the closed forms of `ssdlab_lab.oracles`: `ssdlab validate`.

- `check`: what a check is: runs of the simulator and lines that compare them with a formula.
- `uniform`, `workloads`: write amplification, in functional mode.
- `latency`, `queues`, `saturation`: the two timing models.
- `page`: docs/validation.md.

Every number on the page except its date follows from the seeds, so it is the same in each run.
"""
