"""The algebra: joining, binding, equality, explanations and refusals."""

import copy
import pickle
from fractions import Fraction

import attrs
import numpy as np
import pytest

import opendp_lite as dp

SIMPLEX = dp.clamp(0, 100) >> dp.simplex_augment() >> dp.sum() >> dp.gaussian(rho=0.5)
SUM = dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1)
WRITTEN = '{"opendp_lite": 1, "pipeline": %s}'
NESTED = '{"name": "sum", "arguments": {"a": '
CENTRED = dp.compose(
    dp.clamp(0, 1) >> dp.center(0.5) >> dp.sum() >> dp.laplace(epsilon=1),
    dp.count() >> dp.laplace(epsilon=1),
)
Tables = dp.Space[dp.Rows]


@dp.stage
def nothing(space: Tables) -> dp.Transformation[Tables, Tables]:
    """Forgets to return."""


def test_joining_is_associative():
    a, b, c, d = dp.clamp(0, 1), dp.scale(2), dp.sum(), dp.gaussian(rho=1)
    left = ((a >> b) >> c) >> d
    right = a >> (b >> (c >> d))
    assert left == right
    assert hash(left) == hash(right)
    space = dp.records(columns=2)
    assert space >> left == ((space >> a) >> b >> c) >> d == left.bind(space)
    assert (space >> left).map(1) == right.bind(space).map(1)


def test_equality_knows_spelling_from_meaning():
    assert dp.clamp(0, 1) == dp.clamp(lower=0, upper=1) == dp.clamp(0.0, 1.0)
    assert dp.clamp([0, 0], [1, 1]) == dp.clamp(np.zeros(2), np.ones(2))
    assert dp.clamp(0, 1) != dp.clamp(0, 2)
    assert dp.gaussian(rho=1) != dp.gaussian(scale=1)
    assert dp.clamp(0, 1) >> dp.sum() != dp.sum()
    assert (dp.records() >> SIMPLEX) == SIMPLEX.bind(dp.records())
    other = dp.records(size=9, metric=dp.ChangeOneDistance())
    assert SIMPLEX.bind(other) != SIMPLEX.bind(dp.records())


def test_the_unit_takes_no_part_in_equality():
    assert dp.scalar(unit=2) == dp.scalar()
    assert repr(dp.scalar(unit=1)) == "dp.scalar()"
    rho = dp.gaussian(rho=1)
    assert (dp.scalar(unit=2) >> rho) != (dp.scalar() >> rho)
    assert (dp.scalar(unit=2) >> dp.laplace(epsilon=1)).map(2) == 1


def test_a_step_is_built_anew_for_a_space_of_another_unit():
    """Steps keep what they make of the default space; the unit is not seen in its name."""
    for space in (dp.records(), dp.scalar(), dp.vector(1)):
        wider = attrs.evolve(space, unit=space.unit * 2)
        after = dp.count() if space == dp.records() else None
        for noise in (
            dp.laplace(epsilon=1),
            dp.gaussian(rho=1),
            dp.measurements.l2_mechanism(epsilon=1),
        ):
            step = noise if after is None else after >> noise
            assert (wider >> step).map(2) == (space >> step).map(1) == 1
    by_hand = dp.Space(dp.Rows(1), dp.SymmetricDistance(), unit=1)
    assert (by_hand >> dp.clamp(0, 1)).input_space is by_hand
    quantile = dp.private_quantile(0.5, bounds=(0, 1), rho=1, confidence=None)
    assert (attrs.evolve(dp.records(), unit=Fraction(2)) >> quantile).map(2) == 1


@dp.stage
def handed_on(space: dp.Space[dp.Vectors], first: int = 1, second: int = 2) -> dp.Transformation:
    return dp.Transformation(space, space, lambda value: value, lambda distance: distance)


def test_a_step_is_shown_as_it_is_typed_and_hands_on_what_it_was_given():
    assert repr(handed_on(second=3)) == "handed_on(second=3)"
    assert str(dp.clamp([0] * 30, 1).calls[0]) == "dp.clamp(...)"
    assert repr(dp.count()([1.0])) == "NotPrivate(1)"
    moved = dp.vector(2) >> handed_on()
    assert moved([1.5, 2]).tolist() == [1.5, 2]
    assert moved.map() == moved.map(1)
    assert (dp.records(columns=2) >> dp.clamp(0, 1))([]).shape == (0, 2)


