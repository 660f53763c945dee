"""Compositions with names and without, and calibrate."""

import json
import pickle

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.estimators.means.ratios import count_ratio
from tests.opened import Opened

SUM = dp.clamp(0, 4) >> dp.sum()
TEN_TENTHS = [dp.count() >> dp.gaussian(rho=0.1)] * 10


def test_losses_add_without_rounding():
    assert dp.compose(*TEN_TENTHS).map(1) == 1.0
    assert dp.compose(*[SUM >> dp.laplace(epsilon=1 / 3)] * 3).map(1) == 1.0
    both = dp.compose(SUM >> dp.laplace(epsilon=0.1), dp.count() >> dp.laplace(epsilon=0.2))
    assert both.map(1) == 0.3
    assert both.map(2) == 0.6
    assert both.check(1, 0.3)
    assert not both.check(1, 0.29999)


def test_gaussian_curves_compose_exactly():
    composed = dp.compose(*TEN_TENTHS)
    alone = dp.count() >> dp.gaussian(rho=1)
    assert composed.epsilon(delta=1e-6) == alone.epsilon(delta=1e-6)
    converted = dp.compose(*TEN_TENTHS) >> dp.to_approximate(1e-6)
    assert converted.map(1)[0] == alone.epsilon(delta=1e-6)
    mixed = dp.compose(alone, dp.count() >> dp.laplace(epsilon=1) >> dp.to_zcdp())
    assert mixed.epsilon(delta=1e-6) > alone.epsilon(delta=1e-6)


def test_approximate_losses_add():
    part = SUM >> dp.gaussian(epsilon=0.5, delta=1e-7)
    assert dp.compose(part, part).map(1) == (1.0, 2e-7)


def test_one_pass_over_the_data():
    rows = Opened()
    nested = dp.compose(
        SUM >> dp.laplace(epsilon=1),
        dp.compose(dp.count() >> dp.laplace(epsilon=1), SUM >> dp.laplace(epsilon=1)),
        dp.drop_nan()
        >> dp.clamp(0, 1)
        >> dp.simplex_augment()
        >> dp.sum()
        >> dp.laplace(epsilon=1),
    )
    total, (count, again), both = nested(rows.blocks)
    assert rows.times == 1
    assert total.shape == again.shape == (1,)
    assert type(count) is int
    assert both.shape == (2,)


def test_composed_values_are_those_of_the_parts():
    pipeline = dp.compose(SUM >> dp.gaussian(scale=1e-9), dp.count() >> dp.gaussian(scale=1e-9))
    total, rows = pipeline([1.0, 2.0, 9.0])
    assert total == pytest.approx([7], abs=1e-6)
    assert rows == pytest.approx(3, abs=1e-6)


def test_compose_on_a_space_and_after_a_stage():
    space = dp.records(columns=2, size=3, metric=dp.ChangeOneDistance())
    ball = dp.clip_to_norm(1) >> dp.sum() >> dp.gaussian(rho=0.2)
    bound = space >> dp.compose(ball, ball)
    assert bound.map(1) == 0.4
    shared = dp.clamp(0, 1) >> dp.compose(
        dp.sum() >> dp.gaussian(rho=0.2), dp.count() >> dp.gaussian(rho=0.1)
    )
    assert shared.map(1) == 0.3
    total = dp.clamp(0, 1) >> dp.sum() >> dp.compose(dp.gaussian(rho=0.1), dp.gaussian(rho=0.2))
    assert total.map(1) == 0.3
    assert len(total([1.0])) == 2


def test_calibrate_finds_parameters():
    scale = dp.calibrate(lambda s: SUM >> dp.gaussian(scale=s), d_out=0.5)
    assert scale.map(1) == pytest.approx(0.5, rel=1e-9)
    assert scale.check(1, 0.5)
    bound = dp.calibrate(lambda u: dp.clamp(0, u) >> dp.sum() >> dp.laplace(scale=10), d_out=1)
    assert bound.map(1) == pytest.approx(1)
    pair = dp.calibrate(
        lambda r: SUM >> dp.gaussian(rho=r) >> dp.to_approximate(1e-6), d_out=(1, 1e-6)
    )
    assert 0.999999 < pair.map(1)[0] <= 1
    copies = dp.calibrate(
        lambda k: dp.compose(*[dp.count() >> dp.laplace(epsilon=0.1)] * k), d_out=1, bounds=(1, 99)
    )
    assert copies.map(1) == 1
    two = dp.calibrate(lambda s: dp.count() >> dp.laplace(scale=s), d_out=1, d_in=2)
    assert two.map(2) == pytest.approx(1)


TABLE = {"sex": ["f", "m"] * 2000, "age": [41.0, 38.0] * 2000}
PARTS = {
    "rows": dp.count() >> dp.laplace(epsilon=0.5, confidence=0.95),
    "age": dp.select("age") >> dp.mean(0, 100, epsilon=0.5, confidence=0.95, sampling=False),
    "sex": dp.histogram("sex", categories=["f", "m"], epsilon=0.25),
    "cities": dp.histogram("sex", categories=["f"], epsilon=0.25),
    "by sex": dp.by(
        "sex", ["f", "m"], dp.select("age") >> dp.mean(0, 100, epsilon=0.5, confidence=None)
    ),
    "quartiles": dp.select("age")
    >> dp.private_quantile([0.25, 0.5], bounds=(0, 100), epsilon=0.25, confidence=None),
    "totals": dp.select("age") >> dp.clamp(0, 9) >> dp.sum() >> dp.laplace(epsilon=0.25),
}
REPORT = dp.table() >> dp.compose(**PARTS)


