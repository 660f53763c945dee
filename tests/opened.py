"""Blocks that record how often they were opened."""

import numpy as np

import opendp_lite as dp


class Opened:
    """Rows of one column, or the pieces that are given."""

    def __init__(self, *pieces, columns: int | None = 1) -> None:
        self.times = 0
        self.pieces = pieces or (np.array([1.0, 2.0]), np.array([3.0]))
        self.blocks = dp.Blocks(self.open, columns=columns)

    def open(self):
        self.times += 1
        return iter(self.pieces)
