"""Means of one column."""
