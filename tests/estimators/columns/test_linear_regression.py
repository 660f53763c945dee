"""Linear regression: slopes, errors, weakness, any data, refusals.

What is released: ``Regression``.
"""

import json

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.estimators.columns import regression
from opendp_lite.estimators.columns.least_squares import NoisyGram
from tests.estimators.cases import WILD, space_of

SLOPES, CONSTANT = np.array([2.0, -0.5]), 10.0
BOUNDS = {"y": (-100, 200), "a": (0, 50), "b": (0, 100)}


def draw(seed: int, rows: int, uneven: bool = False):
    """Columns that move together, and y around a line; or farther from it at both ends of a."""
    generator = np.random.default_rng(seed)
    a = generator.uniform(0, 20, rows)
    b = 40 + a + generator.normal(0, 5, rows)
    off = generator.normal(0, 4, rows) * (((a - 10) / 5) ** 2 if uneven else 1)
    return {"a": a, "b": b, "y": CONSTANT + 2 * a - 0.5 * b + off}


def least_squares(table):
    """The usual coefficients and standard errors, and those of the sandwich."""
    columns = np.column_stack([table["a"], table["b"], np.ones(len(table["a"]))])
    bread = np.linalg.inv(columns.T @ columns)
    found = bread @ columns.T @ table["y"]
    left = table["y"] - columns @ found
    usual = np.sqrt(np.diagonal(bread) * (left @ left) / (len(left) - 3))
    filling = (columns * left[:, None] ** 2).T @ columns
    return found, usual, np.sqrt(np.diagonal(bread @ filling @ bread))


def fit(**asked):
    return dp.linear_regression("y", ["a", "b"], BOUNDS, **asked)


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("robust", [False, True])
def test_with_next_to_no_noise_it_is_the_usual_table(uneven, robust):
    """An even spread that is half or double the true one would show, and the wrong sandwich too."""
    table = draw(3, 20_000, uneven)
    slopes, usual, sandwich = least_squares(table)
    found = fit(rho=1e8, robust=robust)(table)
    assert found.names == ("a", "b", "intercept")
    wanted = sandwich if robust else usual
    assert found.standard_errors == pytest.approx(wanted, rel=0.05)
    assert (np.abs(found.values - slopes) < 0.5 * wanted).all()
    assert (found.noise_errors < 0.01 * wanted).all()
    assert (max(usual / sandwich) > 1.15 or min(usual / sandwich) < 0.85) == uneven
    assert found.residual_deviation == pytest.approx(4 * (1 + 0.79 * uneven), rel=0.1)
    assert found.weak == ()
    assert repr(found).endswith("alike for all rows.") == (not robust)


@pytest.mark.parametrize(
    ("loss", "replaced"),
    [
        ({"rho": 0.02}, False),
        ({"rho": 2}, True),
        ({"epsilon": 1, "delta": 1e-6}, False),
        ({"epsilon": 2}, True),
    ],
    ids=str,
)
def test_errors_are_as_large_as_they_say(loss, replaced):
    """The mean of the squares of 12 x 3 errors over their standard errors lies within its law.

    They have about 36 degrees of freedom; below 1e-6 of tests lie outside, and a standard error
    that is wrong by a factor of two has a mean of 4 or of a quarter. Seeds are fixed.
    """
    metric = dp.ChangeOneDistance() if replaced else None
    space = dp.table(size=3000 if replaced else None, metric=metric)
    pipeline, squares = space >> fit(**loss), []
    for seed in range(12):
        found = pipeline.insecure_release(draw(seed, 3000), seed=seed).value
        assert not found.weak
        squares.append(((found.values - [*SLOPES, CONSTANT]) / found.standard_errors) ** 2)
    assert 0.3 < np.mean(squares) < 2.2


def test_a_release_says_where_noise_hides_how_unevenly_y_spreads():
    hidden = "Intervals take y to spread alike for all rows: the noise hides whether it does."
    for loss, said in (({"epsilon": 1}, True), ({"rho": 20}, False)):
        found = fit(**loss).insecure_release(draw(1, 3000), seed=1).value
        assert (hidden in repr(found)) == said, found.uneven


