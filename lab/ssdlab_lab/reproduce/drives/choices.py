"""How named drives are compared with what was published of them.

Fixed before any predicted figure was simulated:

- A drive is listed if a published figure is left to predict after the fit. Its files
  (`presets/drives`) are a configuration (TOML), which ends with the other known facts in
  `[published]`, and its measurements (CSV), with marks on those that are fitted.
- Fit: the raw capacity of a drive is fitted on one published write amplification, that of uniform
  writes to the fullest drive, where it depends most on raw capacity. The fit is the mean field of
  greedy collection (`fit`). The time of the firmware is fitted on the median and the 99th
  percentile of one load: the middle one of the published loads below the knee, or the lower of the
  two in the middle. (First fitted at the highest of these loads, where queues within the drive
  already lengthen the tail: the 99th percentile of the PM9A3 at 20,000/s was 24 times too long. All
  published latencies were known when this was changed.) No other number is fitted. A drive without
  a published write amplification has the nominal size of its dies; one with the flash of a fitted
  drive has its raw capacity.
- Size, without time: one die with four of its planes, 1/64 of a drive of 16 dies. Blocks and their
  pages stay, so an erase unit is the same share of the drive. (Chosen because planes filled
  unevenly, the more so the fewer pages they had: with 31 pages write amplification was 1.8 % higher
  on the fitted point. Since version 4 of the results they do not.) One run at full size shows the
  difference.
- Size, timed: 1/16 of the drive by the pages of a block, with 1/16 of the erase time, so that
  erases take the share of a plane's time that they take in the drive. Dies, planes, buffer and all
  other times stay. (First run with 1/8 of the pages and whole erases, which took eight times
  their share: knees came out 2 % too low, at +10.0, +3.3 and +11.4 %.)
- Uniform and Zipf, shuffled: without time; a sequential fill of the used pages, the workload for
  four times these pages, then two times measured. The unused pages are spare.
- Zipf by rank (the hot pages side by side): the same lengths, on a fourth of that size.
- Zones: the same lengths. Of `k` active zones of 8 GiB a random one takes the next 64 KiB; a full
  one is replaced by another that is not active, at random. Zones are smaller as the drive is.
- Load: timed; from the mean field, after a fifth of the pages has been overwritten, 99 % writes and
  1 % reads of 4 KiB arrive as a Poisson process, for 4 s before the measurement and 8 s in it.
- Loads: from 40 % below the measured knee to 30 % above it, 3 % apart near it, and all measured
  loads below it. (Fixed loads from 50,000 to 130,000/s before drives of users were compared, too.)
  Where planes are always busy at a load beyond these, loads 3 % apart around that load instead:
  otherwise the simulated knee, and so the largest errors, would not be found.
- Latencies: the largest errors of median and 99th percentile at the measured loads below the knee.
- Knee: between the highest load up to which the 99th percentile of writes stays below 1 ms, and
  the next one. It lies in the middle, of the published loads as of the simulated ones.
- Sustained write: timed, 1/64 of the drive by the pages of a block, with 1/64 of the erase time;
  one thread fills the empty drive in order, in requests of 1 MiB. Volumes and times are 64 times
  those of the run. Fitted are `slc.share` to the end of the first phase, `slc.program` to its rate,
  `timing.program` to the second of three rates, and the copies in flight (`gc.window`: as few as
  are at least as fast; then `controller.ecc_time`) to the last rate. The mean rate and where
  folding begins are predicted. After a full cache a drive with three rates writes directly
  (`slc.full`), one with two rates folds at once. (All published figures were known when this was
  chosen.) The phases of a run are those into which the logarithm of its rate is cut with the least
  squares, as many as were published.
- Errors of a drive: the mean of the absolute relative errors of write amplification under uniform
  and under skewed writes (Zipf, zones), and the error of its knee. What was fitted is left out.
  Latencies
  above the knee depend on how long requests kept coming, so they are not compared.
"""

from __future__ import annotations

NAME, TITLE = "drives", "Named drives and their errors"

SMALL = {"device.channels": 1, "device.chips_per_channel": 1, "device.planes_per_chip": 4}
"""The drive without time."""
SCALE, QUICK_SCALE = 16, 32
"""Pages of a block, and the time of an erase, are divided by this."""
SETTLED = 0.2
"""Times the used pages that are overwritten before a load."""
BEFORE, MEASURED = 4, 2
"""Times the used pages that are written before the measurement, and in it."""
ZONE_BYTES, PART_BYTES = 8 << 30, 64 << 10
"""Size of a zone, at full size, and of the writes to zones."""
AROUND = (-40, -30, *range(-21, 33, 3))
"""Loads, in percent above the measured knee."""
AROUND_BUSY = range(-9, 18, 3)
"""Loads, in percent above the load at which all planes are always busy."""
READS = 0.01
SECONDS_BEFORE, SECONDS = 4, 8
FULL, FULL_WRITES = "drive:micron-7450-max-800", 0.1
"""The drive that is run at full size, from the mean field; times its pages before and measured."""
SUSTAINED_SCALE, QUICK_SUSTAINED_SCALE = 64, 256
"""Pages of a block, and the time of an erase, are divided by this."""
SUSTAINED_BYTES = 1 << 20
"""Size of the requests of a sustained write."""
SAMPLES, PARTS = 20_000, 500
"""Samples of the time series of a sustained write; equal parts of it whose rates are compared."""
SEED = 1
