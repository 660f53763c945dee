"""Rows as they lie: arrays, tables, blocks, and how data is opened."""
