"""Runs on a Dask cluster: imported only when one is asked for (extra `cluster`)."""
