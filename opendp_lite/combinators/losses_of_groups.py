"""The loss of independent releases of groups, one for each: parallel composition."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Final

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.accounts import some_sizes
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.spaces.maps import PrivacyMap

# Groups, and pieces of rows, of which all ways to part them are looked at.
_MOST_SPLIT: Final = 16
# Sizes are all up to here, and then each a twentieth above the last.
_FINE: Final = 20
_A_TENTH: Final = (Fraction(1), Fraction(9))


@attrs.frozen(eq=False)
class LossOfGroups:
    """The loss of independent releases of groups, by how many rows come or go in all of them."""

    measure: AnyMeasure
    privacy_map: PrivacyMap
    groups: int

    def of(self, changes: int) -> object:
        """The largest over all ways to part the rows among the groups, or a bound on it.

        It is the loss of all rows in one group where no way loses more: see ``_in_one``.
        """
        found = self._in_one(changes)
        return self._in_parts(changes) if found is None else found

    def _in_one(self, changes: int) -> object | None:
        """A loss for all ways that is near that of all rows in one group; None where none is.

        It is a tenth above it at most. Of up to 16 rows ``_in_parts`` looks at all ways.

        Proof:
            Each j rows of a group lose at most their share, j / ``changes``, of some loss, which
            is then one for all groups. Rows between two sizes lose at most what the larger size
            does, and have more than the smaller one's share.
        """
        measure, whole, one = self.measure, self._alone(changes), self._alone(1)
        if changes == 1:
            return whole
        more = measure.compose([whole, measure.split(whole, _A_TENTH)[0]])
        spread: object = measure.spread(one, whole, changes)
        if spread is not None and measure.within(spread, more):
            return spread
        if changes <= _MOST_SPLIT:
            return None
        by_rows: object = measure.group(one, changes)
        if measure.within(by_rows, whole):
            return by_rows
        found, before = without_curve(whole), 0
        for size in some_sizes(changes, _FINE):
            covered = measure.cover(found, self._alone(size), Fraction(before + 1, changes))
            if covered is None or not measure.within(covered, more):
                return None
            found, before = covered, size
        return found

    def _in_parts(self, changes: int) -> object:
        """The largest over all ways to part the rows, one by one, or a bound on it.

        Up to 16 rows it is the largest. Of more, the rows of each of the 16 groups that change most
        are rounded up to whole pieces. The group that changes n-th most has at most 1/n of them.
        """
        groups = min(self.groups, changes)
        few = min(groups, _MOST_SPLIT)
        width = max(1, -(-changes // _MOST_SPLIT))
        # Rounding adds at most width - 1 rows to each group.
        pieces = range(1, (changes + few * (width - 1)) // width + 1)
        alone = cache(self._alone)

        def of_group(rank: int) -> list[object]:
            most = [min(piece * width, changes // rank) for piece in pieces]
            return [self.measure.zero(), *map(alone, most)]

        worst = of_group(1)
        for here in map(of_group, range(2, few + 1)):
            worst = [worst[0], *(self._part(here, worst, piece) for piece in pieces)]
        if width == 1:
            return worst[-1]
        # n is rounded down to a power of two, which leaves few losses to compute: one with a delta
        # may take 50 ms.
        ranks = range(few + 1, groups + 1)
        others = [alone(changes >> (rank.bit_length() - 1)) for rank in ranks]
        by_groups = self.measure.compose([worst[-1], *others])
        by_rows = self.measure.group(self.of(1), changes)
        # Of two pairs neither may be within the other. By groups then has the smaller delta, and an
        # epsilon that is near the truth unless there are many groups.
        within = self.measure.within
        if within(by_groups, by_rows) or not (others or within(by_rows, by_groups)):
            return self.measure.worst([by_groups])
        return by_rows if self._promises(by_rows) else self.measure.worst([by_groups])

    def _promises(self, loss: object) -> bool:
        """Whether not every release has this loss, as at a delta of 1."""
        try:
            self.measure.require_promise(loss)
        except ParameterError:
            return False
        return True

    def _alone(self, rows: int) -> object:
        """The loss if so many rows come or go in one group."""
        return self.privacy_map(Fraction(rows))

    def _part(self, alone: Sequence[object], others: Sequence[object], rows: int) -> object:
        """The worst of giving some rows to one more group and the rest to the groups before."""
        ways = [self.measure.compose([alone[here], others[rows - here]]) for here in range(1, rows)]
        return self.measure.worst([alone[rows], others[rows], *ways])
