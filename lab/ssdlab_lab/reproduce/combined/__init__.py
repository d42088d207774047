"""The answers of three papers on one device, changed one at a time and together."""
