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
    def title(self) -> str:
        """Which release it is, in words."""
        words = f", {self.note!r}" if self.note else ""
        return f"This is entry {self.number} of {self.ledger}{words}."

    @property
    def budget_left(self) -> tuple[str, ...]:
        """Whom the budget protects, and how much of it is left, in words."""
        owner = f"The owner of the ledger declares that it protects any one {self.unit}."
        left = f"Left for further releases: {self.left}. The whole budget is {self.budget}."
        return (owner, left) if self.unit else (left,)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The position in words."""
        found = [
            self.title,
            f"The budget for all of its releases is {self.budget}.",
            f"Spent so far, this release included: {self.spent}. Left: {self.left}.",
            "The losses of releases that are no entries there add up with these.",
        ]
        if self.head:
            found.append(f"Head of its chain: {self.head}.")
        return tuple(found)
