"""What other libraries still do of what docs/museum.md shows: ``python tests/museum_peers.py``.

It needs diffprivlib and nothing of this project, so it runs where that is installed.
"""

import warnings
from collections.abc import Callable
from importlib.metadata import version
from types import ModuleType

import numpy as np


def releases_a_square_as_it_is(peer: ModuleType) -> bool:
    """The square of a feature in (0, 100) has a sensitivity of 0, so it gets no noise."""
    rows, bounds = np.full((9, 1), 7.0), (([0.0], [100.0]), ([0.0], [1.0]))
    make = peer.models.linear_regression._construct_regression_obj
    _, (_, _, squares) = make(rows, np.zeros(9), *bounds, 1.0, 0.0, None)
    return bool(squares[0, 0] == 9 * 49)


def fails_by_data(peer: ModuleType) -> bool:
    """A quantile of many equal rows raises."""
    rows = np.concatenate([np.full(80_000, 65_000), np.arange(0, 500_000, 25)])
    try:
        peer.tools.quantile(rows, 0.5, epsilon=0.5, bounds=(0, 500_000))
    except RuntimeError:
        return True
    return False


def reads_bounds(peer: ModuleType) -> bool:
    """A mean without bounds takes them from the rows, and warns."""
    rows = [1e9, 2e9, 3e9]
    return bool(peer.tools.mean(rows, epsilon=1e6) > 1e8)


def tells_values_by_their_bits(peer: ModuleType) -> bool:
    """A release of 0 has bits below 2^-52 far more often than a release of 1."""
    noise = peer.mechanisms.Laplace(epsilon=1, sensitivity=1, random_state=1)

    def fine(value: float) -> float:
        found = np.array([noise.randomise(value) for _ in range(1000)]) * 2.0**52
        return float(np.mean(found != np.rint(found)))

    return fine(0.0) > 2 * fine(1.0)


IBM = "IBM/differential-privacy-library"
DIFFPRIVLIB: dict[str, Callable[[ModuleType], bool]] = {
    f"{IBM}#105": releases_a_square_as_it_is,
    f"{IBM}#107": fails_by_data,
    f"{IBM}#20": reads_bounds,
    f"{IBM}#94": tells_values_by_their_bits,
}


if __name__ == "__main__":
    import diffprivlib
    import diffprivlib.models.linear_regression

    warnings.simplefilter("ignore")
    for name, shows in DIFFPRIVLIB.items():
        state = "still there" if shows(diffprivlib) else "corrected"
        print(f"{name:42} diffprivlib {version('diffprivlib')}: {state}")
