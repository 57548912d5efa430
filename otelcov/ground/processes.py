"""How processes of ours are set up, and what the machine has for them."""

from __future__ import annotations

import os

MEMORY = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:5000,muzzy_decay_ms:0,oversize_threshold:0,narenas:1"}
"""For a process that imports Polars and has one thread of it: what is freed is kept for some seconds."""

# Read when a child imports Polars and Arrow: one thread each, and memory that was freed goes back in seconds. Else what
# several allocators hold back for later, in every worker, comes to more than what is in use. Given back at once, as
# jemalloc gives back what is large, it would be asked for again, page by page: a tenth of the work.
ONE_THREAD = {
    "POLARS_MAX_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    **MEMORY,
}

FEW_PASSES = (500_000, 50, 100)
"""For the collector of garbage in a short life: what modules make stays, some 100,000 objects, and each pass over it
costs some 30 ms. So the first one comes after the modules, and after what most commands make beside them."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