def test_a_copy_with_other_arguments_is_another_call():
    """A kept rehearsal or key would make one of them of the other: 50 in the place of 1."""
    step = dp.count() >> dp.laplace(epsilon=1)
    other = attrs.evolve(step.calls[1], arguments=(("epsilon", 50),))
    louder, space = attrs.evolve(step, calls=(step.calls[0], other)), dp.records(columns=2)
    assert (space >> louder).map(1) == louder.map(1) == 50
    assert (space >> step).map(1) == dp.from_json((space >> step).to_json()).map(1) == 1
    (clamp,) = dp.clamp(0, 10).calls
    wide = attrs.evolve(clamp, arguments=(("lower", 0), ("upper", 1000)))
    assert (attrs.evolve(dp.clamp(0, 10), calls=(wide,)) >> dp.sum()).map(1).l1 == 1000


@dp.mechanism
def first_row(space: dp.Space[dp.Rows]) -> dp.Measurement[dp.Space[dp.Rows], dp.MaxDivergence]:
    """Which row comes first: equal rows in another order lose as much as other rows."""
    function = lambda rows: float(np.asarray(rows)[0, 0])  # noqa: E731
    return dp.Measurement(space, dp.MaxDivergence(), function, lambda distance: Fraction(1))


@pytest.mark.parametrize(
    "use",
    [
        lambda: dp.sample(0.1, first_row()).map(1),
        lambda: dp.by("g", range(5), dp.select("x") >> first_row()).map(1),
        lambda: dp.adaptive(lambda ask: ask(first_row()), dp.epsilon(1))([1.0]),
        lambda: dp.session([1.0], dp.epsilon(1))(first_row()),
    ],
)
def test_what_equal_rows_lose_is_refused_where_it_counts_as_nothing(use):
    """Of 5 groups that stay as they are each would lose 1 by the order of its rows."""
    assert first_row().map(0) == 1
    with pytest.raises(dp.SpaceError, match="is lost between equal rows"):
        use()


class HalfDivergence(dp.MaxDivergence):
    """A loss of v is an epsilon of 2 v."""


@dp.mechanism
def half_count(space: dp.Space[dp.Rows]) -> dp.Measurement[dp.Space[dp.Rows], HalfDivergence]:
    """A count whose loss is stated in a measure of one's own."""
    count = space >> dp.count() >> dp.laplace(epsilon=2)
    return dp.Measurement(space, HalfDivergence(), count.function, Fraction)


def test_a_sample_knows_no_law_of_another_measure():
    """By that of its base class 0.62 would stand for an epsilon of 1.24, where 1.43 is lost."""
    with pytest.raises(dp.ParameterError, match="no loss of a secret sample is known"):
        dp.sample(0.5, half_count()).map(1)


class Nine(int):
    """Says that it is 9 once it is asked: when there is a row."""

    def __int__(self):
        return 9

    __index__ = __float__ = __hash__ = __int__

    def __eq__(self, other):
        return other == 9


def test_a_number_of_a_type_of_ones_own_is_the_number_that_it_holds():
    rows = np.array([[1.0, 2.0, 3.0]])
    third = dp.select(Nine(2)) >> dp.clamp(0, 9) >> dp.sum()
    assert (dp.records(columns=3) >> third)(rows) == 3
    assert (dp.one_hot([Nine(5), 1]) >> dp.sum())([5.0, 9.0]).tolist() == [1, 0]
    assert dp.clamp(0, Nine(5)) == dp.clamp(0, 5)


def test_check_is_exact():
    pipeline = dp.compose(*[dp.count() >> dp.laplace(epsilon=0.1)] * 3)
    assert pipeline.check(1, 0.3)
    assert pipeline.check(1, Fraction(3, 10))
    assert not pipeline.check(1, Fraction(3, 10) - Fraction(1, 10**30))
    total = dp.clamp(-2, 1) >> dp.sum()
    assert total.check(2, dp.Norms(l1=4))
    assert not total.check(2, dp.Norms(l1=4, l2=3.9999))
    assert dp.clamp(0, 1).check(3, 3)
    assert not dp.clamp(0, 1).check(3, 2)


