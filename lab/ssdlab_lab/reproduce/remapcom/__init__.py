"""`ssdlab reproduce remapcom`: the store on the simulated drive, with compaction that remaps.

Its runs are those of `ssdlab kv simulate`, so it is not one of the papers that compare drives under
block requests. `choices` was fixed before a scheme of the paper ran, `runs` makes what is missing,
`outcome` sets it beside the paper, `page` shows it, `command` does all of it.
"""
