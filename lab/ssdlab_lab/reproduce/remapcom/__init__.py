"""`ssdlab reproduce remapcom`: the store on the simulated drive, with compaction that remaps.

Its runs are those of `ssdlab kv simulate`, so it is not one of the papers that compare drives under
block requests. `choices` was fixed before a scheme of the paper ran, `runs` executes what is
missing, `outcome` compares it with the paper, `page` shows it, and `command` does all of it.
"""
