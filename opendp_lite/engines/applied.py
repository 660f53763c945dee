"""How block functions and folds meet blocks of each kind."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from opendp_lite.engines.fold import Block, Fold, Scratch


def applied(block: Any, function: Block) -> Any:
    """What a block function makes of a block."""
    return function(block) if type(block) is np.ndarray else applied_to(block, function)


def summarised(block: Any, how: Fold[Any], scratch: Scratch) -> Any:
    """What a fold makes of a block."""
    if type(block) is np.ndarray:
        return how.summarise(block, scratch)
    return summary_of(block, how, scratch)


@singledispatch
def applied_to(block: Any, function: Block) -> Any:
    """As ``applied``. Register a type of block that is no array."""
    return function(block)


@singledispatch
def summary_of(block: Any, how: Fold[Any], scratch: Scratch) -> Any:
    """As ``summarised``. Register a type of block that is no array."""
    return how.summarise(block, scratch)
