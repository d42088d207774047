"""`ssdlab reproduce`: the evaluation of a paper, with its published numbers next to ours.

A paper is a module of `ssdlab_lab.reproduce.papers`: workloads, schemes, tables, figures and
claims. `matrix` executes the runs (none twice), `tables` compares numbers, `claims` evaluates
claims, and `page` shows the result. `studies` lists what belongs to no single paper.
"""

from ssdlab_lab.reproduce.command import reproduce
from ssdlab_lab.reproduce.papers import PAPERS
from ssdlab_lab.reproduce.result import Reproduction

__all__ = ["PAPERS", "Reproduction", "reproduce"]
