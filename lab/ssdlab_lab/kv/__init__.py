"""Benchmarks of the store of `ssdlab.kv` against LevelDB and plyvel: `ssdlab kv bench`."""
