"""Runs, comparisons of runs and devices, in this process and in others.

Comparisons, sweeps, searches and fleets share one route. Each run is a `job`, which has the key of
its results. `batch` decides which run is next. A `runner` makes it: in threads or processes here,
or on a `cluster`, as `on` reads. `making` has the arguments that all verbs share, and puts `kept`,
which looks into the store of results first, before the runner. `table` has a row for each run that
has ended; a sweep, a search or a fleet is resumed from it (ADR 0024).

`trial` predicts a drive from small runs, for which `scale` builds the devices (ADR 0026).
`timed_doubts` says where these runs do not tell the latency. `spare_plan` searches the
over-provisioning by such trials. `results` has what they return.
"""
