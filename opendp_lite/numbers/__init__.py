"""Exact rationals, the dyadic grid, and norms."""
