"""Frames and columns of Modin, some rows at a time as those of pandas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import modin.pandas as frames  # type: ignore[import-not-found,import-untyped,unused-ignore]
import pandas as pd  # type: ignore[import-untyped]

from opendp_lite.engines.columns import ColumnBlocks, StoredPart
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.open_data import open_rows


@attrs.frozen(eq=False, repr=False)
class _ModinFrame(StoredPart):
    """A frame, whose parts may lie in other processes."""

    frame: frames.DataFrame

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.frame.columns))

    def empty(self) -> pd.DataFrame:
        return self.frame.iloc[:0].modin.to_pandas()

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pd.DataFrame]:
        places = [place for place, name in enumerate(self.names) if name in names]
        picked = self.frame.iloc[:, places or [0]]
        for start in range(0, len(picked), rows):
            yield picked.iloc[start : start + rows].modin.to_pandas()


@open_rows.register
def _of_frame(data: frames.DataFrame | frames.Series) -> Blocks:
    return ColumnBlocks.of([_ModinFrame(data if data.ndim > 1 else data.to_frame())])
