"""Deterministic steps and their stability."""
