"""`python -m ssdlab`."""

from ssdlab.cli import main

main()
