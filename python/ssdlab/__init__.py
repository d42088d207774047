"""ssdlab: a laboratory for SSD garbage collection.

    import ssdlab
    report = ssdlab.run("greedy-8ch", set={"gc.victim": "fifo"})
    report.waf.total, report.latency.write.p99

Unless stated otherwise, times are integer nanoseconds and sizes are bytes.
"""

import sys
from importlib import import_module
from importlib.util import find_spec

import lazy_loader

from ssdlab import html, results, versions

_import_public, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__results_version__", "__version__"]
del results  # This attribute is the public function; the package of that name is importable.

__version__ = versions.check_version()
__results_version__ = versions.RESULTS
html.draw_results()


def __getattr__(name: str) -> object:
    """Import a public name, which __init__.pyi declares, or a module when it is first used."""
    if name in __all__:
        return _import_public(name)
    if not name.startswith("__") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    """Names that are imported, and those that will be."""
    return sorted({*globals(), *__all__})
