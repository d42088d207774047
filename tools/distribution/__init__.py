"""What `make dist` does: the files of a release, and the checks that they pass."""
