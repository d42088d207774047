"""The ledger accepts what a drive may hold after a kill, and refuses everything else."""

import pytest

from ledger import UNIT, Ledger, digests

PAGE = 4 * UNIT
OLD, NEW = b"o" * UNIT, b"n" * UNIT


def volatile() -> Ledger:
    """The ledger of a drive with a volatile buffer."""
    return Ledger(PAGE, is_volatile=True)


def write(
    ledger: Ledger, data: bytes, *, line: int = 1, offset: int = 0, fua: bool = False
) -> None:
    """A write that is answered."""
    ledger.end(ledger.begin(line, offset, digests(data)), is_durable=fua)


def is_refused(ledger: Ledger, data: bytes) -> bool:
    """Whether the drive may not hold these data."""
    try:
        ledger.check(0, data)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("fua", [False, True])
def test_what_was_not_promised_may_be_lost(fua: bool) -> None:
    for data, refused in [(bytes(UNIT), fua), (OLD, fua), (NEW, False), (b"x" * UNIT, True)]:
        ledger = volatile()
        write(ledger, OLD)
        write(ledger, NEW, fua=fua)
        assert is_refused(ledger, data) == refused
    # Once the drive was looked at, it can hold nothing else.
    ledger = volatile()
    write(ledger, OLD)
    write(ledger, NEW)
    ledger.check(0, NEW)
    assert is_refused(ledger, OLD)


def test_without_a_volatile_buffer_every_answer_is_a_promise() -> None:
    ledger = Ledger(PAGE, is_volatile=False)
    write(ledger, OLD)
    ledger.begin(1, 0, digests(NEW))
    assert is_refused(ledger, bytes(UNIT))
    assert not is_refused(ledger, OLD)


def test_a_flush_covers_what_was_answered_before_it_was_sent() -> None:
    ledger = volatile()
    write(ledger, OLD)
    late = ledger.begin(2, UNIT, digests(OLD))
    begun = ledger.tick()
    ledger.end(late, is_durable=False)
    ledger.end_flush(begun)
    assert is_refused(ledger, bytes(2 * UNIT))
    assert not is_refused(ledger, OLD + bytes(UNIT))


def test_writes_that_meet_come_in_either_order() -> None:
    for line, refused in [(1, True), (2, False)]:
        ledger = Ledger(PAGE, is_volatile=False)
        first = ledger.begin(1, 0, digests(OLD))
        second = ledger.begin(line, 0, digests(NEW))
        ledger.end(second, is_durable=False)
        ledger.end(first, is_durable=False)
        # One client's requests keep their order.
        assert is_refused(ledger, OLD) == refused


def test_a_trim_is_kept_and_takes_whole_pages() -> None:
    ledger = volatile()
    write(ledger, OLD * 8, fua=True)
    ledger.end(ledger.begin_trim(1, UNIT, 7 * UNIT), is_durable=True)
    assert is_refused(ledger, OLD * 8)
    assert is_refused(ledger, OLD + bytes(7 * UNIT))
    assert not is_refused(ledger, OLD * 4 + bytes(4 * UNIT))


def test_a_page_is_kept_as_a_whole() -> None:
    torn = [(OLD + NEW, True), (NEW + OLD, True), (NEW + NEW, False), (OLD + OLD, False)]
    for data, refused in torn:
        ledger = volatile()
        write(ledger, OLD * 2, fua=True)
        write(ledger, NEW * 2)
        assert is_refused(ledger, data) == refused
    ledger = volatile()
    write(ledger, OLD, offset=0)
    write(ledger, OLD, offset=UNIT)
    # The second one was merged with the first one.
    assert is_refused(ledger, bytes(UNIT) + OLD)
    assert not is_refused(ledger, OLD + bytes(UNIT))
    ledger = volatile()
    write(ledger, OLD, offset=0)
    write(ledger, OLD, offset=PAGE)
    assert not is_refused(ledger, bytes(PAGE) + OLD)


def test_a_read_finds_the_newest_data_that_no_write_meets() -> None:
    ledger = volatile()
    write(ledger, OLD)
    write(ledger, NEW)
    begun = ledger.tick()
    ledger.check_read(begun, 0, digests(NEW))
    with pytest.raises(AssertionError, match="block 0 was read"):
        ledger.check_read(begun, 0, digests(OLD))
    under_way = ledger.begin(2, 0, digests(OLD))
    ledger.check_read(begun, 0, digests(OLD))
    ledger.end(under_way, is_durable=False)
    ledger.check_read(begun, 0, digests(NEW))
