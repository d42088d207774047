"""The store of results: a folder with the reports of runs, by the digest of what they depend on.

    FOLDER/store.json                what the folder is
    FOLDER/results-VERSION/parts     rows, as Parquet
    FOLDER/results-VERSION/manifest  a file for each part: its rows, digest and keys
    FOLDER/results-VERSION/used      which rows were asked for, and when

Any number of processes may write and read at once, on any file system that renames files
atomically. No file is ever changed: it is written under another name and renamed. A part counts
when its manifest names it. See docs/results-store.md.
"""
