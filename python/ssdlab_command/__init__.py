"""How the `ssdlab` command starts.

It is outside the package, so that Ctrl-C during its imports is caught like any later one.
"""

import sys

INTERRUPTED = 130


def main() -> None:
    """Import the command line and run it."""
    try:
        from ssdlab.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
