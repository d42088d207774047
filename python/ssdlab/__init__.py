"""ssdlab: a laboratory for SSD garbage collection.

    import ssdlab
    report = ssdlab.run("greedy-8ch", set={"gc.victim": "fifo"})
    report.waf.total, report.latency.write.p99

Unless stated otherwise, times are integer nanoseconds and sizes are bytes.
"""

import lazy_loader

from ssdlab import html, results, versions

# Public names, which __init__.pyi declares, are imported when they are first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__results_version__", "__version__"]
del results  # This attribute is the public function; the package of that name is importable.

__version__ = versions.checked()
__results_version__ = versions.RESULTS
html.draw_results()
