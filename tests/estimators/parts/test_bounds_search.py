"""Which cells of noisy counts are taken to hold rows."""

import numpy as np
import pytest

from opendp_lite.estimators.parts.bounds_search import last_seen


@pytest.mark.parametrize(
    ("cells", "doubts", "beside", "known", "last"),
    [
        ([9, 0, 0, 0, 9, 0], {1: 8}, 10, -1, 4),
        # Both cells together stand out, and the fuller of them is taken.
        ([0, 4, 5, 0, 0], {1: 8, 2: 8}, 10, -1, 2),
        ([0, 5, 4, 0, 0], {1: 8, 2: 8}, 10, -1, 1),
        # A cell beside one that holds rows needs less, and so does the next.
        ([0, 9, 3, 3, 1, 3], {1: 8}, 2, -1, 3),
        ([0, 0, 0, 0, 0], {1: 8}, 2, 3, 3),
        ([0, 0, 0, 0, 0], {1: 8}, 2, -1, -1),
        ([3, 3, 0, 0, 0], {1: 8}, 2, -1, -1),
    ],
)
def test_the_last_cell_that_shows_rows(cells, doubts, beside, known, last):
    assert last_seen(np.array(cells, float), doubts, beside, known) == last
