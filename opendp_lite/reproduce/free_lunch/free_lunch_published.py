"""Table 1 of the paper, and which of its cells follow from the settings deduced."""

from __future__ import annotations

from typing import Final

from opendp_lite.reproduce.free_lunch.free_lunch_settings import LOG_NORMAL, NORMAL, UNIFORM
from opendp_lite.reproduce.free_lunch.noise_laws import GAUSSIAN, LAPLACE, ErrorPair

ESTIMATORS: Final = ("plug-in", "simplex", "center", "resize")

_COLUMNS: Final = tuple(
    (dataset.name, law.name)
    for dataset in (LOG_NORMAL, NORMAL, UNIFORM)
    for law in (LAPLACE, GAUSSIAN)
)
_ABSOLUTE: Final = (
    (0.3995, 0.1159, 0.2843, 0.0860, 4.6319, 1.2742),
    (0.1912, 0.0764, 0.1501, 0.0564, 1.5106, 0.5689),
    (0.4038, 0.1144, 0.2828, 0.0859, 2.9944, 0.8908),
    (0.3947, 0.1126, 0.2850, 0.0870, 4.0127, 1.1322),
)
_SQUARED: Final = (
    (0.5546, 0.1451, 0.4058, 0.1079, 6.3217, 1.5960),
    (0.2607, 0.0953, 0.2007, 0.0707, 2.0225, 0.7125),
    (0.5588, 0.1440, 0.4007, 0.1077, 4.2435, 1.1162),
    (0.5507, 0.1413, 0.4051, 0.1090, 5.6646, 1.4189),
)

TABLE_1: Final = {
    (*column, estimator): ErrorPair(absolute, squared)
    for estimator, absolutes, squares in zip(ESTIMATORS, _ABSOLUTE, _SQUARED, strict=True)
    for column, absolute, squared in zip(_COLUMNS, absolutes, squares, strict=True)
}
"""By the names of dataset, noise and estimator."""

UNEXPLAINED: Final = dict.fromkeys(
    ((NORMAL.name, estimator) for estimator in ("plug-in", "center", "resize")),
    "no bounds give all the printed rows of Normal: simplex fits ±5.00, which are used here, the "
    "other three fit ±4.80",
)
"""Why the cells of a dataset and an estimator cannot be reproduced."""

DEDUCED: Final = (
    "The paper gives neither bounds nor means nor shares of the budget. Deduced from its numbers: "
    "the bounds; the means 50 of Uniform, 0 of Normal and 1.65 of LogNormal; shares at which the "
    "noise of the sum is the width of the bounds times the noise of the count. LogNormal needs "
    "bounds about 0, or center would not be plug-in; what was deduced fits it less well than "
    "Uniform.",
    "Resize needs noise for a row's whole range. On Normal and LogNormal the printed rows have it "
    "if the shares of sum and count were swapped, as here; else they have half the noise they "
    "need. The rows it lacks are filled in with the mean, a prior belief at its best.",
)
"""What a reader of the table has to know."""