def test_conversions_as_steps_and_as_methods():
    laplace = dp.count() >> dp.laplace(epsilon=1)
    assert laplace.to_zcdp() == laplace >> dp.to_zcdp()
    both = laplace.to_zcdp().to_approximate(1e-6)
    assert both == laplace >> dp.to_zcdp() >> dp.to_approximate(1e-6)
    assert both.map(1)[1] == 1e-6
    assert both.map(1)[0] < 1
    bound = laplace.bind(dp.records())
    assert bound.to_zcdp().map(1) == laplace.to_zcdp().map(1)
    assert bound.to_zcdp().output_measure == dp.ZeroConcentratedDivergence()
    assert laplace.to_zcdp().map(2) < 4 * laplace.to_zcdp().map(1)


def test_a_loss_is_a_plain_number_and_knows_its_curve_inside():
    gauss = dp.count() >> dp.gaussian(rho=0.5)
    pair = gauss >> dp.to_approximate(1e-6)
    assert type(gauss.loss(1)) is Fraction
    assert type(pair.loss(1)) is tuple
    assert repr(gauss.loss(1)) == "Fraction(1, 2)"
    assert pair.epsilon(1e-9) == gauss.epsilon(1e-9)
    carried = gauss.bound.privacy_map(Fraction(1))
    for again in (pickle.loads(pickle.dumps(carried)), copy.copy(carried), copy.deepcopy(carried)):
        assert again == carried
        assert gauss.bound.output_measure.profile(again) == gauss.privacy_profile(1)
    for plain in (carried * 2, carried + carried, carried * Fraction(1)):
        assert type(plain) is Fraction


def test_explanations_say_every_step():
    text = (SIMPLEX >> dp.simplex_ratio(0, 100)).explain(2)
    for word in ("dp.records()", "Box(0, 100)", "x 100", "200"):
        assert word in text
    assert "loss for adding or removing 2 rows: rho = 2 zCDP" in text
    assert "sigma = 100" in text
    html = SIMPLEX._repr_html_()
    assert html.count("<tr>") == 6
    assert "dp.clamp(0, 100)" in html
    assert "&lt;" in ((dp.count() >> dp.laplace(epsilon=1)) >> (lambda x: x))._repr_html_()
    replaced = SIMPLEX.bind(dp.records(size=3, metric=dp.ChangeOneDistance()))
    assert "replacing one row" in replaced.explain()
    assert "adding or removing one row: 1 (l1, l2, linf)" in (dp.clamp(0, 1) >> dp.sum()).explain()


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ((dp.records() >> dp.clamp(0, 40) >> dp.sum()).output_space, "one number"),
        ((dp.records(columns=3) >> dp.clamp(0, 40) >> dp.sum()).output_space, "3 numbers"),
        ((dp.records() >> dp.count()).output_space, "one whole number"),
        ((dp.records() >> dp.bins([0, 1, 2]) >> dp.sum()).output_space, "2 whole numbers"),
        (dp.vector(3), "3 numbers"),
        (dp.scalar(), "one number"),
    ],
)
def test_numbers_are_told_in_plain_words(space, words):
    assert space.domain.words() == words


def test_a_grid_coarser_than_whole_numbers_is_told():
    assert dp.Vectors(3, exponent=4).words() == "3 whole numbers in steps of 2^4"


def test_losses_in_words_are_rounded_up():
    pipeline = dp.count() >> dp.laplace(epsilon=1) >> dp.to_zcdp()
    assert "rho = 0.462118 zCDP" in pipeline.explain()
    assert pipeline.map(1) < 0.462118


def test_what_is_put_together_by_hand_can_be_joined_but_not_pickled():
    space = dp.clamp(0, 2).bind(dp.records())
    hand = dp.Transformation(
        space.input_space, space.output_space, space.function, space.stability_map
    )
    assert (hand >> dp.sum() >> dp.laplace(epsilon=1)).map(1) == 1
    assert (hand >> dp.sum())([5.0]).tolist() == [2]
    assert hand == hand
    assert hand != space
    assert copy.copy(hand) is copy.deepcopy(hand) is hand
    with pytest.raises(dp.ParameterError, match="by hand"):
        pickle.dumps(hand)
    with pytest.raises(dp.SpaceError, match="Put sum"):
        hand >> dp.gaussian(rho=1)


