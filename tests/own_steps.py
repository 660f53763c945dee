"""Steps and spaces that many tests share, as a person would write them."""

import opendp_lite as dp

REPLACE = dp.ChangeOneDistance()
RELATIONS = ("add or remove", "replace")
Rows = dp.Space[dp.Rows]


def space_of(relation: str, size: int = 5, columns=1) -> Rows:
    """Rows under a relation; where they are replaced, so many."""
    if relation == "replace":
        return dp.records(columns=columns, size=size, metric=REPLACE)
    return dp.records(columns=columns)


@dp.stage
def doubled(space: Rows) -> dp.Transformation[Rows, Rows]:
    """Says that a row moves two."""
    after = dp.Space(space.domain, space.metric, unit=2 * space.unit)
    return dp.Transformation(space, after, lambda rows: rows, lambda distance: 2 * distance)


@dp.mechanism
def seen(space: Rows) -> dp.Measurement[Rows, dp.MaxDivergence]:
    """Not private: hands out what a mechanism is given."""
    return dp.Measurement(space, dp.MaxDivergence(), lambda value, entropy: value, lambda d: 0)
