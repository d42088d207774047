"""`ssdlab reproduce separations`: write amplification of every separation policy."""

from ssdlab_lab.reproduce.separations.outcome import Separations
from ssdlab_lab.reproduce.separations.page import to_json, verdict
from ssdlab_lab.reproduce.separations.study import separations

__all__ = ["Separations", "separations", "to_json", "verdict"]
