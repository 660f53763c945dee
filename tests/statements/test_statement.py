"""A statement says of every pipeline what it protects: in words, in JSON and in HTML."""

import json
import math
from fractions import Fraction
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.stats import norm

import opendp_lite as dp
from opendp_lite.explain.statement import Position, Statement
from opendp_lite.measures.divergences import ToZCDP
from opendp_lite.metrics.distances import SpreadDistance
from opendp_lite.spaces.space import examples_of
from opendp_lite.spelling.description import description_of
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


def program(ask):
    return ask(ROWS >> dp.gaussian(rho=ask.left))


def first(release) -> float:
    return float(release[0])


@dp.stage
def unproved(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
    return dp.row_map(space, lambda rows: rows, space.domain.body)


@dp.postprocessor(does="Multiplies the release.")
def times(release: float, factor: int) -> float:
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
ENDLESS = dp.Measurement(
    dp.records(), dp.MaxDivergence(), lambda *_: 1, lambda d: d * Fraction(10) ** 400
)


class Balanced(HTMLParser):
    """Tags that are opened and closed in order, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attributes) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def words(text: str) -> str:
    """On one line, without the marks of lists."""
    return " ".join(text.replace("\n- ", "\n").split())


@cache
def stated(pipeline) -> Statement:
    """Several tests read the same one, and its loss takes a search."""
    found: Statement = pipeline.statement(pipeline.bound.input_space.unit)
    return found


@pytest.mark.parametrize("name", ALL)
def test_every_pipeline_has_a_statement(name):
    pipeline = ALL[name]
    statement = stated(pipeline)
    text = words(str(statement))
    for said in statement.sections.values():
        assert said
        assert all(each and each == each.strip() and each[-1] in ".:" for each in said), said
        assert all(words(each) in text for each in said)
    found = statement.as_dict()
    assert found["statement"] == 1
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


def test_all_shapes_are_stated():
    made = {name.rpartition("-")[0] for name in EXAMPLES}
    kinds = {path for path, step in STEPS.items() if returned(step) is dp.Measurement}
    assert kinds - made == {"dp.adaptive", "dp.above_threshold", "dp.combinators.best_of"}


def test_the_loss_of_laplace_noise_in_every_measure():
    loss = (dp.count() >> dp.laplace(epsilon=1)).statement().loss
    assert loss.pure == 1
    assert loss.mu is None
    assert float(loss.rho or 0) == pytest.approx(math.tanh(0.5))
    assert float(loss.odds or 0) == pytest.approx(math.e)
    assert float(loss.guess) == pytest.approx(math.e / (1 + math.e))
    assert loss.guess >= math.e / (1 + math.e) - 1e-15
    assert float(loss.epsilon) == pytest.approx(1, abs=1e-4)


def test_the_loss_of_gaussian_noise_in_every_measure():
    pipeline = dp.count() >> dp.gaussian(rho=0.5)
    loss = pipeline.statement().loss
    assert (loss.rho, loss.mu, loss.pure, loss.odds) == (0.5, 1, None, None)
    assert float(loss.epsilon) == pytest.approx(4.8866, abs=1e-4)
    assert float(loss.guess) == pytest.approx(norm.cdf(0.5))
    other = pipeline.statement(2, delta=0.01)
    assert (other.loss.rho, other.loss.mu, other.loss.delta) == (2, 2, Fraction(1, 100))
    assert float(other.loss.epsilon) == pytest.approx(pipeline.epsilon(0.01, 2))
    assert other.loss.as_dict()["exact"] == {"rho": "2"}


def test_a_loss_under_gaussian_privacy():
    loss = dp.adaptive(program, budget=dp.mu(1)).statement().loss
    assert (loss.mu, loss.rho, loss.pure) == (1, 0.5, None)
    assert loss.variant == "Custom"
    assert loss.parts == (("mu squared", 1),)
    assert float(loss.epsilon) == pytest.approx(4.8866, abs=1e-4)
    assert str(loss.sentences).count("mu = ") == 1


def test_delta_is_one_at_which_the_loss_holds():
    budget = dp.adaptive(program, budget=dp.epsilon(1, delta=1e-4))
    loss = budget.statement().loss
    assert (loss.epsilon, loss.delta) == (1, Fraction(1, 10_000))
    with pytest.raises(dp.ParameterError, match="cannot be had"):
        budget.statement(delta=1e-6)
    with pytest.raises(dp.ParameterError, match="delta must be between 0 and 1"):
        budget.statement(delta=2)


def test_the_unit_in_words():
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


OTHER_NOISE = "Other noise and random choices"
TIMES = (
    "times(2): Multiplies the release. "
    "The function times costs nothing if it reads the release alone."
)
TABLE = dp.records(columns=["sex", "age"], size=20, metric=dp.ChangeOneDistance())
OF_GROUPS = dp.by("sex", ["f", None], dp.select("age") >> ROWS >> dp.laplace(epsilon=1))
BOX = dp.Space(dp.Rows(2, body=dp.bodies.Box(0, 1, 2)), dp.SymmetricDistance(), unit=1)
MEAN = dp.mean(0, 1, epsilon=1, confidence=0.9, sampling=False)
TOTAL = ROWS >> dp.laplace(epsilon=1)
KEPT = "The release has intervals at confidence 0.9."
CLIPPED = [
    (ROWS >> dp.laplace(epsilon=1), "dp.clamp: Values beyond the bounds are clipped"),
    (dp.mean(0, 40, rho=0.1, confidence=None), "dp.mean: Values beyond the bounds are clipped"),
    (dp.mean(rho=0.1, confidence=None), "to bounds that a part of the budget finds"),
    (dp.clip_to_norm(3) >> dp.sum() >> dp.gaussian(rho=1), "longer than the radius is shortened"),
    (
        dp.private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None),
        "Values beyond the bounds count as",
    ),
    (OTHERS["people"], "Keeps at most so many rows of each person"),
    (dp.histogram("sex", categories=["f"], epsilon=1), "not declared is left out"),
    (dp.drop_nan() >> dp.count() >> dp.laplace(epsilon=1), "Leaves out every row"),
    (dp.impute(3) >> ROWS >> dp.laplace(epsilon=1), "in the place of every missing one"),
    (
        dp.clamp(0, 1) >> dp.resize(9) >> dp.sum() >> dp.laplace(epsilon=1),
        "the rows to a public number",
    ),
    (dp.keep("sex", among=["f"]) >> dp.count() >> dp.laplace(epsilon=1), "Keeps the rows"),
    (OTHERS["hostile"], "is in no group"),
    (dp.cdf(0, 10, rho=0.1, confidence=None), "Values beyond the bounds count as the bound"),
    (dp.variance(0, 10, rho=0.1, confidence=None), "to limits that a part of the budget finds"),
    (dp.records(columns=2) >> dp.multivariate_mean(100, rho=0.1), "shortened"),
    (dp.standard_deviation(0, 9, rho=1, confidence=None), "Missing values are left out"),
]


@pytest.mark.parametrize(
    ("pipeline", "said", "silent"),
    [
        *(
            (pipeline, [said, "No interval shows what clipping and leaving out have moved."], "")
            for pipeline, said in CLIPPED
        ),
        (
            TOTAL,
            [
                "Laplace noise of standard deviation 14.1421 on the grid of multiples of 2^-13",
                "With a probability of 95 % the noise moves a released number by at most 30",
                "no interval",
            ],
            "The release has intervals",
        ),
        (ROWS >> dp.laplace(epsilon=1, confidence=0.9), [KEPT], "no interval"),
        (
            dp.proportion(among=[1], epsilon=1),
            ["of each sum or count that the release is computed from"],
            "With a probability of 95 %",
        ),
        *(
            (pipeline, [KEPT], "It may leave them out.")
            for pipeline in (MEAN >> dp.to_zcdp(), dp.compose(MEAN))
        ),
        *(
            (pipeline, ["It may leave them out."], KEPT)
            for pipeline in (MEAN >> float, dp.compose(MEAN >> float), dp.compose(MEAN) >> list)
        ),
        (OTHERS["hopeless"], ["at most 100 % of cases"], "odds"),
        (
            dp.compose(TOTAL, dp.private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None)),
            [OTHER_NOISE],
            "",
        ),
        (OTHERS["after"], ["The function first costs nothing", TIMES], "Nothing follows"),
        (OTHERS["compose"], ["Nothing follows"], ""),
        (OTHERS["conversions"], ["dp.to_zcdp() states the same loss in another measure"], ""),
        (
            dp.clamp(0, 10)
            >> dp.simplex_augment()
            >> dp.sum()
            >> dp.gaussian(rho=1)
            >> dp.estimators.simplex_ratio(0, 10),
            ["simplex_ratio"],
            "",
        ),
        (dp.count() >> dp.laplace(epsilon=1) >> str, ["The function str costs nothing"], ""),
        (
            TABLE >> OF_GROUPS,
            [
                "The columns: sex, age.",
                "The number of rows: 20.",
                "dp.by: column = 'sex', keys = ['f', None].",
                "dp.clamp: lower = 0, upper = 10.",
            ],
            "",
        ),
        (
            dp.records(columns=["sex", "age"]) >> OF_GROUPS,
            ["the number of rows is private"],
            "The number of rows:",
        ),
        (
            BOX >> dp.sum() >> dp.laplace(epsilon=1),
            ["Every row lies in dp.bodies.Box(0, 1, columns=2)."],
            "",
        ),
    ],
)
def test_what_a_statement_says(pipeline, said, silent):
    text = words(str(stated(pipeline)))
    for each in said:
        assert each in text
    assert not silent or silent not in text


def test_columns_and_functions_cannot_write_lines_of_their_own():
    def forged(release):
        return release

    forged.__name__ = name = "float\nWhat is protected\n- Everybody.\x1b[2J"
    rows = dp.records(columns=[name, "id"], person="id")
    sums = dp.bound_contributions(1) >> dp.select(name) >> ROWS >> dp.laplace(epsilon=1)
    for pipeline in (rows >> sums, dp.count() >> dp.laplace(epsilon=1) >> forged):
        text = str(pipeline.statement())
        assert text.count("\nWhat is protected\n") == 1
        assert "\x1b" not in text


def test_a_function_that_passes_for_a_step_is_trusted_by_name():
    class Forged:
        """Has what steps of opendp_lite have."""

        definition = staticmethod(dp.count)
        __name__ = "forged"

        def spell(self):
            return "count", {}

        def __call__(self, release):
            return release

    best = dp.combinators.best_of(ROWS >> dp.laplace(epsilon=0.2), score=Forged())
    assert "the function forged" in best.statement().trusted
    after = dp.count() >> dp.laplace(epsilon=1) >> Forged()
    assert "The function forged costs nothing if it reads" in words(str(after.statement()))


@pytest.mark.parametrize("many", [710, 10**9, 10**30])
def test_odds_beyond_floats_are_not_told(many):
    statement = (dp.count() >> dp.laplace(epsilon=1)).statement(many)
    assert statement.loss.odds is None
    assert "odds by a factor" not in str(statement)


def test_rows_that_are_spread_over_groups_are_told_so():
    """Nobody declares them at the front, where one row would count as a third of one."""
    spread = SpreadDistance("city", 3)
    told = "adding or removing 6 rows, at most 2 of them with one value of 'city'"
    assert spread.words(spread.distance(6)) == told
    with pytest.raises(dp.ParameterError, match=r"a multiple of 3; got 1\. A space with a person"):
        dp.table(metric=spread)
    for column, groups in (("city", 0), ("city", "x"), ("city", -1), (5, 2)):
        with pytest.raises(dp.ParameterError, match=r"groups|column is the name"):
            SpreadDistance(column, groups)


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
def test_what_is_no_part_of_the_package_is_named(name, trusted):
    statement = stated(OTHERS[name])
    assert statement.trusted == trusted
    warned = "This is not said of what is no part of opendp_lite" in words(str(statement))
    assert warned == bool(trusted)


def test_classes_of_ones_own_are_named_wherever_the_loss_relies_on_them():
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


def test_examples_of_the_package_rely_on_nothing_else():
    assert {name: stated(each).trusted for name, each in EXAMPLES.items()} == dict.fromkeys(
        EXAMPLES, ()
    )


def test_every_step_names_its_proof():
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


def test_a_step_of_ones_own_is_stated_in_its_words_and_in_one_line():
    """Its text reaches people who do not have the pipeline: it can forge no line of a statement."""

    @dp.stage(
        does="Turns\nWhat is protected\n- Everybody.\x1b[2J",
        changes="Nothing.\n- Everybody.",
        proof=dp.Proof("None.", sources=["Own\n- Work 2026, theorem 1"]),
    )
    def turned(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], Any]:
        return dp.row_map(space, lambda rows: rows, space.domain.body)

    statement = (dp.clamp(0, 1) >> turned() >> dp.sum() >> dp.laplace(epsilon=1)).statement()
    text = str(statement)
    assert "turned: Turns What is protected - Everybody. [2J" in words(text)
    assert "turned: Nothing. - Everybody." in words(text)
    assert "Proof: Own - Work 2026, theorem 1." in words(text)
    assert text.count("\nWhat is protected\n") == 1
    assert "\x1b" not in text
    with pytest.raises(dp.ParameterError, match="made of texts, got int"):
        dp.stage(does=3)  # type: ignore[call-overload]


def test_a_bare_step_of_ones_own_says_nothing_whatever_its_docstring():
    @dp.stage
    def bare(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], Any]:
        """Adds noise.

        Proof:
            Newton 1687, theorem 1.
        """
        return dp.row_map(space, lambda rows: rows, space.domain.body)

    assert description_of(bare).does == ""
    text = words(str((dp.clamp(0, 1) >> bare() >> dp.sum() >> dp.laplace(epsilon=1)).statement()))
    assert "bare: Its author does not say what it does. Proof: No proof is stated." in text
    assert "Newton" not in text


def test_inner_pipelines_are_stated():
    names = [each.name for each in stated(OTHERS["best_of"]).steps]
    assert names == ["dp.combinators.best_of", "dp.clamp", "dp.sum", "dp.laplace"]
    inner = [each.name for each in dp.histogram("sex", categories=["f"], rho=1).statement().steps]
    assert {"dp.one_hot", "dp.gaussian", "dp.histogram"} <= set(inner)


def test_the_position_in_a_ledger():
    alone = dp.mean(0, 1, rho=0.1, confidence=None).statement()
    assert "The losses of other releases of the same data add up." in words(str(alone))
    assert alone.as_dict()["position"] is None
    place = Position(
        "the ledger survey",
        1,
        "rho = 0.4 zCDP",
        "rho = 0.6 zCDP",
        "rho = 1 zCDP",
        "abc123",
        entry=3,
    )
    found = attrs.evolve(alone, position=place)
    text = words(str(found))
    for each in (
        "release 1 (entry 3) of the ledger survey",
        "Left: rho = 0.6 zCDP",
        "chain: abc123",
    ):
        assert each in text
    assert "This release alone" not in text
    told = attrs.evolve(place, note="table 3", unit="person")
    short = attrs.evolve(found, position=told).sections["In short"]
    assert short[0] == "This is release 1 (entry 3) of the ledger survey, 'table 3'."
    assert "The owner of the ledger declares that it protects any one person." in short
    assert "Left for further releases: rho = 0.6 zCDP. The whole budget is rho = 1 zCDP." in short
    assert found.as_dict()["position"] == attrs.asdict(place)
    assert found.as_dict()["deployment"]["deployment_model"]["release_type"] == "Many releases"


ANY_TEXT, NUMBER = "text", "number"
REGISTRY = {
    "": {
        "url_slug": ANY_TEXT,
        "status": ("Draft", "Pending", "Changes Required", "Approved"),
        "tier": (1, 2, 3),
    },
    "basic": {
        "name": ANY_TEXT,
        "data_curators": "names and types",
        "description": ANY_TEXT,
        "intended_use": ANY_TEXT,
        "data_product_type": ("Summary statistics", "Machine learning model", "Dataset"),
        "data_product_region": ANY_TEXT,
        "data_product_sector": ("Technology", "Healthcare", "Education", "Government"),
        "publication_date": "date",
    },
    "dp_variant": {
        "variant_name": (
            *("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
        ),
        "data_domain": ANY_TEXT,
        "unprotected_quantities": ANY_TEXT,
    },
    "privacy_loss": {
        "privacy_unit": ANY_TEXT,
        "privacy_unit_details": ANY_TEXT,
        "privacy_parameters": {"epsilon": NUMBER, "delta": NUMBER, "rho": NUMBER},
        "privacy_parameters_details": ANY_TEXT,
    },
    "deployment_model": {
        "model_name": ("Local", "Central", "Shuffle", "Federated", "Varies"),
        "model_name_details": ANY_TEXT,
        "actors": ANY_TEXT,
        "release_type": ("One release", "Many releases"),
        "release_type_details": ANY_TEXT,
        "data_source_type": ("Static", "Dynamic"),
        "data_source_type_details": ANY_TEXT,
        "access_type": ("Interactive", "Non-interactive"),
        "access_type_details": ANY_TEXT,
    },
    "accounting": {"composition": ANY_TEXT, "post_processing": ANY_TEXT},
    "implementation": {
        "preprocessing_and_hyperparameter_tuning": ANY_TEXT,
        "mechanisms": ANY_TEXT,
        "justification": ANY_TEXT,
    },
    "administrative": {"registry_authors": "names", "sources": ANY_TEXT},
}
"""Names of fields, kinds and allowed values of the deployments registry: facts, of a record of
September 2026 (opendp/deployments-registry-data, deployments/mhusage.yaml at 285f803) and of the
schemas at c1d3d30 and 057e5d8. No stored copy of that repository has a licence, so its schema is
not here. 057e5d8 is later: it has the two fields of ``accounting`` under ``implementation``."""


def fits(value: object, kind: object) -> bool:
    """Whether the registry takes a value."""
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(
            name in kind and fits(each, kind[name]) for name, each in value.items()
        )
    if isinstance(kind, tuple):
        return value in kind
    if kind == NUMBER:
        return isinstance(value, int | float) and math.isfinite(value)
    return kind == ANY_TEXT and isinstance(value, str) and bool(value)


IN_THE_REGISTRY = {**ALL, "mu": dp.count() >> dp.gaussian(mu=1), "endless": ENDLESS}


@pytest.mark.parametrize("name", IN_THE_REGISTRY)
def test_the_registry_takes_each_field_and_knows_those_that_are_left(name):
    """Each field of it is filled or marked, and none is both."""
    found = stated(IN_THE_REGISTRY[name]).as_dict()
    filled, left = found["deployment"], found["to_fill"]
    assert fits(filled, REGISTRY)
    for group, fields in REGISTRY.items():
        assert {*filled.get(group, {})} | {*left.get(group, [])} == {*fields}
        assert not {*filled.get(group, {})} & {*left.get(group, [])}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("accounting", "surprise"), "x"),
        (("dp_variant", "variant_name"), "Gaussian DP"),
        (("privacy_loss", "privacy_parameters"), {"mu squared": 1.0}),
        (("privacy_loss", "privacy_parameters"), {"epsilon": None}),
        (("deployment_model", "release_type"), "Continual"),
        (("implementation", "mechanisms"), ""),
    ],
)
def test_what_the_registry_refuses_is_found(path, value):
    filled = stated(OTHERS["people"]).as_dict()["deployment"]
    filled[path[0]][path[1]] = value
    assert not fits(filled, REGISTRY)


def test_the_fields_of_the_registry_hold_what_the_statement_says():
    found = stated(OTHERS["people"]).as_dict()["deployment"]
    # All that a person reads in the statement has a place there.
    assert "standard deviation" in found["implementation"]["mechanisms"]
    assert "trusted curator" in found["implementation"]["justification"]
    assert found["dp_variant"]["variant_name"] == "Approximate DP"
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    other = stated(OTHERS["adaptive"]).as_dict()["deployment"]
    assert other["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert other["privacy_loss"]["privacy_parameters"] == {"rho": 0.03}
    of_mu = stated(IN_THE_REGISTRY["mu"]).as_dict()["deployment"]
    assert of_mu["dp_variant"]["variant_name"] == "Custom"
    parameters = of_mu["privacy_loss"]["privacy_parameters"]
    assert parameters == {"epsilon": pytest.approx(4.88656, abs=1e-5), "delta": 1e-6}
    assert "mu = 1" in of_mu["privacy_loss"]["privacy_parameters_details"]


def test_a_statement_is_the_same_whatever_the_data():
    pipeline = dp.mean(0, 40, epsilon=1, confidence=None)
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


def test_the_score_of_best_of_is_trusted_to_keep_nothing():
    """It sees the releases of all runs, and the loss counts one of them."""
    scored = dp.combinators.best_of(dp.count() >> dp.laplace(epsilon=1), score=float)
    told = scored.statement().sections["Who is trusted"]
    assert "The loss also relies on the function float, which is no part of opendp_lite." in told
    assert told[-1].startswith("A function or step of this kind must keep and show nothing")
    alone = (dp.count() >> dp.laplace(epsilon=1)).statement().sections["Who is trusted"]
    assert not any("must keep and show nothing" in each for each in alone)


def test_what_follows_noise_within_a_step_is_named():
    """``best_of`` shows it the releases of all runs."""

    def kept(release):
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


def test_a_copy_of_a_space_does_not_keep_its_name():
    sized = dp.records(size=100, metric=dp.ChangeOneDistance())
    space = attrs.evolve(sized, domain=attrs.evolve(sized.domain, size=5))
    assert "100" not in repr(space)
    pipeline = space >> ROWS >> dp.laplace(epsilon=1)
    assert "100" not in str(pipeline.statement())
    with pytest.raises(dp.ParameterError, match="not a name"):
        pipeline.to_json()


def test_metrics_and_measures_of_your_own_are_trusted_by_name():
    class OwnDistance(dp.SymmetricDistance):
        """Rows that are added or removed."""

    pipeline = dp.records(metric=OwnDistance()) >> dp.count() >> dp.laplace(epsilon=1)
    assert "the metric OwnDistance" in pipeline.statement().trusted
