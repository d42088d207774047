"""Searches over configurations: `ssdlab search`.

Route: `space` (keys and conditions), `everything` (the words of all answers), `metric` and
`constraint` (what is sought) -> `design` (configurations, traces, seeds, references) -> `sampling`
(what is tried next: Optuna) -> `trying` (the runs of a round) -> `search` (all rounds, resumed) ->
`tested` (the result where the search has not looked). Optuna is imported by `sampling` alone.
"""
