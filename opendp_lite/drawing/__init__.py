"""Pipelines as pictures and as tables, for notebooks and for terminals."""