def test_the_noise_of_a_gram_is_as_large_as_it_says():
    """The mean square of 3000 of them is known to 1.5 %: five of these are allowed. Fixed seed."""
    products = np.random.default_rng(3).normal(0, 2, (3000, 6))
    grams = [NoisyGram.of(each, 2) for each in products]
    squares = np.mean([np.square(each.matrix).sum() for each in grams])
    assert squares == pytest.approx(grams[0].noise ** 2, rel=0.075)


def test_what_noise_hides_of_an_uneven_spread_is_what_the_sandwich_leaves_out():
    """An excess just below it changes no error, and one just above it does."""
    gram = NoisyGram(500.0 * np.eye(3), 1.0)
    fit, variance = gram.fit(np.array([50.0, 400.0, -250.0]), 1.0), 2.0
    even = variance * gram.columns(gram.kept)
    hidden = fit.hidden(variance, NoisyGram(even, 30.0)) * variance * gram.rows
    for share, seen in ((0.99, False), (1.01, True)):
        excess = np.diag([0.0, share * hidden, 0.0])
        found = fit.sampling(variance, NoisyGram(even + excess, 30.0))
        assert np.allclose(found, fit.sampling(variance, None), rtol=1e-12) != seen


def test_bounds_that_are_far_too_wide_cost_little():
    """Held to a part of what bounds allow, the units of columns and residuals were too large."""
    noise = []
    for wide in (1, 50):
        bounds = {name: (wide * low, wide * high) for name, (low, high) in BOUNDS.items()}
        made = dp.table() >> dp.linear_regression("y", ["a", "b"], bounds, rho=0.5)
        found = [made.insecure_release(draw(1, 8000), seed=seed).value for seed in range(5)]
        noise.append(np.median([each.noise_errors[:2] for each in found], axis=0))
    assert (noise[1] < 1.3 * noise[0]).all()


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_a_column_of_many_zeros_shows_within_bounds_that_are_far_too_wide(seed):
    """In half of the reach it is weak, and in units that a weak rough fit does not mend."""
    generator, rows = np.random.default_rng(1), 4000
    a = np.where(generator.random(rows) < 0.76, 0, generator.uniform(0, 4, rows))
    b = generator.normal(50, 10, rows)
    table = {"a": a, "b": b, "y": 2 + 0.1 * a + 0.02 * b + generator.normal(0, 0.4, rows)}
    bounds = {"y": (0, 10), "a": (0, 40), "b": (0, 100)}
    made = dp.table() >> dp.linear_regression("y", ["a", "b"], bounds, epsilon=1)
    found = made.insecure_release(table, seed).value
    assert not found.weak
    assert (np.abs(found.values[:2] - [0.1, 0.02]) < 3 * found.standard_errors[:2]).all()


@pytest.mark.parametrize("off", [3.0, 30.0])
def test_coefficients_are_off_by_what_the_fit_says(off):
    """Of 2000 matrices with noise: the bias is small, and 95 % intervals hold 93 to 97 %."""
    generator, runs = np.random.default_rng(5), 2000
    true = np.array([0.1, 0.8, -0.5])
    columns = 500 * np.array([[1, 0.1, 0.0], [0.1, 1, 0.4], [0.0, 0.4, 1.0]])
    exact = np.zeros((4, 4))
    exact[:3, :3] = columns
    held, errors = [], []
    for _ in range(runs):
        raw = generator.standard_normal((4, 4)) * off
        noisy = exact.copy()
        sampled = columns @ true + np.linalg.cholesky(columns) @ generator.standard_normal(3)
        noisy[:3, 3] = noisy[3, :3] = sampled
        noisy += (raw + raw.T) / np.sqrt(2)
        gram = NoisyGram(noisy[:3, :3], off)
        if gram.weak:
            continue
        found = gram.fit(noisy[:3, 3], off)
        error = np.sqrt(np.diagonal(found.noise() + found.sampling(1.0, None)))
        held.append(np.abs(found.value - true) < 1.96 * error)
        errors.append((found.value - true) / error)
    assert len(held) > 0.99 * runs
    assert 0.93 < np.mean(held) < 0.975
    assert (np.abs(np.mean(errors, axis=0)) < 0.25).all()


