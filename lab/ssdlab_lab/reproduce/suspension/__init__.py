"""`ssdlab reproduce suspension`: published gains of suspended programs and erases."""

from ssdlab_lab.reproduce.suspension.outcome import Suspensions
from ssdlab_lab.reproduce.suspension.page import to_json, verdict
from ssdlab_lab.reproduce.suspension.study import suspension

__all__ = ["Suspensions", "suspension", "to_json", "verdict"]
