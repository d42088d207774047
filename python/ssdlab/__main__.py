"""`python -m ssdlab`."""

from ssdlab_command import main

main()