def test_loss_and_releases_are_those_of_the_parts_without_names():
    plain = dp.table() >> dp.compose(*PARTS.values())
    assert REPORT.loss(1) == plain.loss(1) == 2.5
    assert REPORT.loss(3) == plain.loss(3)
    found = REPORT.insecure_release(TABLE, seed=5).value
    assert isinstance(found, dp.releases.ByName)
    assert list(found) == list(PARTS)
    same = plain.insecure_release(TABLE, seed=5).value
    assert repr(list(found.values())) == repr(list(same))


def test_json_of_the_releases():
    found = REPORT.insecure_release(TABLE, seed=5).value
    read = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert list(read) == list(PARTS)
    assert read["rows"]["interval"] == list(found["rows"].interval)
    assert read["sex"]["counts"] == found["sex"].counts.tolist()
    assert read["by sex"] == {"f": found["by sex"]["f"], "m": found["by sex"]["m"]}
    assert read["quartiles"] == list(found["quartiles"])
    assert read["totals"] == found["totals"].tolist()


@pytest.mark.parametrize("pipeline", [REPORT, dp.compose(**PARTS)])
def test_names_are_kept_by_json_pickle_and_repr(pipeline):
    for again in (
        dp.from_json(pipeline.to_json()),
        pickle.loads(pickle.dumps(pipeline)),
        eval(repr(pipeline), {"dp": dp}),
    ):
        assert again == pipeline
        assert hash(again) == hash(pipeline)
        assert list(again.insecure_release(TABLE, seed=1).value) == list(PARTS)
    other = dict(reversed(PARTS.items()))
    assert dp.compose(**other) != dp.compose(**PARTS)


@pytest.mark.parametrize("name", ["space", "mechanisms", "named", "first", "mean age", "class", ""])
def test_any_name_will_do(name):
    pipeline = dp.compose(**{name: dp.count() >> dp.laplace(epsilon=30), "b": PARTS["rows"]})
    assert pipeline([1.0, 2.0])[name] == 2
    assert dp.from_json(pipeline.to_json()) == pipeline
    assert eval(repr(pipeline), {"dp": dp}) == pipeline


def test_a_block_for_each_part_is_explained():
    lines = REPORT.explain().splitlines()
    names = [line for line in lines if line.startswith("  ") and line.strip()[:-1] in PARTS]
    assert names == [f"  {name}:" for name in PARTS]
    assert max(map(len, lines)) <= 100
    assert (
        "dp.compose(rows=..., age=..., sex=..., cities=..., **{'by sex': ...}" in REPORT.explain()
    )
    because = lines[lines.index("because the losses of the parts add up") :]
    assert "  rows: epsilon = l1 / b, b = 2, standard deviation 2.82843" in because
    assert not any("declared" in line or "present" in line for line in lines)
    unnamed = dp.compose(PARTS["rows"], PARTS["rows"]).explain()
    assert "  part 1:" in unnamed.splitlines()
    assert "  part 2: epsilon = l1 / b, b = 2, standard deviation 2.82843" in unnamed.splitlines()


def test_a_table_is_read_wherever_the_part_that_needs_it_stands():
    """A count alone takes rows of numbers, beside a part that picks a column a table with text."""
    rows, age = PARTS["rows"], PARTS["age"]
    for both in (dp.compose(rows=rows, age=age), dp.compose(age=age, rows=rows)):
        assert both.insecure_release(TABLE, seed=1).value["rows"].value > 3900
    of_numbers = dp.compose(rows, dp.mean(0, 100, epsilon=1, confidence=None))
    assert type(of_numbers.input_space.domain) is dp.Rows


def test_releases_are_a_mapping_that_shows_itself():
    found = REPORT.insecure_release(TABLE, seed=5).value
    assert repr(found).startswith("rows: ")
    assert "\nsex:\n  sex  count  95 % interval\n  f  " in repr(found)
    html = found._repr_html_()
    assert ">by sex</th>" in html
    assert html.count("<table>") > 3
    assert len(found) == 7
    assert "rows" in found
    assert found.get("nothing") is None
    with pytest.raises(dp.ParameterError, match="there is no release 'nothing'; there are 'rows'"):
        found["nothing"]


def test_several_estimates_of_a_part_print_as_one_does():
    estimates = dp.Estimate(1.5, 0.1, (1.3, 1.7), 0.95), dp.Estimate(2.5, 0.1, (2.3, 2.7), 0.95)
    found = dp.releases.ByName({"quantiles": estimates, "bounds": (0.0, 9.0)})
    lines = [f"  {each}" for each in estimates]
    assert repr(found).splitlines() == ["quantiles:", *lines, "bounds: (0.0, 9.0)"]
    assert "&lt;Estimate" not in found._repr_html_()


def test_parts_by_name_are_no_sum_and_count():
    named = dp.compose(sum=dp.sum() >> dp.laplace(epsilon=1), n=dp.laplace(epsilon=1))
    with pytest.raises(dp.SpaceError, match="count_ratio"):
        dp.clamp(0, 1) >> named >> count_ratio(0, 1)


def test_functions_of_the_release_and_other_combinators():
    means = dp.compose(rows=PARTS["rows"], age=PARTS["age"]) >> dict
    assert set((dp.table() >> means)(TABLE)) == {"rows", "age"}
    by = dp.table() >> dp.by("sex", ["f", "m"], dp.compose(rows=PARTS["rows"], age=PARTS["age"]))
    assert by.map(1) == 1.0
    assert 1990 < by.insecure_release(TABLE, seed=1).value["f"]["rows"].value < 2010
    widths = dp.compose(a=PARTS["rows"], b=PARTS["totals"]).accuracy(0.95)
    assert np.array_equal(widths, dp.compose(PARTS["rows"], PARTS["totals"]).accuracy(0.95))
