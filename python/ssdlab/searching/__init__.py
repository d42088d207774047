"""Searches over configurations: `ssdlab search`.

Route: `space` (keys and conditions), `everything` (the words of all answers), `metric` and
`constraint` (the goals) -> `design` (configurations, traces, seeds, references) -> `sampling` (the
next points: Optuna) -> `trying` (the runs of a round) -> `search` (all rounds, resumed) -> `tested`
(the result on data unseen by the search). Only `sampling` imports Optuna.
"""
