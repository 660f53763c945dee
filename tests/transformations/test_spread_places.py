"""Counts of declared categories where a person's rows are spread over groups of that column."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import nan

import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp

PEOPLE = dp.table(person="id")
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
ELSEWHERE = NOON.astimezone(timezone(timedelta(hours=5)))


class Posing:
    """Equal to a category, and no key by itself."""

    def __eq__(self, other: object) -> bool:
        return other == "a"

    def __hash__(self) -> int:
        return hash("a")


class OtherText(str):
    """A text that says that it is another one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other == "a"

    def __hash__(self) -> int:
        return hash("a")


class NAType(str):
    """A text with the name of a missing value."""

    __slots__ = ()


CATEGORIES = [1, "1", 0, 0.1, "a", "a\0", 2**53, 2**53 + 1, 2**63, 1e300, None]
CATEGORIES += [date(2024, 2, 29), datetime(2024, 2, 29), "2024-02-29", NOON, float("inf"), True + 1]
VALUES = [1, 1.0, True, np.True_, np.int8(1), Decimal(1), Fraction(1), 1 + 0j, "1", b"1"]
VALUES += [0, 0.0, -0.0, False, Decimal("-0"), 0.1, Decimal("0.1"), np.float32(0.1)]
VALUES += ["a", b"a", np.str_("a"), "a\0", Posing(), OtherText("b"), OtherText("c"), None, nan]
VALUES += [Fraction(1, 10), np.float64(nan), Decimal("nan"), pd.NA, pd.NaT, NAType("x")]
VALUES += [NAType("y"), [1]]
VALUES += [2**53, float(2**53), 2**53 + 1, Decimal(2**53 + 1), Fraction(2**53 + 1), 2**53 + 2]
VALUES += [2**63, np.uint64(2**63), Decimal(2**63), 2**63 + 1, 10**300, 1e300, Decimal("1e300")]
VALUES += [date(2024, 2, 29), datetime(2024, 2, 29), pd.Timestamp("2024-02-29"), "2024-02-29"]
VALUES += [NOON, ELSEWHERE, pd.Timestamp(NOON), float("inf"), 2, "2", "other"]


def objects(values) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def blocks(values) -> dp.Blocks:
    """Each piece as the container that suits it."""
    pieces = [values[start : start + 3] for start in range(0, len(values), 3)]
    return dp.Blocks(
        lambda: ({"id": ["p"] * len(each), "city": each} for each in pieces), columns=None
    )


def numbers(values):
    return [each for each in values if type(each) in (int, float, bool) and abs(each) < 2**62]


CONTAINERS = {
    "list": lambda values: {"id": ["p"] * len(values), "city": values},
    "objects": lambda values: {"id": ["p"] * len(values), "city": objects(values)},
    "pandas": lambda values: pd.DataFrame({"id": "p", "city": pd.Series(values, dtype=object)}),
    "blocks": blocks,
    "floats": lambda values: {
        "id": ["p"] * len(numbers(values)),
        "city": np.array(numbers(values), dtype=float),
    },
    "whole numbers": lambda values: {
        "id": ["p"] * 5,
        "city": np.array([0, 1, 1, 2**53, 2**53 + 1]),
    },
    "unsigned": lambda values: {
        "id": ["p"] * 3,
        "city": np.array([1, 2**63, 2**63 + 1], np.uint64),
    },
    "bits": lambda values: {"id": ["p"] * 3, "city": np.array([True, False, True])},
    "texts": lambda values: {"id": ["p"] * 4, "city": np.array(["a", "a\0", "1", "a"])},
    "categorical": lambda values: pd.DataFrame(
        {"id": "p", "city": pd.Categorical(["a", "a\0", "1", None, "a"])}
    ),
}


def counts(before, data, categories=CATEGORIES) -> np.ndarray:
    return np.asarray((before >> dp.select("city") >> dp.one_hot(categories) >> dp.sum())(data))


def spread(rows: int, groups: int):
    return PEOPLE >> dp.bound_contributions(rows, groups=("city", groups))


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_category_holds_rows_of_one_group(container, rows):
    """Also where values of several groups are equal to it, or look as it does."""
    data = CONTAINERS[container](VALUES * 3)
    typed = isinstance(data["city"], np.ndarray) if isinstance(data, dict) else False
    numeric = typed and data["city"].dtype.kind in "biuf"
    categories = [each for each in CATEGORIES if not (numeric and isinstance(each, str))]
    found = counts(spread(rows, 1000), data, categories)
    assert found.max() <= rows
    assert found.sum() >= 1


@pytest.mark.parametrize("container", ["list", "objects", "pandas", "blocks"])
def test_equality_alone_would_bring_groups_together(container):
    """1 and 1 + 0j, a time in two zones, a long number as a Decimal: the map would be wrong."""
    rows = dp.table() >> dp.bound_contributions(1, groups=("city", 1000), person="id")
    assert counts(rows, CONTAINERS[container](VALUES)).max() > 1