def test_a_part_put_together_by_hand_is_never_forgotten():
    """Its loss would be: a copy without it claims half of what is true here."""
    rows = dp.records()
    twice = dp.Transformation(rows, rows, lambda data: data, lambda distance: 2 * distance)
    noise = dp.count() >> dp.laplace(scale=1)
    constant = dp.Measurement(rows, dp.MaxDivergence(), lambda *_: 1, lambda distance: 2 * distance)
    for alone in (twice, constant):
        assert repr(alone) == "dp.records() >> <put together by hand>"
        with pytest.raises(dp.ParameterError, match="cannot be written to JSON"):
            alone.to_json()
    for loss, made in ((2, twice >> noise), (2, constant >> max), (1.6, constant >> dp.to_zcdp())):
        assert made.map(1) == pytest.approx(loss, rel=0.05)
        assert made == made
        assert "<put together by hand>" in repr(made)
        with pytest.raises(dp.ParameterError, match="by hand"):
            pickle.dumps(made)
        with pytest.raises(dp.ParameterError, match="cannot be written to JSON"):
            made.to_json()
    assert twice >> noise != rows >> noise
    assert twice >> noise != twice >> noise
    assert "<put together by hand>" in (twice >> noise).explain()


def test_values_are_frozen():
    bound = SIMPLEX.bind(dp.records())
    for value, field in ((bound, "privacy_map"), (dp.records(), "metric"), (SIMPLEX, "calls")):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(value, field, None)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: dp.clamp(0, 100) >> dp.gaussian(rho=1),
            r"dp.clamp\(0, 100\) gives rows. Put sum\(\) or count\(\) between them",
        ),
        (lambda: dp.sum() >> dp.clamp(0, 1), r"before sum\(\) or count\(\)"),
        (lambda: dp.records() >> dp.gaussian(rho=1), r"Put sum\(\)"),
        (lambda: dp.scalar() >> dp.clamp(0, 1), "rows"),
        (lambda: dp.gaussian(rho=1) >> dp.clamp(0, 1), "cannot follow noise"),
        (lambda: SIMPLEX >> SIMPLEX, "cannot follow noise"),
        (lambda: SIMPLEX >> 3, "function"),
        (lambda: dp.sum() >> np.sqrt, "plain function"),
        (lambda: dp.sum() >> np.poly1d([7, 9]), "^poly1d is a plain function"),
        (lambda: dp.sum() >> (lambda x: x), "dp.stage"),
        (lambda: dp.sum() >> 3, "joins pipeline steps"),
        (lambda: dp.records() >> dp.clamp(0, 1) >> 3, "joins pipeline steps"),
        (lambda: dp.records() >> dp.clamp(0, 1) >> len, "plain function"),
        (lambda: np.ones(3) >> dp.sum(), "pipeline"),
        (lambda: [1.0] >> SIMPLEX, "pipeline"),
        (lambda: (dp.count() >> dp.gaussian(rho=1)) >> dp.to_zcdp() >> abs >> dp.sum(), "noise"),
        (lambda: SIMPLEX.map(0.5), "whole number"),
        (lambda: SIMPLEX.map("1"), "number"),
        (lambda: SIMPLEX.check(1, -1), "at least 0"),
        (lambda: dp.Norms(), "at least one"),
        (lambda: dp.Norms(l1=-1), "at least 0"),
        (lambda: (dp.clamp(0, 1) >> dp.sum()).check(1, 3), "Norms"),
        (lambda: dp.records("age"), r"\['age'\]"),
        (lambda: dp.records(columns=0), "at least 1"),
        (lambda: dp.vector(0), "at least 1"),
        (lambda: (dp.count() >> dp.laplace(epsilon=1) >> (lambda x: x)).to_json(), "@dp.stage"),
        (lambda: dp.from_json("{"), "no JSON that to_json"),
        (lambda: dp.from_json(WRITTEN % '{"tuple": 5}'), "no JSON that to_json"),
        (lambda: dp.from_json(WRITTEN % '{"date": 5}'), "no JSON that to_json"),
        (lambda: dp.from_json(WRITTEN % '{"fraction": "1/0"}'), "'1/0' is no fraction"),
        (
            lambda: dp.from_json('{"opendp_lite": 1, "pipeline": ' + "[" * 300 + "]" * 300 + "}"),
            "levels of nesting",
        ),
        (lambda: dp.from_json(WRITTEN % (NESTED * 300 + "1" + "}}" * 300)), "levels of nesting"),
        (lambda: dp.from_json(5), "to_json"),
        (lambda: SIMPLEX >> dp.simplex_ratio(0, 40), r"write simplex_ratio\(0, 100\)"),
        (lambda: SIMPLEX >> dp.simplex_ratio(40, 0), "must be below the upper"),
        (lambda: SUM >> dp.simplex_ratio(0, 1), "needs the two sums of simplex_augment"),
        (lambda: dp.count() >> dp.gaussian(rho=1) >> dp.simplex_ratio(0, 1), "not a count"),
        (lambda: SUM >> dp.count_ratio(0, 1), "needs a sum and a count"),
        (lambda: dp.compose(SUM, SUM) >> dp.count_ratio(0, 1), "in this order"),
        (lambda: CENTRED >> dp.count_ratio(0, 1), "write middle=0.5"),
        (lambda: CENTRED >> dp.count_ratio(1, 0, 0.5), "must be below the upper"),
        (lambda: SIMPLEX >> dp.simplex_ratio, "once it is called"),
        (lambda: SUM >> dp.to_zcdp, "once it is called"),
        (lambda: SUM >> dp.to_approximate, "once it is called"),
        (lambda: dp.clamp >> dp.sum(), "once it is called"),
        (lambda: dp.records(columns=2) >> dp.count, "once it is called"),
        (lambda: SUM >> 1.0, "only a function of the release"),
        (lambda: dp.sum() >> dp.laplace(epsilon=1).map(1), r"parentheses around it: \(a >> b\)"),
        (lambda: dp.sum() >> dp.laplace(epsilon=1)([1.0, 2.0]), "whole pipeline"),
        (lambda: dp.gaussian(rho=1)([1.0, 2.0]), "whole pipeline"),
        (lambda: (dp.vector(3) >> dp.gaussian(rho=1))([1.0]), "of 3 entries.*whole pipeline"),
        (lambda: dp.laplace(), "got none; add epsilon=1, say"),
        (
            lambda: dp.private_quantile(50, bounds=(0, 9), rho=1, confidence=None),
            "got 50; 50 % is 0.5",
        ),
        (
            lambda: dp.private_quantile(0.5, bounds=(9, 0), rho=1, confidence=None),
            "the upper, 0; swap them",
        ),
        (lambda: dp.records(metric=dp.ChangeOneDistance), "parentheses"),
        (lambda: dp.records(metric="replace"), "SymmetricDistance"),
        (lambda: dp.records(columns=1.5), "whole number"),
        (lambda: dp.records(columns=["a", "a"]), "twice"),
        (lambda: dp.Blocks([1.0]), "anew"),
        (lambda: dp.compose(3), "ends in noise"),
        (lambda: dp.compose(dp.records() >> SUM), "leave out the space in front"),
        (lambda: dp.audit(SUM, [], [1.0], releases=1), "at least"),
        (lambda: nothing().map(1), "returned nothing"),
        (lambda: dp.gaussian(), "epsilon= with delta="),
        (lambda: dp.from_json("{}"), "not a pipeline"),
        (lambda: dp.from_json('{"opendp_lite": true, "pipeline": null}'), "not a pipeline"),
        (lambda: dp.from_json(WRITTEN % '{"date": 1, "date": 2}'), "stands twice in one object"),
    ],
)
def test_refusals_say_the_mend(make, words):
    with pytest.raises(dp.OpenDPLiteError, match=words):
        make()


