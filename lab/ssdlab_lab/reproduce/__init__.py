"""`ssdlab reproduce`: the evaluation of a paper, its published numbers beside ours.

A paper is a module of `ssdlab_lab.reproduce.papers`: workloads, schemes, tables, figures and
claims. `matrix` makes the runs (and makes none twice), `tables` puts numbers beside numbers,
`claims` says what holds, `page` shows it. `studies` lists what belongs to no single paper.
"""

from ssdlab_lab.reproduce.command import reproduce
from ssdlab_lab.reproduce.papers import PAPERS
from ssdlab_lab.reproduce.result import Reproduction

__all__ = ["PAPERS", "Reproduction", "reproduce"]
