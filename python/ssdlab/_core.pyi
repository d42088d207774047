"""The compiled simulator."""

__all__ = ["__version__"]

__version__: str
