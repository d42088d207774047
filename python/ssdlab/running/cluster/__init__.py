"""Runs on a Dask cluster; imported only when one is used (extra `cluster`)."""
