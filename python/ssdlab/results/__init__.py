"""The results of runs and comparisons: reports, their statistics, and their folders.

`names` has the names of all files. `decoding` makes dataclasses from their JSON.
"""
