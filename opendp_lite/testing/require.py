"""Assertions that also hold under ``python -O``."""

from __future__ import annotations


def require(condition: object, message: str) -> None:
    """Raises ``AssertionError`` with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)
