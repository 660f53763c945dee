"""The verb by which a source may run the folds elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import singledispatch
from typing import Any, Final

from opendp_lite.engines.source import Source

Job = Callable[[Source], Any]
Merge = Callable[[Any, Any], Any]
_PROCESSORS: Final = min(4, os.cpu_count() or 1)


@singledispatch
def reduced(source: Source, job: Job, merge: Merge) -> Any:
    """The summary of all rows of a source. Register a type of source to fold its parts elsewhere.

    Args:
        source: Rows; here they are folded by threads, a part each.
        job: Gives the summary of a source, which may be a part of the rows. It can be pickled
            where the steps can.
        merge: Makes one summary of two, exactly, so that neither order nor parting matters.

    Returns:
        The summary.
    """
    first, *others = source.parts(_PROCESSORS)
    if not others:
        return job(first)
    with ThreadPoolExecutor(len(others)) as pool:
        running = [pool.submit(job, other) for other in others]
        found = job(first)
        for each in running:
            found = merge(found, each.result())
    return found
