"""Entries whose hashes are right and that do not follow from the ones before."""

from __future__ import annotations

from fractions import Fraction

import attrs
import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger_chain import linked
from opendp_lite.sessions.ledger_entry import EntryState

ZERO = Fraction(0)
FORGED = {
    "a total without its price": {"total": ZERO},
    "a price that no total holds": {"price": Fraction(1, 1000)},
    "a budget that nobody raised": {"budget": Fraction(2)},
    "beyond the budget": {"price": Fraction(2), "total": Fraction(2)},
    "a lower budget": {"state": EntryState.RAISED, "price": ZERO, "total": ZERO, "budget": ZERO},
    "another place": {"place": "elsewhere"},
    "another machine": {"machine": "another"},
    "another unit": {"unit": "row"},
    "an end of nothing": {"state": EntryState.RELEASED, "price": ZERO, "total": ZERO},
    "an end that costs": {"state": EntryState.RELEASED, "closes": 1},
    "a reservation that closes": {"closes": 1},
    "a second beginning": {"state": EntryState.CREATED, "price": ZERO, "total": ZERO},
    "another history": {"previous": "0" * 64},
    "a gap": {"number": 3},
}


@pytest.mark.parametrize("cells", FORGED.values(), ids=FORGED)
def test_what_does_not_follow_is_refused(ledger, tenth, cells):
    first = ledger.head
    honest = first.followed_by(EntryState.RESERVED, ledger.measure, price=tenth)
    assert len(list(linked([first, honest.sealed()], ledger.terms))) == 2
    forged = attrs.evolve(honest, **cells).sealed()
    with pytest.raises(dp.OpenDPLiteError, match=r"entry \d (is missing|does not)"):
        list(linked([first, forged], ledger.terms))


def test_a_beginning_that_is_none(ledger):
    for cells in ({"total": Fraction(1)}, {"state": EntryState.RESERVED}, {"previous": "0" * 64}):
        forged = attrs.evolve(ledger.head, **cells).sealed()
        with pytest.raises(dp.OpenDPLiteError, match="entry 1 does not"):
            list(linked([forged], ledger.terms))


def test_an_adoption_may_pass_the_budget(ledger):
    """What a witness saw is counted, even where that is more than the budget."""
    adopted = ledger.head.followed_by(EntryState.ADOPTED, ledger.measure, price=Fraction(2))
    moved = attrs.evolve(adopted, place="elsewhere").sealed()
    free = moved.followed_by(EntryState.RESERVED, ledger.measure).sealed()
    assert list(linked([ledger.head, moved, free], ledger.terms))[-1].total == 2
    paying = moved.followed_by(EntryState.RESERVED, ledger.measure, price=Fraction(1, 9)).sealed()
    with pytest.raises(dp.OpenDPLiteError, match="entry 3 does not add up"):
        list(linked([ledger.head, moved, paying], ledger.terms))
