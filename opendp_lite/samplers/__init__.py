"""Exact noise from a cryptographic source."""
