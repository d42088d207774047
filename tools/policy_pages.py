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
    asked = parser.parse_args()
    if asked.check:
        stale = pages.stale()
        for name in stale:
            sys.stderr.write(f"{name} is stale: run tools/policy_pages.py --pages\n")
        return bool(stale)
    if not asked.pages:
        runs.measure(asked.only or ())
    pages.write_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
