"""A connection to a scheduler, which is restored when it is lost."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from functools import cached_property

from distributed import Client
from distributed.security import Security

from ssdlab.display.argument import argument
from ssdlab.errors import ClusterError, ConfigError
from ssdlab.running.cluster.sender import Sender
from ssdlab.running.cluster.workers import Workers

# Changes of the connection are reported here.
logging.getLogger("distributed.client").setLevel(logging.CRITICAL)

CONNECT_S = 10
RECONNECT_S = 60


class Connection:
    """The connection over which runs are sent. Raises `ConfigError` if nobody answers.

    `direct`: whether this process reaches the workers themselves, not only the scheduler.
    """

    def __init__(self, address: str, direct: bool = False) -> None:
        self.address = address
        self.direct = direct
        _check_certificates(address)
        try:
            self._connect(CONNECT_S)
        except (OSError, ValueError, TypeError) as error:
            message = (
                f"{argument(on=address)}: no scheduler answered within {CONNECT_S} s"
                f" ({_cause(error)}): is it running (dask scheduler), and is the address the one"
                " that it prints?"
            )
            raise ConfigError([message]) from None
        if self.workers.refused and not self.workers.able:
            self.close()
            lines = [
                f"{argument(on=address)}: none of its workers has ssdlab {self.workers.version}:"
            ]
            lines += [
                f"worker {worker} {reason}" for worker, reason in self.workers.refused.items()
            ]
            raise ConfigError([" ".join([lines[0], "; ".join(lines[1:])])])
        self.workers.tell()

    def _connect(self, within_s: float) -> None:
        self.client = Client(
            self.address,
            timeout=within_s,
            set_as_default=False,
            direct_to_workers=self.direct,
        )
        try:
            self.workers = Workers(self.client)
            self.sender = Sender(self.client)
        except BaseException:
            self._close_client()
            raise

    @property
    def is_lost(self) -> bool:
        """Whether the scheduler has gone."""
        return bool(self.client.status != "running")

    @cached_property
    def dashboard(self) -> str | None:
        """The address of its dashboard, if it has one."""
        with suppress(Exception):
            import bokeh  # noqa: F401 - without it there is no dashboard

            return str(self.client.dashboard_link)
        return None

    def reconnect(self, stop: threading.Event) -> None:
        """Reconnect, unless `stop` is set. Raises `ClusterError` after `RECONNECT_S`."""
        files = self.sender.files
        self.close()
        deadline = time.monotonic() + RECONNECT_S
        while not stop.is_set():
            try:
                self._connect(max(0.5, min(CONNECT_S, deadline - time.monotonic())))
            except (OSError, ValueError) as error:
                if time.monotonic() < deadline:
                    time.sleep(0.5)
                    continue
                message = (
                    f"{self.address}: the scheduler has gone and did not come back within"
                    f" {RECONNECT_S} s ({_cause(error)}); what is done is kept"
                )
                raise ClusterError(message) from None
            self.sender.files = files
            return

    def close(self) -> None:
        """Leave the cluster as it is."""
        self.workers.close()
        self.sender.close()
        self._close_client()

    def _close_client(self) -> None:
        with suppress(Exception):
            self.client.close(timeout=2)


def _check_certificates(address: str) -> None:
    is_encrypted = address.startswith("tls://")
    if is_encrypted and not Security().get_connection_args("client").get("ssl_context"):
        message = (
            f"{argument(on=address)}: the configuration of Dask names no certificates for TLS"
            " (distributed.comm.tls.ca-file, client.cert and client.key)"
        )
        raise ConfigError([message])


def _cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__
