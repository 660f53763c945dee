"""Orthonormal functions on an interval, whose sums over rows say how the rows are distributed."""
