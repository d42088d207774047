"""A Jupyter kernel that runs cells, for tests; it leaves nothing outside of its folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

from running import HANG_S

Message = dict[str, Any]
HOMES = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")


@dataclass
class Kernel:
    """A running kernel."""

    manager: KernelManager
    client: Any

    def run(self, code: str, callback: Callable[[Message], object] | None = None) -> list[Message]:
        """What the cell `code` publishes; `callback` sees every message when it comes."""
        messages: list[Message] = []

        def hook(message: Message) -> None:
            messages.append(message)
            if callback:
                callback(message)

        self.client.execute_interactive(code, output_hook=hook, timeout=HANG_S)
        return messages


@contextmanager
def started(home: Path, folder: Path) -> Iterator[Kernel]:
    """A kernel in `folder`, stopped when the context ends; `home` holds its own files."""
    manager = KernelManager(kernel_name="python3", transport="ipc", ip=str(home / "socket"))
    manager.start_kernel(cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=HANG_S)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