def test_no_refusal_repeats_data():
    secret = np.array([123456.0, 7.0])
    for call in (
        SIMPLEX.map,
        SIMPLEX.check,
        dp.Norms,
        dp.MaxDivergence().loss,
        dp.clamp,
        lambda data: SIMPLEX >> data,
        lambda data: dp.sum() >> data.tolist(),
        lambda data: data.tolist() >> SIMPLEX,
        lambda data: dp.records(columns=2) >> dp.select(data),
        lambda data: dp.records(data.tolist()),
        lambda data: dp.by("age", [data[0]] * 2, dp.count() >> dp.laplace(epsilon=1)),
    ):
        with pytest.raises((dp.OpenDPLiteError, TypeError)) as refusal:
            call(secret)
        assert "123456" not in str(refusal.value)


LAPLACE_TAKES = r"laplace\(\).*it is called laplace\(budget, scale=, epsilon=, confidence=\)"
NOISE_AFTER = r"put >> dp.laplace\(epsilon=1\) after it"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.clamp(0), r"clamp\(\): missing"),
        (lambda: dp.sum(3), r"sum\(\)"),
        (lambda: dp.laplace(rho=1), LAPLACE_TAKES),
        (
            lambda: dp.mean(bounds=(0, 9), epsilon=1, confidence=None),
            "in place of bounds= it takes lower, upper",
        ),
        (lambda: dp.mean(0, 100, eps=1, confidence=None), "in place of eps= it takes epsilon"),
        (lambda: dp.count(epsilon=1), NOISE_AFTER),
        (lambda: dp.sum(0, 100, epsilon=1), NOISE_AFTER),
    ],
)
def test_wrong_arguments_name_the_step(make, words):
    with pytest.raises(TypeError, match=words):
        make()


