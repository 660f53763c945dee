"""The experiments with their settings, as published or deduced."""

from __future__ import annotations

from typing import Final

import attrs

from opendp_lite.reproduce.free_lunch.noise_laws import GAUSSIAN, LAPLACE, NoiseLaw

RUNS: Final = 10_000
"""How often the paper released each estimate."""
MOST_RUNS: Final = 1_000_000
"""The most releases that fit into memory."""
LEAST_LOSS, MOST_LOSS = 1e-3, 1e3
"""Below this loss an estimate of 100 rows is only noise; above the next it has almost none."""
ROWS: Final = 100
LAWS: Final = (LAPLACE, GAUSSIAN)


@attrs.frozen
class FreeLunchDataset:
    """One of the three datasets, of ``ROWS`` rows.

    The paper gives no bounds and no means: these are the ones with which its numbers agree.
    """

    name: str
    title: str
    lower: float
    upper: float
    mean: float

    @property
    def width(self) -> float:
        """The distance between the bounds."""
        return self.upper - self.lower

    @property
    def half(self) -> float:
        """Half the width."""
        return self.width / 2

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        return (self.lower + self.upper) / 2

    @property
    def reach(self) -> float:
        """The largest absolute value."""
        return max(abs(self.lower), abs(self.upper))

    @property
    def offset(self) -> float:
        """The distance of the mean from the middle."""
        return abs(self.mean - self.middle)


LOG_NORMAL: Final = FreeLunchDataset("LogNormal", "LogNormal, clamped to ±6.43", -6.43, 6.43, 1.65)
NORMAL: Final = FreeLunchDataset("Normal", "Normal, clamped to ±5", -5.0, 5.0, 0.0)
UNIFORM: Final = FreeLunchDataset("Uniform", "Uniform, in [0, 100]", 0.0, 100.0, 50.0)


@attrs.frozen
class FreeLunchExperiment:
    """One command: every estimator under every noise on every dataset."""

    name: str
    title: str
    datasets: tuple[FreeLunchDataset, ...]
    laws: tuple[NoiseLaw, ...]
    quick_runs: int = 1000


_ALL: Final = ((LOG_NORMAL, NORMAL, UNIFORM), LAWS)

EXPERIMENTS: Final = {
    each.name: each
    for each in (
        FreeLunchExperiment("table1", "Free Lunch, table 1: errors of means of 100 rows", *_ALL),
        FreeLunchExperiment(
            "figure2",
            "Free Lunch, figure 2: means of 100 uniform rows, Gaussian noise",
            (UNIFORM,),
            (GAUSSIAN,),
        ),
        FreeLunchExperiment(
            "figure3", "Free Lunch, figure 3: estimates and tails of their errors", *_ALL
        ),
    )
}
"""By the name on the command line."""
