"""What runs and comparisons leave behind: reports, their statistics, the folders they are in.

`names` has the names of all files. `decoding` makes dataclasses from their JSON.
"""
