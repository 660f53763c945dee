"""The loss of independent releases of groups, one for each: parallel composition."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Final, Generic, cast

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.accounts import some_sizes
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.measure import Loss, Measure
from opendp_lite.spaces.maps import PrivacyMap

# A twentieth more is near enough: the first part is 1/20 of a loss.
_A_TWENTIETH: Final = (Fraction(1), Fraction(19))
# Sizes are all up to here, and then each a 64th above the last.
_FINE: Final = 64
# Of so many groups all ways are tried beyond that too.
_FEW: Final = 8
# Halvings, which leave a 128th.
_STEPS: Final = 6


@attrs.frozen(eq=False)
class LossOfGroups(Generic[Loss]):
    """The loss of independent releases of groups, by how many rows come or go in all of them."""

    measure: Measure[Loss]
    privacy_map: PrivacyMap
    groups: int

    def of(self, changes: int) -> Loss:
        """The largest over all ways to part the rows among the groups, or a bound on it.

        Of up to 64 rows it is the largest, or one that is at most a twentieth above that of all
        rows in one group.
        """
        measure, whole = self.measure, self._alone(changes)
        groups = min(self.groups, changes)
        if groups == 1:
            return whole
        # The groups' releases are one release, which loses to a row what that of its group does.
        # So the rows of all groups are so many units at once.
        spread = measure.spread(self._alone(1), whole, changes)
        if self._near(spread, whole):
            return spread
        rows = (0, *some_sizes(changes, _FINE))
        alone = [measure.zero(), *map(self._alone, rows[1:])]
        # Nor does any way lose more than if each group lost as much as by all rows.
        found = [*self._in_shares(rows, alone, groups), spread, measure.together([whole] * groups)]
        if changes > _FINE:
            best = self._least(found)
            # Some way loses so much: what is near it may stay.
            some = measure.compose([self._alone(changes // groups)] * groups)
            many = groups > _FEW and changes > 2 * _FINE
            if many or self._near(best, whole) or self._near(best, some):
                return best
        return self._least([self._in_parts(rows, alone, groups), *found])

    def _in_shares(self, rows: Sequence[int], alone: Sequence[Loss], groups: int) -> list[Loss]:
        """A loss of which each group pays a share, some by its rows and some by being changed.

        None where the measure knows no shares.

        Proof:
            The shares of all rows, by number, and of all groups that change, are at most 1. Rows
            between two sizes lose at most what the larger size does, and have more than the
            smaller one's share. The loss is convex in what the groups pay alike, so halving steps
            find the best; any gives a bound.
        """

        @cache
        def shared(alike: Fraction) -> Loss | None:
            found = without_curve(alone[-1])
            for before, loss in zip(rows, alone[1:], strict=False):
                share = (1 - alike) * Fraction(before + 1, rows[-1]) + alike / groups
                more = self.measure.cover(found, loss, share)
                if more is None:
                    return None
                found = more
            return found

        at, step = Fraction(0), Fraction(1)
        best = shared(at)
        if best is None:
            return []
        for _ in range(_STEPS):
            for each in (at - step, at + step):
                found = shared(each) if 0 <= each <= 1 else None
                if found is not None and self.measure.within(found, best):
                    at, best = each, found
            step /= 2
        return [best]

    def _in_parts(self, rows: Sequence[int], alone: Sequence[Loss], groups: int) -> Loss:
        """The largest over all ways to part the rows, size by size.

        It is the largest for as many rows as have a size each. Beyond, the rows that are not in one
        half of the groups are rounded up to a size.
        """
        found = alone
        for bit in f"{groups:b}"[1:]:
            found = self._beside(rows, found, found)
            found = self._beside(rows, found, alone) if bit == "1" else found
        return found[-1]

    def _beside(
        self, rows: Sequence[int], first: Sequence[Loss], second: Sequence[Loss]
    ) -> list[Loss]:
        """Of the groups of both, for each size."""
        least = [0, *(before + 1 for before in rows[:-1])]

        def worst(size: int) -> Loss:
            ways = zip(first, least[: bisect_left(rows, size) + 1], strict=False)
            return self.measure.worst(
                [
                    self.measure.compose([loss, second[bisect_left(rows, size - here)]])
                    for loss, here in ways
                ]
            )

        return [first[0], *map(worst, rows[1:])]

    def _least(self, losses: Sequence[Loss]) -> Loss:
        """The least, and the last of equals; of pairs that cross, the first."""
        best = losses[0]
        for each in losses[1:]:
            if self.measure.within(each, best) or not self._promises(best):
                best = each
        return best

    def _near(self, loss: Loss, known: Loss) -> bool:
        """Whether a loss is at most a twentieth above another one."""
        more = self.measure.split(known, _A_TWENTIETH)[0]
        return self.measure.within(loss, self.measure.compose([known, more]))

    def _promises(self, loss: Loss) -> bool:
        """Whether not every release has this loss, as at a delta of 1."""
        try:
            self.measure.require_promise(loss)
        except ParameterError:
            return False
        return True

    def _alone(self, rows: int) -> Loss:
        """The loss if so many rows come or go in one group."""
        return cast(Loss, self.privacy_map(Fraction(rows)))
