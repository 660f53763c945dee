"""A number read from a release, with how far the noise may have moved it."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen(eq=False)
class Uncertain:
    """A number, or an array of numbers, with the standard error that the noise makes in it.

    >>> print(Uncertain(38.2517, 0.0312))
    38.2517 +- 0.0312
    """

    value: Any
    standard_error: Any

    def __str__(self) -> str:
        return f"{self.value} +- {self.standard_error}"
