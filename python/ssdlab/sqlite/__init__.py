"""SQLite on a simulated drive, in simulated time: `connect` returns an apsw connection.

    import ssdlab.sqlite
    connection = ssdlab.sqlite.connect("name.db", "modern-tlc")
    connection.execute("CREATE TABLE t (a)")
    connection.drive.device.now_ns, connection.drive.device.report().waf.total

It needs apsw, the extra `sqlite`.
"""

from ssdlab.sqlite.connection import Connection, connect
from ssdlab.sqlite.drive import Drive

__all__ = ["Connection", "Drive", "connect"]
