"""A statement says of every pipeline what it protects: in words, in JSON and in HTML."""

from __future__ import annotations

import inspect
import json
import math
import re
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.stats import norm

import opendp_lite as dp
from opendp_lite.docstrings import section, sources
from opendp_lite.examples import examples_of
from opendp_lite.measures.conversion import ToZCDP
from opendp_lite.statements.position import Position
from opendp_lite.statements.statement import Statement
from tests.public_names import STEPS, returned

PROOFS = (Path(__file__).parents[2] / "docs/proofs.md").read_text()
HOSTILE = "<script>alert('&\"')</script>"
ROWS = dp.clamp(0, 10) >> dp.sum()
EXAMPLES = {
    f"{path}-{number}": given.space >> step(*given.args, **given.kwargs)
    for path, step in STEPS.items()
    if returned(step) is dp.Measurement
    for number, given in enumerate(examples_of(step))
}


def program(ask: Any) -> Any:
    return ask(ROWS >> dp.gaussian(rho=ask.left))


def first(release: Any) -> float:
    return float(release[0])


@dp.stage
def unproved(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
    return dp.row_map(space, lambda rows: rows, space.domain.body)


@dp.postprocessor
def times(release: float, factor: int) -> float:
    """Multiplies the release."""
    return release * factor


OTHERS = {
    "adaptive": dp.adaptive(program, budget=dp.rho(0.03)),
    "best_of": dp.combinators.best_of(ROWS >> dp.laplace(epsilon=0.2), score=first),
    "above_threshold": dp.above_threshold(lambda test: test(dp.count()), 100, epsilon=1),
    "compose": dp.compose(dp.count() >> dp.laplace(epsilon=1), ROWS >> dp.laplace(epsilon=1)),
    "conversions": dp.count() >> dp.laplace(epsilon=1) >> dp.to_zcdp() >> dp.to_approximate(1e-6),
    "after": dp.count() >> dp.laplace(epsilon=1) >> first >> times(2),
    "own": dp.clamp(0, 1) >> unproved() >> dp.sum() >> dp.laplace(epsilon=1),
    "people": dp.table(person="id")
    >> dp.bound_contributions(3)
    >> dp.select("age")
    >> ROWS
    >> dp.gaussian(epsilon=1, delta=1e-6),
    "hostile": dp.records(columns=[HOSTILE, "age"])
    >> dp.by(HOSTILE, [HOSTILE, "<b>"], dp.select("age") >> ROWS >> dp.laplace(epsilon=1)),
    "by hand": dp.Measurement(dp.records(), dp.MaxDivergence(), lambda *_: 1, lambda d: d),
    "nothing": dp.Measurement(dp.records(), dp.MaxDivergence(), lambda *_: 1, lambda d: 0 * d),
    "hopeless": dp.count() >> dp.laplace(epsilon=10_000),
    "long": dp.select("city")
    >> dp.one_hot([f"city {n}" for n in range(999)])
    >> dp.sum()
    >> dp.laplace(epsilon=1),
}
ALL = {**EXAMPLES, **OTHERS}


class Balanced(HTMLParser):
    """Tags that are opened and closed in order, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def words(text: str) -> str:
    """On one line, without the marks of lists."""
    return " ".join(text.replace("\n- ", "\n").split())


def stated(pipeline: Any) -> Statement:
    found: Statement = pipeline.statement(pipeline.bound.input_space.unit)
    return found


@pytest.mark.parametrize("name", ALL)
def test_every_pipeline_has_a_statement(name: str) -> None:
    pipeline = ALL[name]
    statement = stated(pipeline)
    text = words(str(statement))
    for said in statement.sections.values():
        assert said
        assert all(each and each == each.strip() and each[-1] in ".:" for each in said), said
        assert all(words(each) in text for each in said)
    found = statement.as_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    page = Balanced()
    page.feed(statement._repr_html_())
    page.close()
    assert page.open == []
    assert page.tags == {"div", "b", "table", "tbody", "tr", "th", "td", "code"}
    assert all(each in page.text for said in statement.sections.values() for each in said)
    assert repr(pipeline.bound) in page.text
    loss = pipeline.bound.output_measure.words(
        pipeline.bound.privacy_map(pipeline.bound.input_space.unit)
    )
    assert f"Privacy loss: {loss}." in text


def test_all_shapes_are_stated() -> None:
    made = {name.rpartition("-")[0] for name in EXAMPLES}
    kinds = {path for path, step in STEPS.items() if returned(step) is dp.Measurement}
    assert kinds - made == {"dp.adaptive", "dp.above_threshold", "dp.combinators.best_of"}


def test_the_loss_of_laplace_noise_in_every_measure() -> None:
    loss = (dp.count() >> dp.laplace(epsilon=1)).statement().loss
    assert loss.pure == 1
    assert loss.mu is None
    assert float(loss.rho or 0) == pytest.approx(math.tanh(0.5))
    assert float(loss.odds or 0) == pytest.approx(math.e)
    assert float(loss.guess) == pytest.approx(math.e / (1 + math.e))
    assert loss.guess >= math.e / (1 + math.e) - 1e-15
    assert float(loss.epsilon) == pytest.approx(1, abs=1e-4)


def test_the_loss_of_gaussian_noise_in_every_measure() -> None:
    pipeline = dp.count() >> dp.gaussian(rho=0.5)
    loss = pipeline.statement().loss
    assert (loss.rho, loss.mu, loss.pure, loss.odds) == (0.5, 1, None, None)
    assert float(loss.epsilon) == pytest.approx(4.8866, abs=1e-4)
    assert float(loss.guess) == pytest.approx(norm.cdf(0.5))
    other = pipeline.statement(2, delta=0.01)
    assert (other.loss.rho, other.loss.mu, other.loss.delta) == (2, 2, Fraction(1, 100))
    assert float(other.loss.epsilon) == pytest.approx(pipeline.epsilon(0.01, 2))
    assert other.loss.as_dict()["exact"] == {"rho": "2"}


def test_a_loss_under_gaussian_privacy() -> None:
    loss = dp.adaptive(program, budget=dp.mu(1)).statement().loss
    assert (loss.mu, loss.rho, loss.pure) == (1, 0.5, None)
    assert loss.variant == "Gaussian DP"
    assert loss.parts == (("mu squared", 1),)
    assert float(loss.epsilon) == pytest.approx(4.8866, abs=1e-4)
    assert str(loss.sentences).count("mu = ") == 1


def test_odds_beyond_floats_are_left_out() -> None:
    statement = OTHERS["hopeless"].statement()
    assert statement.as_dict()["loss"]["odds"] is None
    assert "odds" not in str(statement)
    assert "at most 100 % of cases" in words(str(statement))


def test_delta_is_one_at_which_the_loss_holds() -> None:
    budget = dp.adaptive(program, budget=dp.epsilon(1, delta=1e-4))
    loss = budget.statement().loss
    assert (loss.epsilon, loss.delta) == (1, Fraction(1, 10_000))
    with pytest.raises(dp.ParameterError, match="cannot be had"):
        budget.statement(delta=1e-6)
    with pytest.raises(dp.ParameterError, match="delta must be between 0 and 1"):
        budget.statement(delta=2)


def test_the_unit_in_words() -> None:
    noise = dp.count() >> dp.laplace(epsilon=1)
    fixed = dp.records(size=20, metric=dp.ChangeOneDistance())
    row, three = noise.statement(), noise.statement(3)
    replaced, people = (
        (fixed >> ROWS >> dp.laplace(epsilon=1)).statement(),
        stated(OTHERS["people"]),
    )
    assert (row.unit.protected, row.unit.count) == ("one row", 1)
    assert "unbounded" in row.unit.adjacency
    assert "with 5 rows the loss is epsilon = 5 " in words(str(row))
    assert three.unit.protected == "3 rows"
    assert three.loss.pure == 3
    assert three.unit.group == ""
    assert "bounded: both have as many rows" in replaced.unit.adjacency
    assert people.unit.protected == "one person, with all rows of that person"
    assert people.unit.limit == "at most 3 of a person"


def test_what_is_public() -> None:
    table = dp.records(columns=["sex", "age"], size=20, metric=dp.ChangeOneDistance())
    sums = dp.by("sex", ["f", None], dp.select("age") >> ROWS >> dp.laplace(epsilon=1))
    text = words(str((table >> sums).statement()))
    for each in (
        "The columns: sex, age.",
        "The number of rows: 20.",
        "dp.by: column = 'sex', keys = ['f', None].",
        "dp.clamp: lower = 0, upper = 10.",
    ):
        assert each in text
    private = words(str((dp.records(columns=["sex", "age"]) >> sums).statement()))
    assert "The number of rows:" not in private
    assert "the number of rows is private" in private
    box = dp.Space(dp.Rows(2, body=dp.bodies.Box(0, 1, 2)), dp.SymmetricDistance(), unit=1)
    assert "Every row lies in dp.bodies.Box(0, 1, columns=2)." in str(
        (box >> dp.sum() >> dp.laplace(epsilon=1)).statement()
    )


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        (ROWS >> dp.laplace(epsilon=1), "dp.clamp: Clips every value"),
        (dp.mean(0, 40, rho=0.1), "dp.mean, lower = 0: The lower bound of the values"),
        (dp.mean(rho=0.1), "Values beyond the bounds that were found are clipped"),
        (dp.clip_to_norm(3) >> dp.sum() >> dp.gaussian(rho=1), "Shortens every row"),
        (dp.private_quantile(0.5, bounds=(0, 9), epsilon=1), "Values beyond the bounds count as"),
        (OTHERS["people"], "Keeps at most so many rows of each person"),
        (dp.histogram("sex", categories=["f"], epsilon=1), "not declared is left out"),
        (dp.drop_nan() >> dp.count() >> dp.laplace(epsilon=1), "Leaves out every row"),
        (dp.impute(3) >> ROWS >> dp.laplace(epsilon=1), "in the place of every missing one"),
        (dp.clamp(0, 1) >> dp.resize(9) >> dp.sum() >> dp.laplace(epsilon=1), "to a public number"),
        (dp.keep("sex", among=["f"]) >> dp.count() >> dp.laplace(epsilon=1), "Keeps the rows"),
        (OTHERS["hostile"], "is in no group"),
        (dp.cdf(0, 10, rho=0.1), "Values below it count as the bound"),
        (dp.variance(0, 10, rho=0.1), "clipped to limits that a part of the budget finds"),
    ],
)
def test_what_clipping_may_have_moved(pipeline: Any, said: str) -> None:
    text = words(str(pipeline.statement()))
    assert said in text
    assert "No interval shows what clipping and leaving out have moved." in text


def test_a_column_cannot_write_lines_of_its_own() -> None:
    forged = "age\nWhat is protected\n- Everybody.\x1b[2J"
    rows = dp.records(columns=[forged, "id"], person="id")
    sums = dp.bound_contributions(1) >> dp.select(forged) >> ROWS >> dp.laplace(epsilon=1)
    text = str((rows >> sums).statement())
    assert text.count("\nWhat is protected\n") == 1
    assert "\x1b" not in text


def test_noise_and_intervals() -> None:
    plain = words(str((ROWS >> dp.laplace(epsilon=1)).statement()))
    assert "Laplace noise of standard deviation 14.1421 on the grid of multiples of 2^-13" in plain
    assert "With a probability of 95 % the noise moves a released number by at most 30" in plain
    assert "no interval" in plain
    asked = words(str((ROWS >> dp.laplace(epsilon=1, confidence=0.9)).statement()))
    assert "The release has intervals at confidence 0.9." in asked
    inside = words(str(dp.compose(dp.mean(0, 1, rho=1, confidence=0.95)).statement()))
    assert "The release has intervals at confidence 0.95." in inside


@pytest.mark.parametrize(
    ("pipeline", "kept"),
    [
        (dp.mean(0, 1, epsilon=1, confidence=0.9) >> float, False),
        (dp.mean(0, 1, epsilon=1, confidence=0.9) >> dp.to_zcdp(), True),
        (dp.compose(dp.mean(0, 1, epsilon=1, confidence=0.9) >> float), False),
        (dp.compose(dp.mean(0, 1, epsilon=1, confidence=0.9)) >> list, False),
        (dp.compose(dp.mean(0, 1, epsilon=1, confidence=0.9)), True),
    ],
)
def test_no_interval_is_promised_that_a_function_may_drop(pipeline: Any, kept: bool) -> None:
    text = words(str(pipeline.statement()))
    assert ("The release has intervals at confidence 0.9." in text) is kept
    assert ("It may leave them out." in text) is not kept


def test_a_function_cannot_write_lines_of_its_own() -> None:
    def forged(release: Any) -> Any:
        return release

    forged.__name__ = "float\nWhat is protected\n- Everybody.\x1b[2J"
    text = str((dp.count() >> dp.laplace(epsilon=1) >> forged).statement())
    assert text.count("\nWhat is protected\n") == 1
    assert "\x1b" not in text


def test_a_function_that_passes_for_a_step_is_trusted_by_name() -> None:
    class Forged:
        """Has what steps of opendp_lite have."""

        documented = staticmethod(dp.count)
        __name__ = "forged"

        def spelled(self) -> tuple[str, dict[str, Any]]:
            return "count", {}

        def __call__(self, release: Any) -> Any:
            return release

    best = dp.combinators.best_of(ROWS >> dp.laplace(epsilon=0.2), score=Forged())
    assert "the function forged" in best.statement().trusted
    after = dp.count() >> dp.laplace(epsilon=1) >> Forged()
    assert "The function forged costs nothing if it reads" in words(str(after.statement()))


@pytest.mark.parametrize("many", [710, 10**9, 10**30])
def test_odds_beyond_floats_are_not_told(many: int) -> None:
    statement = (dp.count() >> dp.laplace(epsilon=1)).statement(many)
    assert statement.loss.odds is None
    assert "odds by a factor" not in str(statement)


def test_rows_that_are_spread_over_groups_are_told_so() -> None:
    """Nobody declares them at the front, where one row would count as a third of one."""
    spread = dp.metrics.SpreadDistance("city", 3)
    told = "adding or removing 6 rows, at most 2 of them with one value of 'city'"
    assert spread.words(spread.distance(6)) == told
    with pytest.raises(dp.ParameterError, match=r"a multiple of 3; got 1\. A space with a person"):
        dp.table(metric=spread)
    for column, groups in (("city", 0), ("city", "x"), ("city", -1), (5, 2)):
        with pytest.raises(dp.ParameterError, match=r"groups|column is the name"):
            dp.metrics.SpreadDistance(column, groups)


def test_what_follows_the_noise() -> None:
    after = words(str(stated(OTHERS["after"])))
    assert "The function first costs nothing if it reads the release alone." in after
    own = "The function times costs nothing if it reads the release alone."
    assert f"times(2): Multiplies the release. {own}" in after
    assert "Nothing follows" not in after
    assert "Nothing follows" in str(stated(OTHERS["compose"]))
    restated = words(str(stated(OTHERS["conversions"])))
    assert "dp.to_zcdp() states the same loss in another measure" in restated
    ratio = dp.estimators.simplex_ratio(0, 10)
    pairs = ROWS >> dp.gaussian(rho=1)
    assert repr(ratio).split("(")[0] in str(
        (
            dp.clamp(0, 10) >> dp.simplex_augment() >> dp.sum() >> dp.gaussian(rho=1) >> ratio
        ).statement()
    )
    assert pairs.statement().after


@pytest.mark.parametrize(
    ("name", "trusted"),
    [
        ("adaptive", ("the function program",)),
        ("best_of", ("the function first",)),
        ("own", ("the step unproved",)),
        ("by hand", ("a part that was put together by hand",)),
        ("after", ()),
        ("people", ()),
    ],
)
def test_what_is_no_part_of_the_package_is_named(name: str, trusted: tuple[str, ...]) -> None:
    statement = stated(OTHERS[name])
    assert statement.trusted == trusted
    warned = "This is not said of what is no part of opendp_lite" in words(str(statement))
    assert warned == bool(trusted)


def test_classes_of_ones_own_are_named_wherever_the_loss_relies_on_them() -> None:
    class OwnBasis(dp.bases.Haar):
        """A basis."""

    class OwnRows(dp.Rows):
        """A domain."""

    class OwnConversion(ToZCDP):
        """A conversion."""

    given = dp.records().domain
    own = OwnRows(**{each.alias: getattr(given, each.name) for each in attrs.fields(dp.Rows)})
    counted = dp.count() >> dp.laplace(epsilon=1)
    found = {
        "the class OwnBasis": dp.estimators.basis_distribution(OwnBasis(4, 0, 8), rho=1),
        "the domain OwnRows": dp.Space(own, dp.SymmetricDistance(), unit=1) >> counted,
        "the conversion OwnConversion": counted >> OwnConversion(),
    }
    for name, pipeline in found.items():
        assert pipeline.statement().trusted == (name,)
    told = "OwnConversion states the loss in another measure, and the loss relies on it."
    assert found["the conversion OwnConversion"].statement().after == (told,)


def test_examples_of_the_package_rely_on_nothing_else() -> None:
    assert {name: stated(each).trusted for name, each in EXAMPLES.items()} == dict.fromkeys(
        EXAMPLES, ()
    )


def test_a_class_may_follow_the_noise() -> None:
    statement = (dp.count() >> dp.laplace(epsilon=1) >> str).statement()
    assert statement.after == ("The function str costs nothing if it reads the release alone.",)
    assert statement.trusted == ()


def test_every_step_names_its_proof() -> None:
    named = {each.name: each for pipeline in ALL.values() for each in stated(pipeline).steps}
    assert len(named) > 50
    for path, step in named.items():
        if step.own:
            assert "No proof is stated." in str(step)
            continue
        assert f"\n| `{path.rpartition('.')[2]}` |" in PROOFS, path
        assert step.because.strip(".")
    cited = {"Bun and Steinke 2016, proposition 1.6", "Balle and Wang 2018, theorem 8"}
    assert cited <= set(named["dp.gaussian"].sources)
    assert named["dp.by"].sources == ("McSherry 2009, theorem 4",)


def test_sources_are_found_in_every_proof_that_has_a_year() -> None:
    for path, step in STEPS.items():
        proof = section(inspect.unwrap(step), "Proof")
        found = " ".join(sources(proof))
        years = re.findall(r"[A-Z][a-z]+ ((?:19|20)\d\d)\b", proof)
        assert all(year in found for year in years), (path, found)
        assert all(each in proof for each in sources(proof)), path


def test_inner_pipelines_are_stated() -> None:
    names = [each.name for each in stated(OTHERS["best_of"]).steps]
    assert names == ["dp.combinators.best_of", "dp.clamp", "dp.sum", "dp.laplace"]
    inner = [each.name for each in dp.histogram("sex", categories=["f"], rho=1).statement().steps]
    assert {"dp.one_hot", "dp.gaussian", "dp.histogram"} <= set(inner)


def test_the_position_in_a_ledger() -> None:
    alone = dp.mean(0, 1, rho=0.1).statement()
    assert "The losses of other releases of the same data add up." in words(str(alone))
    assert alone.as_dict()["position"] is None
    place = Position(
        "the ledger survey", 3, "rho = 0.4 zCDP", "rho = 0.6 zCDP", "rho = 1 zCDP", "abc123"
    )
    found = attrs.evolve(alone, position=place)
    text = words(str(found))
    for each in ("entry 3 of the ledger survey", "Left: rho = 0.6 zCDP", "chain: abc123"):
        assert each in text
    assert "This release alone" not in text
    told = attrs.evolve(place, note="table 3", unit="person")
    short = attrs.evolve(found, position=told).sections["In short"]
    assert short[0] == "This is entry 3 of the ledger survey, 'table 3'."
    assert "The owner of the ledger declares that it protects any one person." in short
    assert "Left for further releases: rho = 0.6 zCDP. The whole budget is rho = 1 zCDP." in short
    assert found.as_dict()["position"] == attrs.asdict(place)
    assert found.as_dict()["deployment"]["deployment_model"]["release_type"] == "Many releases"


def test_the_fields_of_the_registry() -> None:
    found = stated(OTHERS["people"]).as_dict()["deployment"]
    assert {name: set(group) for name, group in found.items()} == {
        "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
        "privacy_loss": {
            "privacy_unit",
            "privacy_unit_details",
            "number_of_privacy_units",
            "privacy_parameters",
            "privacy_parameters_details",
        },
        "deployment_model": {"model_name", "trust_assumptions", "release_type"},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning",
            "mechanisms",
            "composition",
            "post_processing",
            "justification",
            "utility",
        },
    }
    assert found["dp_variant"]["variant_name"] == "Approximate DP"
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    other = stated(OTHERS["adaptive"]).as_dict()["deployment"]
    assert other["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert other["privacy_loss"]["privacy_parameters"] == {"rho": 0.03}


def test_a_statement_is_the_same_whatever_the_data() -> None:
    pipeline = dp.mean(0, 40, epsilon=1)
    before = pipeline.statement()
    for data in (np.zeros(3), np.full(997, 1e9)):
        pipeline(data)
        assert pipeline.statement() == before
        assert str(pipeline.statement()) == str(before)


@pytest.mark.parametrize(
    ("pipeline", "nothing"),
    [
        (dp.count() >> dp.laplace(epsilon=1), 0),
        (dp.vector(2) >> dp.gaussian(rho=1), dp.Norms(l2=0)),
    ],
)
def test_a_statement_is_about_somebody(pipeline, nothing):
    with pytest.raises(dp.ParameterError, match="statement: d_in must be above 0"):
        pipeline.statement(nothing)


def test_the_score_of_best_of_is_trusted_to_keep_nothing() -> None:
    """It sees the releases of all runs, and the loss counts one of them."""
    scored = dp.combinators.best_of(dp.count() >> dp.laplace(epsilon=1), score=float)
    told = scored.statement().sections["Who is trusted"]
    assert "The loss also relies on the function float, which is no part of opendp_lite." in told
    assert told[-1].startswith("A function or step of this kind must keep and show nothing")
    alone = (dp.count() >> dp.laplace(epsilon=1)).statement().sections["Who is trusted"]
    assert not any("must keep and show nothing" in each for each in alone)


def test_what_follows_noise_within_a_step_is_named() -> None:
    """``best_of`` shows it the releases of all runs."""

    def kept(release: Any) -> Any:
        return release

    count = dp.count() >> dp.laplace(epsilon=1) >> kept
    for pipeline in (
        dp.combinators.best_of(count, score=float),
        dp.compose(a=count),
        dp.by("sex", ["f"], count),
    ):
        statement = pipeline.statement()
        assert "the function kept" in statement.trusted
        assert statement.after == (
            "The function kept costs nothing if it reads the release alone.",
        )
    (conversion,) = (
        dp.compose(dp.count() >> dp.laplace(epsilon=1) >> dp.to_zcdp()).statement().after
    )
    assert conversion.startswith("dp.to_zcdp() states the same loss in another measure")


@pytest.mark.parametrize("budget", [{"rho": 0.1}, {"epsilon": 1}])
def test_a_mean_of_many_columns_says_that_it_shortens_rows(budget):
    stated = (dp.records(columns=2) >> dp.multivariate_mean(100, **budget)).statement()
    assert any("shortened" in each and "left out" in each for each in stated.changes)


@pytest.mark.parametrize(
    ("pipeline", "words"),
    [
        (dp.impute(3) >> ROWS >> dp.gaussian(rho=1), "in the place of every missing one"),
        (dp.standard_deviation(0, 9, rho=1), "Missing values are left out"),
    ],
)
def test_a_statement_says_what_becomes_of_missing_values(pipeline, words):
    assert any(words in each for each in pipeline.statement().changes)


def test_a_statement_does_not_take_the_noise_of_one_part_for_that_of_all():
    """A quantile declares no law, so that the list would be that of the count alone."""
    count = dp.count() >> dp.laplace(epsilon=1)
    both = dp.compose(count, dp.private_quantile(0.5, bounds=(0, 9), epsilon=1))
    (other,) = set(both.statement().noise) - set(count.statement().noise)
    assert other.startswith("Other noise and random choices")


def test_a_copy_of_a_space_does_not_keep_its_name() -> None:
    sized = dp.records(size=100, metric=dp.ChangeOneDistance())
    space = attrs.evolve(sized, domain=attrs.evolve(sized.domain, size=5))
    assert "100" not in repr(space)
    pipeline = space >> ROWS >> dp.laplace(epsilon=1)
    assert "100" not in str(pipeline.statement())
    with pytest.raises(dp.ParameterError, match="not a name"):
        pipeline.to_json()


def test_a_negative_loss_is_not_stated() -> None:
    true = dp.records() >> dp.count() >> dp.laplace(epsilon=1)
    with pytest.raises(dp.ParameterError, match="gives a loss below 0"):
        attrs.evolve(true, privacy_map=lambda distance: -distance).statement()


def test_metrics_and_measures_of_your_own_are_trusted_by_name() -> None:
    class OwnDistance(dp.SymmetricDistance):
        """Rows that are added or removed."""

    pipeline = dp.records(metric=OwnDistance()) >> dp.count() >> dp.laplace(epsilon=1)
    assert "the metric OwnDistance" in pipeline.statement().trusted
