"""What a command has to tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs


@attrs.frozen
class Told:
    """The text of a result, and what writes its files, by the flags that name them."""

    text: str
    writes: Mapping[str, Callable[[], None]] = attrs.Factory(dict)
