"""Random pipelines beside their twins in OpenDP's library, which was written by others.

Skipped without ``pip install opendp``. Where both claim the same thing, the maps agree but for
rounding: OpenDP adds to a sum of floats what their rounding could move, and we sum exactly. Where
OpenDP knows less (the law of the noise, which rows it sums), ours is below, and never above.
"""

import re
import sys
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from tests.docs.running import run

other = pytest.importorskip("opendp.prelude", reason="needs pip install opendp")
other.enable_features("contrib")

# Of maps in floats, and of sums: OpenDP bounds by 2^-26 of the largest term what the rounding of
# 2^20 terms moves a sum.
ROUNDING, OF_SUMS = 1e-9, 2.0**-25


@attrs.frozen
class Total:
    """A sum or a count of rows, and what of OpenDP's map is no rounding.

    Args:
        rows: What comes before it.
        fold: The sum or the count.
        wider: How much farther a row moves it by OpenDP's map. Of a private number of floats it
            sums 2^20 at most, chosen at random, so that a row may take the place of another and
            move the sum by the width of the bounds. Ours sums all rows. Where the number of rows
            was public before a resize, OpenDP takes a replaced row for one less and one more, each
            of which may replace a row of the result. Of ours one is replaced.
        largest: The largest term.
    """

    rows: Any
    fold: Any
    wider: float = 1.0
    largest: float = 0.0

    def near(self, ours: float, theirs: float, slack: float, power: int = 1) -> bool:
        """Whether ours is not above theirs, and theirs is as expected."""
        expected = ours * self.wider**power
        below = ours <= theirs * (1 + 1e-12)
        return below and abs(theirs - expected) <= ROUNDING * expected + slack


def draw_total(generator: np.random.Generator) -> Total:
    """A sum of clipped values, or a number of rows."""
    size = int(generator.integers(1, 100)) if generator.integers(2) else None
    metric = dp.ChangeOneDistance() if size else dp.SymmetricDistance()
    rows, first = dp.records(size=size, metric=metric), generator.integers(3)
    if first == 0:
        rows = rows >> dp.impute(round(float(generator.normal()), 3))
    if first == 1 and size is None:
        rows = rows >> dp.drop_nan()
    if size is None and generator.integers(4) == 0:
        return Total(rows, dp.count(missing=bool(first == 2)))
    low, high = draw_bounds(generator)
    if generator.integers(4) == 0:
        rows = rows >> dp.clamp(*draw_bounds(generator))
    rows, largest = rows >> dp.clamp(low, high), max(abs(low), abs(high))
    if generator.integers(4) == 0:
        rows = rows >> dp.resize(int(generator.integers(1, 100)), fill=high)
        return Total(rows, dp.sum(), 2.0 if size else 1.0, largest)
    wider = 1.0 if size else max(1.0, (high - low) / largest)
    return Total(rows, dp.sum(), wider, largest)


def draw_bounds(generator: np.random.Generator) -> tuple[float, float]:
    low, high = np.sort(np.round(generator.normal(0, 10.0 ** generator.integers(-2, 4), 2), 6))
    zero = generator.integers(4) == 0 and low < 0 < high
    return (0.0, float(high)) if zero else (float(low), float(high) + 1e-6 * (low == high))


def check_pipeline(generator: np.random.Generator) -> None:
    """Draws a pipeline, and compares what a few rows cost by its map and by OpenDP's."""
    total = draw_total(generator)
    here, rows = total.rows >> total.fold, int(generator.integers(1, 6))
    rows = min(rows, here.input_space.domain.size or rows)
    reach, distance = (float(here.stability_map(Fraction(each)).over(1).l1) for each in (1, rows))
    # Noise is asked for by its scale or its loss, for which both must find one scale.
    level, by_loss = 10.0 ** generator.uniform(-2, 1), generator.integers(2)
    scale, slack = reach / level, OF_SUMS * total.largest
    laplace = dp.laplace(epsilon=level) if by_loss else dp.laplace(scale=scale)
    gaussian = dp.gaussian(rho=level**2 / 2) if by_loss else dp.gaussian(scale=scale)
    kind = generator.integers(16)
    if kind == 0:
        check_conversion(here, laplace, gaussian, rows, generator)
    elif kind < 4:
        assert total.near(distance, here.to_opendp().map(rows), slack), (here, rows)
    elif kind < 8:
        pure = here >> laplace
        assert total.near(pure.map(rows), pure.to_opendp().map(rows), slack / scale), (pure, rows)
    elif kind < 12:
        noisy, moved = here >> gaussian, distance * total.wider + slack
        far = 2 * slack * moved / scale**2
        assert total.near(noisy.map(rows), noisy.to_opendp().map(rows), far, 2), (noisy, rows)
    else:
        both = total.rows >> dp.compose(total.fold >> laplace, total.fold >> laplace)
        assert total.near(both.map(rows), both.to_opendp().map(rows), 2 * slack / scale), both


