"""The verbs that the lab adds to the `ssdlab` command, each an entry point in pyproject.toml."""
