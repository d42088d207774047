"""Walks through a range of keys."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from ssdlab._core import KvError
from ssdlab.kv.closing import Closing

if TYPE_CHECKING:
    from typing_extensions import Self

    from ssdlab import _core


class Iterator(Closing):
    """A place between the pairs of a range: `next` gives the pair behind it, `prev` that before.

    It shows the store as it was when the iterator was made. With `reverse`, `next` and `prev`
    change places. Of a pair, it gives what was asked for: key and value, or one of them. Keys are
    shown without what all of them begin with in a `PrefixedDB`, and sought so.
    """

    def __init__(
        self,
        raw: _core.KvIter,
        bounds: tuple[bytes | None, bytes | None],
        *,
        reverse: bool,
        include_key: bool,
        include_value: bool,
        under: bytes,
    ) -> None:
        self._raw: _core.KvIter | None = raw
        self._under = under
        self._first, self._end = bounds
        self._reverse = reverse
        self._parts = (include_key, include_value)
        # One thread at a time: a step may be two of the engine.
        self._turn = threading.RLock()
        self.seek_to_stop() if reverse else self.seek_to_start()

    def _open(self) -> _core.KvIter:
        if self._raw is None:
            raise KvError("the iterator is closed")
        return self._raw

    def _shown(self, pair: tuple[bytes, bytes]) -> tuple[bytes, bytes] | bytes | None:
        with_key, with_value = self._parts
        if with_key and self._under:
            pair = (pair[0][len(self._under) :], pair[1])
        if with_key and with_value:
            return pair
        if with_key:
            return pair[0]
        return pair[1] if with_value else None

    def _forward(self) -> tuple[bytes, bytes]:
        pair = self._open().forward()
        if pair is not None and self._end is not None and pair[0] >= self._end:
            self._open().backward()
            pair = None
        if pair is None:
            raise StopIteration
        return pair

    def _backward(self) -> tuple[bytes, bytes]:
        pair = self._open().backward()
        if pair is not None and self._first is not None and pair[0] < self._first:
            self._open().forward()
            pair = None
        if pair is None:
            raise StopIteration
        return pair

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[bytes, bytes] | bytes | None:
        with self._turn:
            return self._shown(self._backward() if self._reverse else self._forward())

    def prev(self) -> tuple[bytes, bytes] | bytes | None:
        """Go back: what the last `next` gave. Raises `StopIteration` at the begin."""
        with self._turn:
            return self._shown(self._forward() if self._reverse else self._backward())

    def seek_to_start(self) -> None:
        """Go before the first pair of the range."""
        with self._turn:
            self._open().seek(self._first)

    def seek_to_stop(self) -> None:
        """Go behind the last pair of the range."""
        with self._turn:
            if self._end is None:
                self._open().seek_to_end()
            else:
                self._open().seek(self._end)

    def seek(self, target: bytes) -> None:
        """Go before the first pair whose key is not below `target`, but not out of the range."""
        target = self._under + target
        if self._first is not None and target < self._first:
            self.seek_to_start()
        elif self._end is not None and target >= self._end:
            self.seek_to_stop()
        else:
            with self._turn:
                self._open().seek(target)

    def close(self) -> None:
        """Let go of the state that it shows."""
        self._raw = None


class RawIterator(Closing):
    """A place at a pair or at none, as LevelDB's own iterators have it.

    Several threads that move one move each other's place.
    """

    def __init__(self, walk: Iterator) -> None:
        self._walk = walk
        self._pair: tuple[bytes, bytes] | None = None

    def _forward(self) -> None:
        self._pair = cast("tuple[bytes, bytes] | None", next(self._walk, None))

    def _backward(self) -> None:
        """Stand at the pair before the place of the walk, which stays behind it."""
        try:
            self._walk.prev()
        except StopIteration:
            self._pair = None
        else:
            self._forward()

    def valid(self) -> bool:
        """Whether it stands at a pair; a new one does not."""
        return self._pair is not None

    def seek_to_first(self) -> None:
        """Stand at the first pair."""
        self._walk.seek_to_start()
        self._forward()

    def seek_to_last(self) -> None:
        """Stand at the last pair."""
        self._walk.seek_to_stop()
        self._backward()

    def seek(self, target: bytes) -> None:
        """Stand at the first pair whose key is not below `target`."""
        self._walk.seek(target)
        self._forward()

    def next(self) -> None:
        """Go to the next pair."""
        self.item()
        self._forward()

    def prev(self) -> None:
        """Go to the pair before."""
        self.item()
        self._walk.prev()
        self._backward()

    def item(self) -> tuple[bytes, bytes]:
        """Key and value there. Raises `Error` if it stands at no pair."""
        if self._pair is None:
            raise KvError("the iterator stands at no pair")
        return self._pair

    def key(self) -> bytes:
        """The key there."""
        return self.item()[0]

    def value(self) -> bytes:
        """The value there."""
        return self.item()[1]

    def close(self) -> None:
        """Let go of the state that it shows."""
        self._pair = None
        self._walk.close()


def _behind(prefix: bytes) -> bytes | None:
    """The first key behind all that begin with `prefix`; None if there is none."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else None


def bounds(
    start: bytes | None,
    stop: bytes | None,
    *,
    include_start: bool,
    include_stop: bool,
    prefix: bytes | None,
    under: bytes,
) -> tuple[bytes | None, bytes | None]:
    """The first key of a range and the first one behind it; None where there is no bound.

    The range is one of keys that begin with `under`, which is not part of what was said.
    """
    if prefix is not None:
        if start is not None or stop is not None:
            raise TypeError("a range has a prefix, or a start and a stop, not both")
        return under + prefix, _behind(under + prefix)
    first, end = under or None, _behind(under)
    if start is not None:
        first = under + start + (b"" if include_start else b"\0")
    if stop is not None:
        end = under + stop + (b"\0" if include_stop else b"")
    return first, end
