"""A plugin of pytest: it tells coverage which test runs, in this process and in those it starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from coverage import Coverage

CONTEXT = "SSDLAB_TEST"


def _switch(context: str) -> None:
    os.environ[CONTEXT] = context
    running = Coverage.current()
    if running is not None:
        running.switch_context(context)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test."""
    os.environ["COVERAGE_PROCESS_START"] = os.environ["SSDLAB_COVERAGE"]
    _switch(item.nodeid)
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[None]:  # noqa: ANN401
    """What a fixture makes for several tests is used by all tests of the file."""
    is_shared = fixturedef.scope != "function"
    if is_shared:
        _switch(request.node.nodeid.split("::")[0])
    yield
    if is_shared:
        _switch(os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0])
