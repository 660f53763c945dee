"""What an audit raises when it finds a loss above the claim."""

from __future__ import annotations

from typing import Any


class Refuted(AssertionError):  # noqa: N818
    """A pipeline loses more than it claims.

    Args:
        message: What was found.
        audit: The ``Audit`` with the numbers, to print or to draw.
    """

    def __init__(self, message: str, audit: Any) -> None:
        super().__init__(message)
        self.audit = audit
