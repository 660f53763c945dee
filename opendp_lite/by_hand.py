"""A part of a pipeline that no name spells."""

from __future__ import annotations

from typing import Any, Final

from opendp_lite.errors import ParameterError

NO_RECIPE: Final = (
    "a pipeline put together by hand has no recipe to copy or pickle; write it as a constructor "
    "under @dp.stage or @dp.mechanism"
)


class ByHand:
    """Stands in a recipe for what was put together by hand.

    No two are equal, and neither JSON nor pickle holds one.
    """

    def join(self, before: Any) -> Any:
        """Refuses: what was put together by hand cannot be made again."""
        raise ParameterError(NO_RECIPE)

    def __repr__(self) -> str:
        return "<put together by hand>"


def by_hand(recipe: tuple[Any, ...]) -> bool:
    """Whether a pipeline, or a part of it, was put together by hand."""
    return not recipe or any(isinstance(link, ByHand) for link in recipe)
