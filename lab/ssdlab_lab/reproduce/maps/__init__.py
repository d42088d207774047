"""`ssdlab reproduce maps`: where the proposals of the papers help, and where they do not."""

from ssdlab_lab.reproduce.maps.outcome import Maps
from ssdlab_lab.reproduce.maps.page import to_json, verdict
from ssdlab_lab.reproduce.maps.study import maps

__all__ = ["Maps", "maps", "to_json", "verdict"]
