"""Iterates over the keys as LevelDB's own iterators do."""

from __future__ import annotations

from ssdlab._core import KvError
from ssdlab._core import KvIter as Iterator
from ssdlab.kv.closing import Closing


class IteratorInvalidError(KvError):
    """The raw iterator is not at a pair."""


class RawIterator(Closing):
    """A position at a pair or at none, as in LevelDB's own iterators.

    Several threads that use one iterator move each other's position.
    """

    def __init__(self, iterator: Iterator[tuple[bytes, bytes]]) -> None:
        self._iterator = iterator
        self._pair: tuple[bytes, bytes] | None = None

    def _forward(self) -> None:
        self._pair = next(self._iterator, None)

    def _backward(self) -> None:
        """Go to the pair before the position of the iterator, which stays behind it."""
        try:
            self._iterator.prev()
        except StopIteration:
            self._pair = None
        else:
            self._forward()

    def valid(self) -> bool:
        """Whether it is at a pair; a new one is not."""
        self._iterator.check_open()
        return self._pair is not None

    def seek_to_first(self) -> None:
        """Stand at the first pair."""
        self._iterator.seek_to_start()
        self._forward()

    def seek_to_last(self) -> None:
        """Stand at the last pair."""
        self._iterator.seek_to_stop()
        self._backward()

    def seek(self, target: bytes) -> None:
        """Go to the first pair whose key is not below `target`."""
        self._iterator.seek(target)
        self._forward()

    def next(self) -> None:
        """Go to the next pair."""
        self.item()
        self._forward()

    def prev(self) -> None:
        """Go to the pair before."""
        self.item()
        self._iterator.prev()
        self._backward()

    def item(self) -> tuple[bytes, bytes]:
        """Key and value there. Raises `IteratorInvalidError` if it is not at a pair."""
        self._iterator.check_open()
        if self._pair is None:
            raise IteratorInvalidError("the iterator stands at no pair")
        return self._pair

    def key(self) -> bytes:
        """The key there."""
        return self.item()[0]

    def value(self) -> bytes:
        """The value there."""
        return self.item()[1]

    def close(self) -> None:
        """Release the state that it shows."""
        self._pair = None
        self._iterator.close()
