"""How the `ssdlab` command starts.

It lies outside of the package, so that Ctrl-C during its imports is caught as any later one is.
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
