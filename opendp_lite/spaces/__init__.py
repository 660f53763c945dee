"""Metrics, domains and spaces."""
