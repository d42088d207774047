"""Predictions of write amplification from small trials, and who wins."""

from __future__ import annotations

import pytest

import ssdlab
from ssdlab.results.prediction import Predicted, Ranking, verdict
from ssdlab.running import scale, trial_plan


def test_half_the_pages_show_what_is_left_of_the_error() -> None:
    one = Predicted((2.2, 2.2, 2.2), 2.0)
    assert one.difference == pytest.approx(0.2)
    assert one.mean == pytest.approx(2.4)
    # No spread over the seeds: the whole interval is that of the size of blocks.
    assert one.interval == pytest.approx((2.2, 2.6))
    # Student's t of three values 0.1 apart: 4.303 * 0.1 / sqrt(3), for twice their mean less one.
    spread = Predicted((2.1, 2.2, 2.3), 2.0)
    assert spread.mean == pytest.approx(2.2 + 0.2)
    assert spread.interval is not None
    assert spread.interval[1] - spread.mean == pytest.approx(0.2 + 0.24843 * 7**0.5, abs=1e-4)


def test_the_residual_widens_the_interval_and_no_ratio() -> None:
    bare, widened = (Predicted((2.2, 2.2), 2.0, residual=share) for share in (0.0, 0.05))
    assert widened.interval == pytest.approx((2.2 - 0.05 * 2.4, 2.6 + 0.05 * 2.4))
    other = Predicted((2.1, 2.1), 2.0, residual=0.05)
    assert widened.against(other) == bare.against(other)


def test_only_small_blocks_of_a_trial_have_a_residual() -> None:
    """As many pages as the drive has leave nothing to extrapolate."""
    shares = [scale.residual(pages, 24_576) for pages in (28, 341, 2047, 2048, 3530)]
    assert shares == [0.04, 0.04, 0.04, 0.0, 0.0]
    assert [scale.residual(pages, 256) for pages in (255, 256)] == [0.04, 0.0]


def test_nothing_writes_less_than_the_host() -> None:
    interval = Predicted((1.001, 1.001), 1.02).interval
    assert interval is not None
    assert interval[0] == 1.0


def test_point_and_interval_are_not_below_the_writes_of_the_host() -> None:
    """The halved trial writes so much more that the drive would write less than the host."""
    one = Predicted((1.02, 1.02), 1.38)
    assert one.difference == pytest.approx(-0.36)
    assert one.mean == 1.0
    assert one.interval == pytest.approx((1.0, 1.02))
    # It is as unreliable as it was.
    assert Ranking({"a": one}).unclear == {"a": pytest.approx(0.36)}
    other = Predicted((1.01, 1.01), 1.01)
    ratio = one.against(other)
    assert ratio is not None
    assert (ratio.low, ratio.high) == pytest.approx((1 / 1.01, 1.38 / 1.01))
    assert [*Ranking({"a": other, "b": one}).undecided] == ["b"]
    # Nothing can write less than a policy that writes no more than the host.
    least = Ranking({"a": Predicted((1.0, 1.0), 1.0), "b": one})
    assert least.undecided == {}
    assert least.best == ("a", "b")


def test_without_the_halved_trial_there_is_a_number_and_no_interval() -> None:
    trial = Predicted((2.1,), None)
    assert trial.mean == 2.1
    assert trial.interval is None
    assert trial.against(Predicted((2.0,), None)) is None
    assert not Ranking({"a": trial}).unclear


def test_a_ratio_holds_the_trial_and_its_extrapolation() -> None:
    base = Predicted((2.0, 2.0), 1.9)
    other = Predicted((1.9, 1.9), 1.84)
    ratio = other.against(base)
    assert ratio is not None
    assert ratio.ratio == pytest.approx((1.9 + 0.06) / (2.0 + 0.1))
    assert (ratio.low, ratio.high) == pytest.approx((1.96 / 2.1, 1.9 / 2.0))
    assert ratio.order == "lower"
    assert Predicted((1.9,), 1.8).against(base) is None


def test_no_order_where_half_the_pages_would_rank_the_other_way() -> None:
    base = Predicted((2.0, 2.0), 1.9)
    other = Predicted((1.99, 1.99), 1.95)
    ratio = other.against(base)
    assert ratio is not None
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < 1 < ratio.high == pytest.approx(1.95 / 1.9)


def test_blocks_of_the_drive_may_write_more_than_both_trials_show() -> None:
    aged = Predicted((2.0, 2.0), 2.0, 0.25)
    assert aged.mean == 2.0
    assert aged.interval == pytest.approx((2.0, 2.5))
    for other, order in ((2.4, "not distinguishable"), (2.6, "lower"), (1.9, "higher")):
        ratio = aged.against(Predicted((other, other), other))
        assert ratio is not None
        assert ratio.order == order
        ranked = Ranking({"other": Predicted((other, other), other), "aged": aged})
        assert ("other" in ranked.best) == (order != "lower")


