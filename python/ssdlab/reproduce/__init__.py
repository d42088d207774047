"""`ssdlab reproduce`: the evaluation of a paper, its published numbers beside ours.

A paper is a module of `ssdlab.reproduce.papers`: workloads, schemes, tables, figures and claims.
`matrix` makes the runs (and makes none twice), `tables` puts numbers beside numbers, `claims` says
what holds, `page` shows it.
"""

from ssdlab.reproduce.command import reproduce
from ssdlab.reproduce.papers import PAPERS
from ssdlab.reproduce.result import Reproduction

__all__ = ["PAPERS", "Reproduction", "reproduce"]
