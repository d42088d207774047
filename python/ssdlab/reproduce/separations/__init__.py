"""`ssdlab compare --separations`: write amplification of every separation policy."""

from ssdlab.reproduce.separations.outcome import Separations
from ssdlab.reproduce.separations.page import to_json, verdict
from ssdlab.reproduce.separations.study import separations

__all__ = ["Separations", "separations", "to_json", "verdict"]
