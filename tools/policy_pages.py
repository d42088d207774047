"""Measure every policy on one grid, and write a page for each into docs/policies.

Run it by `make policies`. `--pages` writes the pages anew from what is kept, `--check` says what is
stale.

What is measured is in `measured/grid.py`, and was decided before the runs.
"""

import argparse
import sys

from measured import pages, runs


def main() -> int:
    """Measure and write, or only one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 if a page is stale")
    parser.add_argument("--only", action="append", metavar="KEY", help="measure one question")
    options = parser.parse_args()
    if options.check:
        stale_pages = pages.stale()
        for name in stale_pages:
            sys.stderr.write(f"{name} is stale: run tools/policy_pages.py --pages\n")
        return bool(stale_pages)
    if not options.pages:
        runs.measure(options.only or ())
    pages.write_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
