"""The place of each value among categories, each of which holds one key alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.columns import Codes
from opendp_lite.engines.distinct import Distinct, canonical
from opendp_lite.engines.fold import Floats


@attrs.frozen(slots=False)
class KeyedCodes(Codes):
    """As ``Codes``, and NaN for a value that is another key than its category.

    ``Distinct`` tells keys apart, as it does for ``thresholded_counts`` and for the groups of
    ``bound_contributions``. A missing value has the key None, and so has what is no key.

    Proof:
        A value stays in the place of a category only if its key is that of the category. So two
        rows in one place have one key, whatever the categories and the values are, and whichever
        values are equal to them.
    """

    def places(self, values: NDArray[Any], known: Sequence[Any] | None = None) -> Floats:
        """As ``Codes`` has it, where the key of a value is that of its category."""
        found, met = super().places(values, known), Distinct()
        which = met.places(values) if known is None else met.of_known(values, known)
        numbers = np.array([self._numbers.get(key, -1) for key in (*met.keys, None)])
        own = numbers[np.where(np.isnan(which), len(met.keys), which).astype(np.intp)]
        inside = np.flatnonzero(~np.isnan(found))
        wanted = self._of_places[found[inside].astype(np.intp)]
        kept = np.full(len(found), np.nan)
        stays = inside[own[inside] == wanted]
        kept[stays] = found[stays]
        return kept

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        """A number for each key of a category."""
        keys = dict.fromkeys(map(canonical, self.categories.values))
        return {key: number for number, key in enumerate(keys)}

    @cached_property
    def _of_places(self) -> NDArray[np.int64]:
        """The number of the key of each place."""
        keys = map(canonical, self.categories.values)
        return np.array([self._numbers[key] for key in keys], dtype=np.int64)
