"""Many floats are read as each of them is."""

from __future__ import annotations

import numpy as np
import pytest

from opendp_lite.numbers.exact import rational_of_float
from opendp_lite.numbers.fraction_array import rationals_of_floats

GENERATOR = np.random.default_rng(0)
FLOATS = {
    "even": GENERATOR.random(2000),
    "normal": GENERATOR.standard_normal(2000),
    "of every size": GENERATOR.standard_normal(2000) * 2.0 ** GENERATOR.integers(-1021, 1022, 2000),
    "subnormal": GENERATOR.standard_normal(300) * 2.0 ** GENERATOR.integers(-1073, -1015, 300),
    "simple fractions": np.array([p / q for p in range(-40, 40) for q in range(1, 40)]),
    "near simple fractions": np.array(
        [np.nextafter(p / q, side) for p in range(1, 20) for q in range(1, 20) for side in (0, 99)]
    ),
    "of few digits": np.round(GENERATOR.standard_normal(2000), 15),
    "near powers of two": np.array(
        [np.nextafter(2.0**k, side) for k in range(-1022, 1023, 9) for side in (0.0, np.inf)]
    ),
    "ends": np.array([5e-324, 2.0**-1022, 1.7976931348623157e308, -0.0, 0.0, 0.1, 1 / 3, -2 / 3]),
}


@pytest.mark.parametrize("name", FLOATS)
def test_many_are_read_as_each_is(name):
    given = FLOATS[name].tolist()
    found = rationals_of_floats(given)
    assert found == [rational_of_float(each) for each in given]
    assert all(type(each.numerator) is type(each.denominator) is int for each in found)