def test_only_cost_benefit_without_separation_goes_beyond() -> None:
    assert scale.beyond("cost-benefit", "none") == scale.BEYOND
    for policies in (("cost-benefit", "fadac"), ("greedy", "none"), ("cost-age-times", "none")):
        assert scale.beyond(*policies) == 0


def ranking(**values: float) -> Ranking:
    """Each policy without any error."""
    return Ranking({label: Predicted((value, value), value) for label, value in values.items()})


def test_a_winner_wins_under_both_orders() -> None:
    recorded, independent = ranking(a=2.0, b=1.8, c=2.1), ranking(a=4.0, b=3.0, c=3.1)
    same = verdict({"recorded": recorded, "independent": independent})
    assert same.winners == {"recorded": ("b",), "independent": ("b",)}
    assert same.decided
    assert same.common == ("b",)
    other = verdict({"recorded": recorded, "independent": ranking(a=4.0, b=3.1, c=3.0)})
    assert other.winners == {"recorded": ("b",), "independent": ("c",)}
    assert not other.decided
    assert other.common == ()


def test_what_cannot_be_told_from_the_best_is_named_with_it() -> None:
    close = Ranking(
        {
            "a": Predicted((2.0, 2.02), 2.01),
            "b": Predicted((2.01, 2.0), 2.0),
            "c": Predicted((2.5, 2.5), 2.5),
        }
    )
    assert set(close.best) == {"a", "b"}
    both = verdict({"recorded": close, "independent": ranking(a=3.0, b=3.5, c=4.0)})
    assert both.common == ("a",)
    assert not both.decided


def test_a_large_extrapolation_is_unclear() -> None:
    found = Ranking({"a": Predicted((2.0, 2.0), 1.85), "b": Predicted((2.0, 2.0), 1.95)}).unclear
    assert list(found) == ["a"]
    assert found["a"] == pytest.approx(0.15 / 2.15)


def test_a_policy_that_loses_decides_no_verdict() -> None:
    least = Predicted((1.0, 1.0), 1.0)
    # 2.9 with an interval down to 2.5; 2.1 where it is widened once more.
    far = Predicted((2.5, 2.5), 2.1)
    assert far.interval == pytest.approx((2.5, 3.3))
    assert far.widest == pytest.approx((2.1, 3.7))
    found = Ranking({"greedy": least, "fifo": far})
    assert [*found.unclear] == ["fifo"]
    assert found.undecided == {}
    assert found.best == ("greedy",)


@pytest.mark.parametrize(("power", "contains"), [(1.0, True), (0.42, True), (0.41, False)])
@pytest.mark.parametrize("rises", [False, True])
def test_the_widest_interval_assumes_how_fast_the_error_of_small_blocks_falls(
    power: float, contains: bool, rises: bool
) -> None:
    """ADR 0026: the trial writes 0.5 more or less than the drive, which writes 3."""
    error = -0.5 if rises else 0.5
    trial, halved = 3 + error, 3 + error * 2**power
    widest = Predicted((trial, trial), halved).widest
    assert widest is not None
    assert (widest[0] <= 3 <= widest[1]) is contains
    # What decides is the lower end, which is on the safe side where blocks of the drive write more.
    assert (widest[0] <= 3) is (contains or rises)


@pytest.mark.parametrize(("other", "decides"), [(2.09, False), (2.11, True), (3.5, True)])
def test_an_unclear_policy_decides_unless_even_its_widest_interval_loses(
    other: float, decides: bool
) -> None:
    unclear = Predicted((2.5, 2.5), 2.1)
    found = Ranking({"a": Predicted((other, other), other), "b": unclear})
    assert ("b" in found.undecided) is decides
    # The interval of the winner counts to its upper end.
    aged = Predicted((1.9, 1.9), 1.9, 0.15)
    assert [*Ranking({"a": aged, "b": unclear}).undecided] == ["b"]


def test_a_clear_policy_that_writes_no_more_than_the_host_wins_whatever_the_order() -> None:
    clear, unclear = Predicted((1.0, 1.0), 1.0), Predicted((1.06, 1.06), 1.14)
    assert clear.mean == unclear.mean == 1.0
    for ranking in (Ranking({"a": clear, "b": unclear}), Ranking({"b": unclear, "a": clear})):
        assert ranking.undecided == {}
        assert ranking.best[0] == "a"
    assert Ranking({}).best == ()


def test_an_unclear_winner_decides() -> None:
    found = Ranking({"a": Predicted((2.0, 2.0), 2.2), "b": Predicted((9.0, 9.0), 9.0)})
    assert found.best == ("a",)
    assert [*found.undecided] == ["a"]
    assert Ranking({}).undecided == {}


