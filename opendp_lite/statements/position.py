"""Where a release stands among others under one budget."""

from __future__ import annotations

import attrs


@attrs.frozen
class Position:
    """Where a release stands among others under one budget.

    Args:
        ledger: Where the entries stand: "the ledger survey" or "a session", say.
        number: The number of the entry.
        spent: The loss of all entries so far, this one included, in words.
        left: What may still be spent, in words.
        budget: The whole budget, in words.
        head: The head of the chain of entries, where the ledger keeps one.
        unit: What the owner of the ledger declares a unit of privacy to be, such as "person".
        note: What was written beside the release.
    """

    ledger: str
    number: int
    spent: str
    left: str
    budget: str
    head: str = ""
    unit: str = ""
    note: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The position in words."""
        found = [
            f"This is entry {self.number} of {self.ledger}, whose budget for all releases is "
            f"{self.budget}.",
            f"Spent so far, this release included: {self.spent}. Left: {self.left}.",
            "The losses of releases that are no entries there add up with these.",
        ]
        if self.unit:
            found.append(f"Its owner declares that it protects any one {self.unit}.")
        if self.note:
            found.append(f"Note: {self.note}.")
        if self.head:
            found.append(f"Head of its chain: {self.head}.")
        return tuple(found)
