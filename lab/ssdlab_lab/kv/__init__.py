"""The store of `ssdlab.kv` measured beside LevelDB and plyvel: `ssdlab kv bench`."""