NAMED = [name for name in ssdlab.preset_names() if name.startswith("drive:")]


@pytest.mark.parametrize("name", ["tlc-960gb", *NAMED])
def test_a_trial_has_the_blocks_and_the_effective_spare_of_the_drive(name: str) -> None:
    drive = ssdlab.load_config(name)
    device = drive.values["device"]
    # Superblocks of one block of every plane of a chip, which is a pool.
    blocks = device["blocks_per_plane"]
    user = device["user_pages"] / device["channels"] / device["chips_per_channel"]
    pages = device["planes_per_chip"] * device["pages_per_block"]
    planes = device["channels"] * device["chips_per_channel"] * device["planes_per_chip"]
    unused = drive["gc.trigger"][0]["soft"] + 1.5
    spare = (blocks - unused) / (user / pages) - 1
    for touched in (25_000, 43_210, 210_356, 5_000_000):
        for pools in (1, 2, 4):
            small = scale.functional_device(drive, touched, pools)
            size = small.keys["device.pages_per_block"]
            assert isinstance(size, int)
            assert small.pages == size
            assert small.keys["device.planes_per_chip"] == 1
            assert small.keys["alloc.erase_unit"] == "block"
            used = touched / small.pools / small.pages
            assert small.blocks == pytest.approx(blocks, rel=scale.NEAR + 0.01)
            # The spare of the trial from its own numbers: blocks are whole, so within half a block.
            found = (small.blocks - unused) / used - 1
            assert found == pytest.approx(spare, abs=0.6 / used)
            assert small.spare == pytest.approx(found)
        timed = scale.timed_device(drive, touched)
        # Too few pages for blocks, of whole word lines, on every die.
        if touched < 45 * planes * device.get("word_line", 1):
            continue
        assert timed is not None
        assert "device.channels" not in timed.keys
        assert "device.planes_per_chip" not in timed.keys
        assert timed.spare == pytest.approx(spare, abs=0.6 / timed.blocks * (1 + spare))


@pytest.mark.parametrize("policy", trial_plan.POLICIES)
def test_a_trial_has_the_effective_spare_of_the_drive_under_every_policy(policy: str) -> None:
    keys = {**scale.PRECONDITION, **trial_plan.POLICIES[policy]}
    drive = ssdlab.load_config("tlc-960gb", set=keys)
    classes = 2 if trial_plan.POLICIES[policy]["alloc.separation"] == "none" else 6
    assert scale.Pool.of(drive).unused == 4 + 1 + (classes - 1) / 2
    small = scale.functional_device(drive, 210_356)
    assert small.spare == pytest.approx(scale.Pool.of(drive).own_spare, rel=0.005)


def test_plain_blocks_of_several_planes_keep_them() -> None:
    drive = ssdlab.load_config("modern-tlc")
    planes = drive["device.planes_per_chip"]
    assert planes > 1
    small = scale.functional_device(drive, 210_356)
    assert small.keys["device.planes_per_chip"] == planes
    assert small.blocks % planes == 0
    assert small.spare == pytest.approx(scale.Pool.of(drive).own_spare, rel=0.02)


def test_a_trace_that_fills_more_than_the_largest_blocks_gets_several_pools() -> None:
    drive = ssdlab.load_config("tlc-960gb")
    small, halved = (scale.functional_device(drive, 230_000_000, pools) for pools in (1, 2))
    assert small.pools == 95
    assert halved.pools == 190
    for device in (small, halved):
        assert int(str(device.keys["device.pages_per_block"])) <= 4096
        assert device.blocks == pytest.approx(683, rel=0.06)


def test_the_timed_trial_keeps_a_share_of_the_buffer_for_rewrites() -> None:
    drive = ssdlab.load_config("tlc-960gb")
    buffer, pages = drive["host.write_buffer_pages"], 210_356
    small = scale.timed_device(drive, pages)
    assert small is not None
    size, threshold = (
        float(str(small.keys[f"host.write_buffer_{name}"])) for name in ("pages", "threshold")
    )
    share = pages / drive["device.user_pages"]
    assert size * threshold == pytest.approx(0.5 * buffer * share, rel=1e-5)
    # The room for new writes is whole.
    assert size * (1 - threshold) == pytest.approx(0.5 * buffer, abs=1)
    without = ssdlab.load_config(drive, set={"host.write_buffer_pages": 0})
    unbuffered = scale.timed_device(without, pages)
    assert unbuffered is not None
    assert not [key for key in unbuffered.keys if "buffer" in key]


def test_what_one_pool_cannot_stand_for_is_left_out() -> None:
    drive = ssdlab.load_config("tlc-960gb")
    assert scale.timed_device(drive, 1000) is None
    with pytest.raises(ssdlab.ConfigError, match="parity groups span pools"):
        scale.Pool.of(ssdlab.load_config("deferred-gc-raid"))