def check_conversion(here, laplace, gaussian, rows: int, generator: np.random.Generator) -> None:
    """Ours knows the law of the noise, and theirs any of this loss: ours is not above theirs."""
    delta = 10.0 ** -generator.uniform(2, 12)
    converted = (
        here >> laplace >> dp.to_zcdp(),
        here >> laplace >> dp.to_approximate(delta),
        here >> gaussian >> dp.to_approximate(delta),
        here >> dp.gaussian(epsilon=1, delta=delta),
    )[generator.integers(4)]
    ours, theirs = (np.ravel(each.map(rows)) for each in (converted, converted.to_opendp()))
    assert ours[0] <= theirs[0] * (1 + 1e-12), (converted, rows)
    assert all(each in (0, delta) for each in theirs[1:]), (converted, rows)


@pytest.mark.parametrize("seed", range(3))
def test_maps_are_those_of_opendp(seed):
    check_many(seed, 60)


def check_many(seed: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(count):
        check_pipeline(generator)


def test_exact_values_are_those_of_opendp():
    """Missing values and infinities too. Which rows a resize keeps is up to each library."""
    generator, compared = np.random.default_rng(4), 0
    while compared < 60:
        total = draw_total(generator)
        here = total.rows >> total.fold
        size = here.input_space.domain.size
        if "resize" in repr(here) or (size and repr(here).count("clamp") == 2):
            continue
        compared += 1
        data = generator.normal(0, 10.0 ** generator.integers(-2, 4), size or 20)
        data[generator.random(len(data)) < 0.2] = nan
        data[generator.random(len(data)) < 0.1] = inf * generator.choice([-1, 1])
        ours, theirs = float(np.ravel(here(data))[0]), here.to_opendp()(data.tolist())
        # Our grid has steps of 2^-40 of the largest term.
        assert ours == pytest.approx(theirs, rel=1e-12, abs=total.largest * 1e-9), here


def test_numbers_of_rows_are_public_there_too():
    sized = dp.records(size=7, metric=dp.ChangeOneDistance())
    twin = (sized >> dp.clamp(0, 1) >> dp.resize(9, fill=1)).to_opendp()
    assert (twin.input_domain.size, twin.output_domain.size) == (7, 9)


def test_the_page_shows_what_is_printed_and_what_maps_say():
    page = (Path(__file__).parents[2] / "docs/coming-from.md").read_text("utf-8")
    assert [printed for _, printed in run(page)] == [shown for shown, _ in run(page)]
    rows = re.findall(r"^\| (.*)`(dp\..*)` \| ([\d(].*?) \| ([\d(].*?) \|", page, re.MULTILINE)
    assert len(rows) == 5
    public = dp.records(size=50, metric=dp.ChangeOneDistance())
    for before, typed, *shown in rows:
        pipeline = eval(typed)
        here = public >> pipeline if before else pipeline
        ours = float(here.map(1).l1) if before else here.map(1)
        assert [str(ours), str(here.to_opendp().map(1))] == shown


def test_noise_has_the_scale_of_ours():
    big = dp.clamp(0, 1) >> dp.sum()
    for noise, spread in ((dp.laplace(epsilon=1e-3), 1000 * 2**0.5), (dp.gaussian(scale=50), 50)):
        twin = (big >> noise).to_opendp()
        found = np.std([twin([0.5, nan]) for _ in range(2000)])
        # OpenDP's noise has no seed. Its fourth moment is at most 6, so a standard error is at most
        # 0.025, and eight of them are less likely than 1e-10.
        assert 0.8 < found / spread < 1.2, noise


@pytest.mark.parametrize(
    ("pipeline", "words"),
    [
        (dp.mean(0, 1, epsilon=1), "no twin of dp.mean(0, 1, epsilon=1). These have one: dp.clamp"),
        (dp.count() >> dp.laplace(scale=1) >> round, "no twin of round"),
        (dp.count() >> dp.gaussian(mu=1), "dp.gaussian(mu=1): OpenDP has no mu; write rho=0.5"),
        (dp.clamp(0, 1) >> dp.impute(2), "dp.impute(2): put it before all others"),
        (dp.clamp(0, 1) >> dp.count(missing=True), "dp.count(missing=True): put it before all"),
        (dp.clamp(0, 1) >> dp.resize(9), "dp.resize(9): write fill="),
        (dp.select("age") >> dp.count(), "in the place of dp.table()"),
        (dp.records(columns=2) >> dp.count(), "in the place of dp.records(columns=2)"),
    ],
)
def test_what_has_no_twin_is_refused_by_name(pipeline, words):
    with pytest.raises(dp.SpaceError) as refused:
        pipeline.to_opendp()
    assert words in str(refused.value)


def test_what_opendp_refuses_is_said_in_its_words():
    other.disable_features("contrib")
    try:
        with pytest.raises(dp.SpaceError, match=r"refuses dp.count\(\).*enable_features"):
            dp.count().to_opendp()
    finally:
        other.enable_features("contrib")


def test_pipelines_without_recipe_and_libraries_that_are_not_there_are_refused(monkeypatch):
    space = dp.records()
    own = dp.Transformation(space, space, lambda rows: rows, lambda distance: distance)
    with pytest.raises(dp.SpaceError, match="no twin"):
        own.to_opendp()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(dp.ParameterError, match="pip install"):
        dp.count().to_opendp()