@pytest.mark.parametrize(("cut", "moves"), [(regression._LEAST_CUT, False), (2.5, True)])
def test_the_least_cut_leaves_ones_in_nine_as_they_are(cut, moves):
    """Without noise: y is 1 for 10.5 % of the rows where x is 0, and for 16 % of the others.

    At 2.5 deviations the slope of 5000 rows moves by more than half of its standard error.
    """
    x, y = np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1])
    shares = np.array([0.895, 0.105, 0.84, 0.16]) / 2
    deviation = np.sqrt(shares @ (y - 0.105 - 0.055 * x) ** 2)
    frame = regression.Frame(
        np.array([0.5]), 2 * np.eye(1), np.eye(1) / 2, 0.1325, np.array([0.055]), deviation
    )
    row = regression.WeightedRow(frame, 9.0, cut, 9.0)
    _, product = row.scores(np.column_stack([x, y])).T
    moved = abs(shares @ product) * np.sqrt(5000)
    assert (moved > 0.5) if moves else (moved < 1e-9)


def test_the_last_step_is_that_of_newton():
    """What the sum of cut residuals loses for each step of the line is what is divided by."""
    random = np.random.default_rng(6)
    x = random.normal(size=2000)
    rows = np.column_stack([x, random.normal(size=2000) * np.exp(x)])
    frame = regression.Frame(np.zeros(1), np.eye(1), np.eye(1), 0.0, np.zeros(1), 1.0)
    row = regression.WeightedRow(frame, 2.0, 1.5, 3.0)
    kept = row.kept(rows)
    moved, step = attrs.evolve(frame, slopes=np.array([1e-9])), 1e-9
    before, after = (
        attrs.evolve(row, frame=each).scores(rows).sum(axis=0) for each in (frame, moved)
    )
    assert ((before - after) / step)[1] == pytest.approx((kept.T @ kept)[1, 1], rel=1e-4)
    assert 0.5 < (kept[:, 0] > 0).mean() < 0.9


def test_the_constant_takes_what_the_slopes_leave_of_a_row():
    """The length of a row stays; a row in the middle of x is cut at radius times cut."""
    x, off = np.array([0.0, 0.0, 1.0, 1.0, 9.0, 0.0]), np.array([2.5, 9.0, 1.0, -9.0, 9.0, np.nan])
    frame = regression.Frame(np.zeros(1), np.eye(1), np.eye(1), 0.0, np.zeros(1), 1.0)
    row = regression.WeightedRow(frame, 2.0, 1.5, 2.0)
    constant, slope = row.scores(np.column_stack([x, off])).T
    far = 2 / np.sqrt(82)
    assert slope[:5] == pytest.approx([0, 0, 1, -1.5, 9 * 1.5 * far**2])
    assert constant[:2] == pytest.approx([2.5, 3])
    assert constant[2:4] == pytest.approx([1, -np.sqrt(3**2 - 1.5**2)])
    assert constant[4] == pytest.approx(9 * far**2)
    assert np.isnan([constant[5], slope[5]]).all()
    lengths = np.hypot(constant, slope)[:5]
    assert (lengths <= float(row.largest) * (1 + 1e-15)).all()


@pytest.mark.parametrize("long", [2.0, 5.0, 100.0])
def test_rows_far_out_are_as_long_as_they_may_be(long):
    """None is longer, which a sum would shorten by y too; from ``long`` on all are as long."""
    x = np.array([0.0, 1, 3, 30, 1e3, 1e9])
    frame = regression.Frame(np.zeros(1), np.eye(1), np.eye(1), 0.0, np.zeros(1), 1.0)
    row, rows = regression.WeightedRow(frame, 2.0, 1.5, long), np.column_stack([x, 0 * x + 1e20])
    for found, most in ((row.rows(rows), row.longest), (row.scores(rows), row.largest)):
        lengths = np.linalg.norm(found, axis=1) / float(most)
        assert (lengths < 1 + 1e-12).all()
        assert lengths[x >= long] == pytest.approx(1)
    squares = row.squares(rows) / row.cut**2
    assert (squares < 1 + 1e-12).all()
    assert squares[0] == pytest.approx(1)


