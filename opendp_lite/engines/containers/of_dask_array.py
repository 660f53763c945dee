"""Arrays of dask, folded chunk by chunk where they are computed."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import dask.array as arrays  # type: ignore[import-not-found,import-untyped,unused-ignore]
import numpy as np
from dask.delayed import Delayed  # type: ignore[import-not-found,import-untyped,unused-ignore]

from opendp_lite.base.errors import DataError
from opendp_lite.engines.containers.elsewhere import DistributedRows
from opendp_lite.engines.containers.of_dask import DaskPartitions
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.open_data import open_rows


@attrs.frozen(eq=False, repr=False)
class _ArrayChunks(DaskPartitions):
    """An array of one or two dimensions; a chunk holds whole rows."""

    @property
    def columns(self) -> int:
        return 1 if self.collection.ndim == 1 else int(self.collection.shape[1])

    def empty(self) -> np.ndarray:
        return np.empty((0, self.columns), self.collection.dtype)

    def only(self, names: Sequence[str]) -> _ArrayChunks:
        return self

    def delay(self) -> Sequence[Delayed]:
        whole = self.collection
        if whole.ndim > 1:
            whole = whole.rechunk({1: -1})
        return list(whole.to_delayed().ravel())


@open_rows.register
def _of_array(data: arrays.Array) -> Blocks:
    if data.ndim not in (1, 2):
        raise DataError(
            f"data has {data.ndim} dimensions; rows are an array of shape (n,) or (n, columns)"
        )
    return DistributedRows.of(_ArrayChunks(data))