def test_usual_values_are_counted_as_without_groups():
    table = {"id": [*range(9)], "city": ["a", "b", 1, 1.0, None, nan, "1", 0.1, date(2024, 2, 29)]}
    categories = ["b", 1, None, "1", 0.1, date(2024, 2, 29), 7, "a"]
    whole = dp.select("city") >> dp.one_hot(categories) >> dp.sum()
    expected = [1, 2, 2, 1, 1, 1, 0, 1]
    assert np.asarray(whole(table)).tolist() == expected
    assert np.asarray((spread(1, 2) >> whole)(table)).tolist() == expected
    with pytest.raises(dp.DataError, match="write them as text"):
        (spread(1, 2) >> dp.select("city") >> dp.one_hot([1, 2]) >> dp.sum())(
            {"id": [1], "city": np.array(["1"])}
        )


@pytest.mark.parametrize(("rows", "groups"), [(1, 4), (2, 2), (1, 1)])
def test_what_a_person_moves_is_attained(rows, groups):
    """Rows in more groups than are kept: a person moves the counts by just what the map says."""
    counted = spread(rows, groups) >> dp.select("city") >> dp.one_hot(range(9)) >> dp.sum()
    moved = counted.map(1)
    assert (moved.l1, moved.l2_squared, moved.linf) == (rows * groups, rows**2 * groups, rows)
    data = {"id": ["p"] * 90, "city": [*range(9)] * 10}
    found = np.asarray(counted(data))
    assert (found.sum(), found @ found, found.max()) == (rows * groups, rows**2 * groups, rows)


def test_a_distance_has_as_many_rows_in_each_place():
    """One row alone would be a quarter of a row in each of four places."""
    places = (spread(2, 4) >> dp.select("city") >> dp.one_hot(range(9))).output_space
    assert places.metric.words(places.metric.distance(8)).endswith("at most 2 of them in one place")
    with pytest.raises(dp.ParameterError, match="a multiple of 4; got 1"):
        (places >> dp.sum()).map(1)
    assert (places >> dp.sum()).map(4).linf == 1


def test_few_categories_hold_few_rows():
    moved = (spread(1, 9) >> dp.select("city") >> dp.one_hot(["a", "b"]) >> dp.sum()).map(1)
    assert (moved.l1, moved.l2_squared, moved.linf) == (2, 2, 1)


CITY = dp.select("city")
APART = CITY >> dp.one_hot(range(20))


@pytest.mark.parametrize(
    ("steps", "square"),
    [
        (APART >> dp.sum(), 16),
        (CITY >> dp.one_hot([*range(20), None]) >> dp.sum(), 16),
        (dp.select("sex", "city") >> dp.one_hot([["f"], range(20)]) >> dp.sum(), 16),
        (dp.select("sex", "city") >> dp.one_hot([["f"], range(20)], other=True) >> dp.sum(), 64),
        (dp.select("city", "age") >> dp.one_hot(range(20), edges=[0, 9]) >> dp.sum(), 16),
        (dp.select("age", "city") >> dp.one_hot(range(20), edges=[0, 9]) >> dp.sum(), 64),
        (dp.select("sex") >> dp.one_hot(range(20)) >> dp.sum(), 64),
        (CITY >> dp.one_hot(range(20), other=True) >> dp.sum(), 64),
        (CITY >> dp.bins(range(20)) >> dp.sum(), 64),
        (CITY >> dp.clamp(0, 9) >> dp.one_hot(range(20)) >> dp.sum(), 64),
        (APART >> dp.clamp(0, 1) >> dp.sum(), 64),
        (APART >> dp.select(0, 1) >> dp.sum(), 64),
    ],
)
def test_only_categories_of_the_groups_hold_few_rows_of_a_person(steps, square):
    """Bins, ``other`` and steps that change values may bring groups together."""
    assert (spread(2, 4) >> steps).map(1).l2_squared == square
    rows = dp.table() >> dp.bound_contributions(2, groups=("city", 4), person="id")
    assert (rows >> steps).map(1).l2_squared == 9


def test_a_histogram_takes_the_smaller_noise():
    """Of 16 rows in as many cities: four rows in l2, sixteen in l1, and sixteen in one city."""
    step = dp.histogram("city", categories=range(20), rho=Fraction(1, 2))
    for bound, deviation in [
        (spread(1, 16) >> step, 4),
        (PEOPLE >> dp.bound_contributions(16) >> step, 16),
    ]:
        assert bound.map(1) == 0.5
        assert bound.facts.laws[0].standard_deviation == pytest.approx(deviation, rel=1e-4)
    both = spread(1, 64) >> dp.histogram("city", categories=range(64), epsilon=1, delta=1e-6)
    assert "sigma" in both.explain()