@pytest.mark.parametrize(("loss", "size"), [({"epsilon": 2}, None), ({"rho": 1}, 4000)], ids=str)
def test_no_row_moves_a_sum_by_more_than_its_noise_is_for(size, loss, monkeypatch):
    """And one far out moves it by as much: a bound of twice or half of that would show.

    Noise is as large as the fit is told: the root of its mean square, of 100 draws with fixed
    seeds. Where a row is replaced by another, products of rows with themselves may lie nearer.
    """
    asked, even_noise = [], regression.even_noise

    def keep(summed, budget, space):
        query, off = even_noise(summed, budget, space)
        asked.append((summed.bind(space), query.bind(space), off))
        return query, off

    monkeypatch.setattr(regression, "even_noise", keep)
    x, left = np.random.default_rng(3).normal(0, 1, (2, 4000))
    made = space_of(2, size) >> dp.linear_regression(1, 0, [(-50, 50), (-50, 50)], **loss)
    assert not made.insecure_release(np.column_stack([x, x + left]), 1).value.weak
    far = [[a, a + b] for a in (-50, -3, 0, 3, 50) for b in (-50, 0, 50)]
    others, least = np.zeros((0 if size is None else size - 1, 2)), 0.7 if size else 0.99
    for summed, query, off in asked[-4:]:
        sums = [np.asarray(summed(np.vstack([others, each]))) for each in far]
        from_here = [0 * sums[0]] if size is None else sums
        moves = [np.linalg.norm(each - other) for each in sums for other in from_here]
        assert least < max(moves) / float(summed.output_space.unit.of(2)) < 1 + 1e-9
        data = np.vstack([others, far[0]])[: size or 0]
        noise = [query.insecure_release(data, seed).value - summed(data) for seed in range(100)]
        assert 0.8 < np.sqrt(np.mean(np.square(noise))) / off < 1.25


def test_a_skewed_y_hardly_moves_the_constant():
    """Of lognormal y: cut as for the slopes, the constant was off by 2.6 standard errors.

    The mean of 20 such errors is known to 0.23: it lies beyond the bound in 1 of 1e6 tests.
    """
    pipeline, off = dp.linear_regression(1, 0, [(-25, 25), (-25, 25)], epsilon=1), []
    bound = dp.records(columns=2) >> pipeline
    for seed in range(20):
        generator = np.random.default_rng(seed)
        x, left = generator.standard_normal(5000), generator.lognormal(0, 1, 5000)
        rows = np.column_stack([x, 0.7 * x + 0.7 * left])
        found = bound.insecure_release(rows, seed).value["intercept"]
        off.append((found.value - 0.7 * np.exp(0.5)) / found.standard_error)
    assert -1.5 < np.mean(off) < 1


def test_products_are_read_as_the_matrix():
    gram = NoisyGram.of([1.0, 2.0 * np.sqrt(2), 3.0], 2.0)
    assert gram.matrix == pytest.approx(np.array([[1.0, 2.0], [2.0, 3.0]]))
    assert gram.off == pytest.approx(np.sqrt(2))


def test_a_release_is_a_table():
    found = fit(rho=5)(draw(1, 4000))
    assert found["a"].interval == tuple(found.intervals[0])
    assert found["a"].sampling
    at = found.predict({"a": 10, "b": 50})
    assert at.value == pytest.approx(CONSTANT + 20 - 25, abs=1)
    assert at.standard_error < 0.2 < found["intercept"].standard_error
    assert json.loads(json.dumps(found.as_dict()))["names"] == ["a", "b", "intercept"]
    assert "noise alone" in repr(found)
    assert [row["name"] for row in found.records()] == ["a", "b", "intercept"]
    low, high = found["a"].noise_interval
    assert (high - low) / 2 == pytest.approx(1.96 * found.noise_errors[0], rel=1e-3)
    assert "<table>" in found._repr_html_()
    with pytest.raises(dp.ParameterError, match="there are a, b, intercept"):
        found["c"]
    with pytest.raises(dp.ParameterError, match="one number for each column, as in predict"):
        found.predict({"a": 1})


