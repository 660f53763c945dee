"""The tables of data that come with the package."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray


def doctor_visits() -> dict[str, NDArray[Any]]:
    """A table of real data: how often people saw a doctor in a year, and what they paid of it.

    The RAND Health Insurance Experiment gave families in the United States health plans at random
    (1974 to 1982). Each of the 20 190 rows is one person in one year. A person has up to five rows,
    and no column tells people apart. The order of the rows means nothing. The data are public.

    Returns:
        The columns by name, for a pipeline or for ``pandas.DataFrame``:

        - ``visits``: how often the person saw a doctor, from 0 to 77.
        - ``health``: what the person says of it: "excellent", "good", "fair" or "poor".
        - ``coinsurance``: what the plan left the person to pay, in percent: 0, 25, 50, 95 or 100.

    Example:
        >>> import opendp_lite as dp
        >>> table = dp.data.doctor_visits()
        >>> list(table), len(table["visits"])
        (['visits', 'health', 'coinsurance'], 20190)
        >>> mean = dp.select("visits") >> dp.mean(0, 40, epsilon=1)
        >>> 2.7 < float(mean(table)) < 3
        True
    """
    # Each different row once, and how many there are of it: this takes a hundredth of the space.
    text = files("opendp_lite.data").joinpath("doctor_visits.csv").read_text("utf-8")
    visits, health, coinsurance, rows = zip(*map(_split, text.split()[1:]), strict=True)
    # A sorted table would surprise whoever looks at its first rows.
    order = np.random.default_rng(0).permutation(sum(map(int, rows)))
    counts = np.array(rows, dtype=int)
    return {
        "visits": np.array(visits, dtype=int).repeat(counts)[order],
        "health": np.array(health).repeat(counts)[order],
        "coinsurance": np.array(coinsurance, dtype=int).repeat(counts)[order],
    }


def _split(line: str) -> list[str]:
    return line.split(",")
