"""Runs, comparisons of runs and devices, in this process and in others.

Comparisons, sweeps, searches and fleets share one route. Each run is a `job` with the key of its
results. `batch` chooses the next run. A `runner` executes it: in threads or processes here, or on a
`cluster`, as `on` says. `execution` has the arguments that all verbs share, and places `kept`,
which first looks into the store of results, before the runner. `table` has a row for each run that
has ended, from which a sweep, a search or a fleet is resumed (ADR 0024).

`trial` predicts a drive from small runs, for which `scale` builds the devices (ADR 0026).
`timed_doubts` says when these runs do not determine the latency. `spare_plan` searches the
over-provisioning with such trials. `results` has what they return.
"""
