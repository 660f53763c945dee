"""A release that anybody with its seed can repeat."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class InsecureRelease:
    """A reproducible release: NOT private, for tests and teaching.

    Args:
        value: The release.
        seed: The seed that repeats it.

    Example:
        >>> import opendp_lite as dp
        >>> count = dp.count() >> dp.laplace(epsilon=1)
        >>> count.insecure_release([1, 2, 3], seed=4)
        InsecureRelease(NOT PRIVATE, seed=4, value=3)
    """

    value: Any
    seed: int

    def __repr__(self) -> str:
        return f"InsecureRelease(NOT PRIVATE, seed={self.seed}, value={self.value!r})"
