"""Columns and frames of dask, folded partition by partition where they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import dask.dataframe as frames  # type: ignore[import-not-found,import-untyped,unused-ignore]
import pandas as pd  # type: ignore[import-untyped]
from dask.dataframe.utils import UNKNOWN_CATEGORIES  # type: ignore[import-not-found,import-untyped,unused-ignore]
from dask.delayed import Delayed  # type: ignore[import-not-found,import-untyped,unused-ignore]

from opendp_lite.engines.containers.of_dask_array import DaskPartitions
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.open_data import open_rows


@attrs.frozen(eq=False, repr=False)
class _Frames(DaskPartitions):
    """A frame, or one column of it; the partitions are those of pandas."""

    def empty(self) -> pd.Series | pd.Index | pd.DataFrame:
        """As dask describes its partitions, without the text that it lists in place of values."""
        meta = self.held._meta
        if self.held.ndim == 1:
            return _unlist(meta)
        found = meta.copy()
        for place in range(len(meta.columns)):
            found.isetitem(place, _unlist(meta.iloc[:, place]))
        return found

    def pick(self, names: Sequence[str]) -> Any:
        if self.held.ndim == 1:
            return self.held
        have = list(self.held.columns)
        asked = [name for name in have if str(name) in names]
        return self.held[asked or have[:1]]

    def delay(self) -> Sequence[Delayed]:
        return list(self.held.to_delayed())


def _unlist(column: pd.Series | pd.Index) -> pd.Series | pd.Index:
    """An empty column that lists nothing where each partition may list values of its own."""
    kind = column.dtype
    if not isinstance(kind, pd.CategoricalDtype) or UNKNOWN_CATEGORIES not in kind.categories:
        return column
    return pd.Series(dtype=pd.CategoricalDtype(pd.Index([], dtype=object)))


@open_rows.register
def _of_frame(data: frames.Series | frames.Index | frames.DataFrame) -> Blocks:
    return _Frames.of(data, 1 if data.ndim == 1 else len(data.columns))