def test_a_default_that_is_typed_changes_nothing():
    for typed, plain in (
        (
            dp.mean(0, 1, epsilon=1, sampling=True, confidence=0.95),
            dp.mean(0, 1, epsilon=1),
        ),
        (dp.clip_to_norm(5, p=2), dp.clip_to_norm(5)),
        (dp.clip_to_norm(5, 2.0), dp.clip_to_norm(5)),
        (dp.count(missing=False), dp.count()),
        (
            dp.measurements.sum_and_count(epsilon=1, stretch=1),
            dp.measurements.sum_and_count(epsilon=1),
        ),
    ):
        assert typed == plain == eval(repr(typed), {"dp": dp})
        assert hash(typed) == hash(plain)
        assert typed.to_json() == plain.to_json()
        assert repr(typed) == repr(plain)
    assert dp.count(missing=True) != dp.count()


def test_a_recipe_answers_whatever_its_bound_pipeline_answers():
    """Bound and unbound have one face."""
    for recipe, bound in (
        (SUM, SUM.bind(dp.records())),
        (dp.clamp(0, 1) >> dp.sum(), (dp.clamp(0, 1) >> dp.sum()).bind(dp.records())),
    ):
        own = {
            "output_space",
            "function",
            "stability_map",
            "privacy_map",
            "facts",
            "recipe",
            "trace",
        }
        own |= {"with_explanation"}
        public = {name for name in dir(bound) if not name.startswith("_")} - own
        assert public <= set(dir(recipe))
    assert SUM.privacy_profile().delta(Fraction(0)) > 0
    assert SUM.neighbours() == "adding or removing one row"
    assert SUM.output_measure == dp.MaxDivergence()
    assert SUM.input_space == dp.records()


def test_steps_typed_alike_are_made_once_and_those_that_only_compare_equal_are_not():
    assert dp.mean(0, 100, epsilon=1, confidence=None) is dp.mean(
        0, 100, epsilon=1, confidence=None
    )
    first, again = (
        dp.select("age") >> dp.mean(0, 100, epsilon=1, confidence=None) for _ in range(2)
    )
    assert first.bound is again.bound is dp.table() >> first
    keys = [[1], [True], [1.0], ["1"], [0.0], [-0.0]]
    made = [dp.by("s", each, dp.count() >> dp.laplace(epsilon=1)) for each in keys]
    assert len(set(map(id, made))) == len(keys)
    assert [repr(*each({"s": [5]})) for each in made] == ["1", "True", "1.0", "'1'", "0.0", "-0.0"]


def test_a_step_of_a_persons_own_is_made_each_time():
    limit = 1

    @dp.stage
    def capped(space: Tables) -> dp.Transformation[Tables, Tables]:
        return dp.row_map(space, lambda block: np.clip(block, 0, limit), dp.bodies.Box(0, limit))

    first = (capped() >> dp.sum()).map(1).l1
    limit = 2
    assert (first, (capped() >> dp.sum()).map(1).l1) == (1, 2)
