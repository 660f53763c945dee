"""Statements: what a release protects, for readers who do not have the pipeline."""