@pytest.mark.parametrize("loss", [{"rho": 0.5}, {"epsilon": 1}], ids=str)
def test_what_the_noise_may_hide_is_said(loss):
    """A column that never varies, two that are one, and next to no rows."""
    table = draw(2, 5000)
    columns = {
        "b": ("b hardly varies, or moves", table | {"b": np.full(5000, 40.0)}),
        "a, b": ("a, b hardly vary, or move", table | {"b": 3 * table["a"]}),
    }
    for weak, (words, data) in columns.items():
        # Of one seed: noise makes the column that never varies seem to in a few of a hundred.
        found = fit(**loss).insecure_release(data, 1).value
        assert ", ".join(found.weak) == weak
        assert np.isinf(found.intervals).all()
        assert f"Weak: the noise may hide that {words}" in repr(found)
        assert f"or narrower\nbounds of {weak} where they are wider than need be." in repr(found)
        assert found.as_dict()["standard_errors"] == [None] * 3
        at = found.predict({"a": 1, "b": 2})
        for each in (found["b"], at, 2 * at, dp.difference(at, found["b"], independent=False)):
            assert str(each).startswith("not known"), each
        assert str(at).startswith(f"not known (the noise may hide that {words}")
        assert {row[name] for row in found.records() for name in ("value", "low")} == {None}
        assert found.table(digits=2).to_csv().splitlines()[2] == f"b,,,,,{found.rows:.0f}"
        assert found.to_frame()["value"].isna().all()
    few = {name: column[:4] for name, column in table.items()}
    assert fit(**loss).insecure_release(few, 1).value.weak


@pytest.mark.parametrize("loss", [{"rho": 1e-6}, {"rho": 1e6}, {"epsilon": 1}], ids=str)
def test_any_data(loss):
    """No error and no warning, and numbers or endless intervals."""
    for rows in (0, 1, 40):
        for space in (space_of(3), *([space_of(3, rows)] if rows else [])):
            bound = space >> dp.linear_regression(2, [0, 1], [(-3, 4), (0, 1e90), (0, 1)], **loss)
            for data in (
                np.resize(WILD, (rows, 3)),
                np.ones((rows, 3)),
                np.full((rows, 3), np.nan),
                np.full((rows, 3), 1e308),
            ):
                found = bound(data)
                assert found.values.shape == (3,)
                assert not np.isnan(found.values).any()
                assert found.weak or np.isfinite(found.intervals).all()
                assert repr(found)


def test_rows_with_a_missing_value_are_left_out():
    table = draw(4, 8000)
    holes = {
        name: np.where(np.arange(8000) % 9 == place, np.nan, column)
        for place, (name, column) in enumerate(table.items())
    }
    whole = np.isfinite(sum(holes.values()))
    slopes, usual, _ = least_squares({name: column[whole] for name, column in holes.items()})
    for space in (dp.table(), dp.table(size=8000, metric=dp.ChangeOneDistance())):
        found = (space >> fit(rho=1e5))(holes)
        assert (np.abs(found.values - slopes) < usual).all()


def test_by_groups_and_in_a_session():
    table = draw(6, 6000) | {"g": np.arange(6000) % 2}
    found = dp.by("g", [0, 1], fit(rho=1))(table)
    assert found[0]["a"].value == pytest.approx(2, abs=0.3)
    session = dp.session(table, dp.rho(1))
    assert session(fit(rho=0.5))["a"].value == pytest.approx(2, abs=0.3)
    people = dp.table(person="id") >> dp.bound_contributions(2) >> fit(rho=2)
    assert people.map(1) == 2
    found = people(table | {"id": np.arange(6000) // 2})
    assert found["a"].value == pytest.approx(2, abs=0.3)
    assert people.explain()
