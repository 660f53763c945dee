"""The arrays that samplers pass to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Numbers = NDArray[np.float64] | NDArray[np.int64]
