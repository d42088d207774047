"""ssdlab: a laboratory for the garbage collection of SSDs."""

from ssdlab._core import __version__

__all__ = ["__version__"]
