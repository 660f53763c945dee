"""Many draws of each noise against the exact probabilities of its law: a chi-square of its own."""

from argparse import Namespace
from collections.abc import Iterator
from fractions import Fraction
from math import sqrt

import numpy as np
from compare import Row, power

from opendp_lite.samplers.entropy import SecureEntropy
from opendp_lite.samplers.law import Law, Offsets
from opendp_lite.samplers.rounded_laws import DiscreteLaplace, RoundedGaussian, RoundedLaplace

DRAWS = 100_000_000
RUN = 1_000_000
MOST_CELLS = 2000
LEAST_EXPECTED = 100
SIGMAS = 6
VALUE = Fraction(1, 3)
SCALES = (Fraction(5, 2), Fraction(1000), Fraction(2**16 + 1))


def rows(options: Namespace) -> Iterator[Row]:
    """How many deviations of its own the statistic lies from its mean."""
    for kind in (RoundedGaussian, RoundedLaplace, DiscreteLaplace):
        for scale in SCALES:
            law = kind(scale, 0)
            value = Fraction(0) if law.on_grid_only else VALUE
            off, cells = statistic(law, value)
            name = f"{law.kind}, scale {float(scale):g}, {power(DRAWS)} draws"
            texts = f"{off:.2f} deviations", "its law", f"{cells} cells", "", f"within {SIGMAS}"
            yield Row(name, *texts, abs(off) < SIGMAS)


def statistic(law: Law, value: Fraction) -> tuple[float, int]:
    """Chi-square less its mean, in its deviations, and the number of cells."""
    reach = int(law.scale * 30) + 2
    width = max(1, 2 * reach // MOST_CELLS)
    starts = np.arange(-reach, reach + 1, width)
    points = starts[:, None] + np.arange(width)
    mass = np.exp(law.log_probability(points.ravel().astype(float), value))
    expected = mass.reshape(points.shape).sum(axis=1) * DRAWS
    counts = np.zeros(len(starts), dtype=np.int64)
    offsets = Offsets(np.full(RUN, float(value)), lambda position: value)
    entropy = SecureEntropy()
    for _ in range(DRAWS // RUN):
        places = (law.draw(RUN, offsets, entropy) - starts[0]) // width
        counts += np.bincount(places.clip(0, len(starts) - 1), minlength=len(starts))
    kept = expected >= LEAST_EXPECTED
    wanted = np.append(expected[kept], DRAWS - expected[kept].sum())
    found = np.append(counts[kept], DRAWS - counts[kept].sum())
    if wanted[-1] < LEAST_EXPECTED:
        wanted, found = wanted[:-1], found[:-1]
    degrees = len(wanted) - 1
    square = ((found - wanted) ** 2 / wanted).sum()
    return float((square - degrees) / sqrt(2 * degrees)), len(wanted)
