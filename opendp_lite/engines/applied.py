"""How block functions and folds meet blocks of each kind."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from opendp_lite.engines.fold import Block, Fold, Scratch


@singledispatch
def applied(block: Any, function: Block) -> Any:
    """What a block function makes of a block."""
    return function(block)


@singledispatch
def summarised(block: Any, how: Fold[Any], scratch: Scratch) -> Any:
    """What a fold makes of a block."""
    return how.summarise(block, scratch)
