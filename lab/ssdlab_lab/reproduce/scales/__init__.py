"""`ssdlab drives scale`: predictions of `ssdlab try` for drives compared with full-size runs."""
