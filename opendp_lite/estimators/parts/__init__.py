"""What estimators are made of; here the types that all of them speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opendp_lite.pipeline.core import Measurement, R
from opendp_lite.pipeline.steps import Mechanism
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space

if TYPE_CHECKING:
    from opendp_lite.combinators.adaptive_programs import Ask

Floats = NDArray[np.float64]
Numbers = float | Floats
"""Of one release, or of many."""
RowSpace = Space[Rows]
Measured = Measurement[RowSpace, Any, R]
"""Under a measure that the budget decides, which is known when it is asked for."""
Noisy = Mechanism[RowSpace, Any, R]
"""The same, waiting for the space."""
AnyAsk: TypeAlias = "Ask[Any]"
"""What a program with such a budget asks."""
