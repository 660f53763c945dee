"""Numbers found by counting in passes are those that sorting finds."""

from __future__ import annotations

import numpy as np
import pytest

from opendp_lite.engines.door import opened
from opendp_lite.engines.rows import LazyRows
from opendp_lite.measurements._quantile_lines import in_cells
from opendp_lite.measurements._quantile_passes import Columns, _CellsOf, _NumbersElsewhere
from opendp_lite.samplers.lattice import AsinhLattice, Lattice, LinearLattice
from opendp_lite.samplers.rank_choice import NumbersInCells

_generator = np.random.default_rng(7)
NUMBERS = {
    "none": np.empty(0),
    "one": np.array([3.0]),
    "all alike": np.full(40, 2.5),
    "few values": _generator.integers(0, 5, 60) * 1.0,
    "far apart": _generator.normal(0, 1, 50) ** 9,
    "beyond the bounds": _generator.normal(0, 1e3, 50),
}
LATTICES = [LinearLattice(0.0, 5.0, 6), LinearLattice(-9.0, 9.0), AsinhLattice(-1e6, 1e6, 1.0, 20)]


@pytest.mark.parametrize("parts", [2, 7, 2**13])
@pytest.mark.parametrize("lattice", LATTICES, ids=str)
@pytest.mark.parametrize("name", NUMBERS)
def test_passes_find_what_sorting_finds(
    name: str, lattice: Lattice, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opendp_lite.measurements._quantile_passes._PARTS", parts)
    numbers = NUMBERS[name]
    column = Columns(LazyRows(opened(np.column_stack([numbers * 0, numbers]))), "")[1]
    found, expected = in_cells(column, lattice), NumbersInCells(lattice, numbers.copy())
    assert found.size == expected.size == len(numbers)
    for first in range(0, len(numbers), 9):
        for last in {first, first + 1, (first + len(numbers)) // 2, len(numbers)}:
            assert np.array_equal(found.between(first, last), expected.between(first, last))
    asked = np.array([0, 1, 3, 3, 2, lattice.cells // 2, lattice.cells - 1, lattice.cells, -4])
    assert np.array_equal(found.before(asked), expected.before(asked))
    counted = [int((lattice.cell(numbers) < cell).sum()) for cell in asked.tolist()]
    assert found.before(asked).tolist() == counted


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
@pytest.mark.parametrize("name", NUMBERS)
def test_passes_over_some_of_the_cells_count_from_their_first(name: str, lattice: Lattice) -> None:
    """After a cut only the rows on one side of it are asked for, by places from the cut on."""
    numbers = NUMBERS[name]
    rows = LazyRows(opened(np.column_stack([numbers * 0, numbers])))
    held, end = np.sort(lattice.cell(numbers)), lattice.cells
    for low, high in ((0, end // 2), (end // 3, end), (end // 5, end // 2), (end // 2, end // 2)):
        found = _NumbersElsewhere(rows, _CellsOf(1, lattice, None, ""), low, high)
        inside = held[(held >= low) & (held < high)] - low
        assert found.size == len(inside)
        assert found.between(0, len(inside)).tolist() == inside.tolist()
        asked = np.array([0, min(1, high - low), (high - low) // 2, high - low])
        before = [int((inside < place).sum()) for place in asked.tolist()]
        assert found.before(asked).tolist() == before
