"""Containers of rows: what may hold the data, and how it is gone through."""
