"""The front door: its names, their documentation, their repr and their JSON."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.documents import spells, write
from opendp_lite.measures.conversion import Conversion

REPLACE = dp.records(size=20, metric=dp.ChangeOneDistance())
TABLE = dp.records(columns=["age", "visits"])

CLAMPED = dp.clamp(0, 10)
SUMMED = CLAMPED >> dp.sum() >> dp.gaussian(rho=0.5)
COUNTED = dp.count() >> dp.laplace(epsilon=0.1)
FLAT = dp.bases.Hadamard(4, 0, 10)
BOTH_WAYS = CLAMPED >> dp.simplex_augment() >> dp.sum()

SPELLED = {name for name in dp.__all__ if spells(vars(dp).get(name))}

PIPELINES: list[tuple[dp.Space[Any], Any]] = [
    (dp.records(), dp.center(5)),
    (
        dp.records(),
        dp.transformations.basis_features(dp.bases.Legendre(5, 0, 0.1))
        >> dp.sum()
        >> dp.laplace(epsilon=1),
    ),
    (
        REPLACE,
        dp.transformations.basis_features(dp.bases.Daubechies(4, -1, 1, moments=2))
        >> dp.select([1, 3]),
    ),
    (
        dp.records(),
        dp.transformations.basis_features(dp.bases.Haar(8, 0, 1 / 3)) >> dp.scale(0.5) >> dp.sum(),
    ),
    (dp.records(), dp.basis_distribution(dp.bases.Cosine(5, 0, 10), rho=0.1)),
    (
        REPLACE,
        dp.basis_distribution(dp.bases.Hermite(4, middle=1, scale=0.5), epsilon=1, delta=1e-6),
    ),
    (dp.records(), dp.basis_distribution(dp.bases.Laguerre(3, scale=2.5, lower=-1), epsilon=1)),
    (
        dp.records(),
        dp.transformations.basis_features(FLAT)
        >> dp.sum()
        >> dp.gaussian(scale=2)
        >> dp.estimators.distribution(FLAT, deviation=2, size=7),
    ),
    (dp.records(2), dp.center([5, 0.1])),
    (dp.records(), CLAMPED),
    (dp.records(columns=3), dp.clamp([0, -1, 1e-300], [1, 2.5, 1e300])),
    (dp.records(2), dp.clamp(np.zeros(2), np.array([1.0, 0.1]))),
    (TABLE, dp.clip_to_norm(5)),
    (TABLE, dp.clip_to_norm(0.1, p=1)),
    (REPLACE, dp.clamp(-1, 1) >> dp.sum()),
    (dp.records(), dp.count()),
    (dp.records(metric=dp.SymmetricDistance()), dp.drop_nan()),
    (dp.records(), dp.impute(-0.5)),
    (dp.records(2), dp.impute([0, 1])),
    (dp.records(), CLAMPED >> dp.resize(4, fill=5) >> dp.sum()),
    (dp.records(2), CLAMPED >> dp.resize(4, [1, 2])),
    (dp.records(), dp.scale(0.1)),
    (dp.records(2), dp.scale([2, 1 / 3])),
    (TABLE, dp.select("visits")),
    (TABLE, dp.select(["visits", "age"])),
    (dp.records(3), dp.select([2, 0])),
    (dp.records(), CLAMPED >> dp.simplex_augment()),
    (dp.records(), COUNTED),
    (dp.records(), dp.count() >> dp.laplace(scale=3)),
    (dp.scalar(), dp.laplace(epsilon=1)),
    (dp.scalar(unit=0.5), dp.laplace(scale=2)),
    (dp.vector(3, metric=dp.metrics.L1Distance()), dp.laplace(scale=0.1)),
    (dp.vector(3, metric=dp.metrics.L1Distance(), unit=2.5), dp.laplace(epsilon=1)),
    (dp.vector(1, metric=dp.metrics.AbsoluteDistance()), dp.laplace(epsilon=1)),
    (dp.scalar(), dp.measurements.l2_mechanism(epsilon=1)),
    (dp.vector(3, unit=2), dp.measurements.l2_mechanism(scale=0.1)),
    (
        TABLE,
        dp.clip_to_norm(5) >> dp.sum() >> dp.measurements.l2_mechanism(epsilon=0.1) >> dp.to_zcdp(),
    ),
    (dp.records(), CLAMPED >> dp.center(5) >> dp.measurements.sum_and_count(epsilon=0.1)),
    (
        TABLE,
        dp.clip_to_norm(5)
        >> dp.measurements.sum_and_count(epsilon=0.1, stretch=2.39)
        >> dp.to_zcdp(),
    ),
    (dp.vector(2), dp.gaussian(scale=0.1)),
    (dp.vector(2, metric=dp.metrics.L2Distance()), dp.gaussian(rho=2)),
    (
        dp.vector(3, metric=dp.metrics.NormDistance(), unit=dp.Norms(l1=2, linf=1)),
        dp.gaussian(rho=1),
    ),
    (dp.records(), SUMMED),
    (REPLACE, SUMMED),
    (dp.records(), CLAMPED >> dp.sum() >> dp.gaussian(epsilon=1, delta=1e-6)),
    (dp.records(), COUNTED >> dp.to_zcdp()),
    (dp.records(), COUNTED >> dp.to_approximate(1e-6)),
    (dp.records(), SUMMED >> dp.to_approximate(delta=1e-9)),
    (dp.records(), COUNTED >> dp.to_zcdp() >> dp.to_approximate(0.1)),
    (dp.records(), COUNTED.to_zcdp().to_approximate(0.1)),
    (dp.records(), BOTH_WAYS >> dp.laplace(epsilon=1) >> dp.simplex_ratio(0, 10)),
    (REPLACE, CLAMPED >> dp.sum() >> dp.laplace(scale=1) >> dp.estimators.size_ratio(20, 0, 10)),
    (dp.records(), dp.compose(SUMMED, COUNTED.to_zcdp()) >> dp.count_ratio(0, 10, middle=0.5)),
    (dp.records(), dp.compose(COUNTED)),
    (dp.records(), dp.compose(SUMMED, COUNTED >> dp.to_zcdp(), dp.count() >> dp.gaussian(rho=1))),
    (dp.records(), dp.compose(dp.compose(COUNTED, COUNTED), COUNTED) >> dp.to_approximate(1e-6)),
    (dp.records(), CLAMPED >> dp.compose(dp.sum() >> dp.laplace(epsilon=1), COUNTED)),
    (dp.records(), CLAMPED >> dp.sum() >> dp.compose(dp.gaussian(rho=1), dp.gaussian(scale=3))),
    (REPLACE, dp.estimators.plan_mean(100, rho=0.1)),
    (REPLACE, dp.estimators.binary_mean(rho=0.1, published=True)),
    (TABLE, dp.multivariate_mean(100, rho=0.1, p=1)),
    (TABLE, dp.multivariate_mean(100, epsilon=1)),
    (dp.records(), dp.mean(0, 100, rho=0.1)),
    (dp.records(), dp.mean(0, 100, epsilon=1, delta=1e-6, confidence=0.9, sampling=True)),
    (REPLACE, dp.mean(-1, 1, epsilon=0.1)),
    (dp.records(), dp.estimators.plug_in_mean(0, 10, rho=0.1, guess=4)),
    (dp.records(), dp.estimators.centered_mean(0, 10, epsilon=0.1, share=0.75)),
    (dp.records(), dp.estimators.resized_mean(0, 10, rho=0.1, fill=5)),
    (dp.records(), dp.estimators.simplex_mean(0, 10, epsilon=0.1, extra_count=0.25)),
    (dp.records(), dp.estimators.joint_mean(0, 10, epsilon=0.1, stretch=2.39)),
    (dp.records(), dp.estimators.recentred_mean(0, 10, rho=0.1, first=0.05)),
    (REPLACE, dp.estimators.known_size_mean(0, 10, rho=0.1)),
    (TABLE, dp.estimators.weighted_mean(0, 10, most=2, rho=0.1)),
    (TABLE, dp.estimators.weighted_mean(0, 10, most=2, epsilon=1, confidence=0.9, sampling=True)),
    (TABLE, dp.estimators.simplex_vector_mean(10, epsilon=0.1)),
    (TABLE, dp.estimators.simplex_vector_mean(10, epsilon=0.1, confidence=0.9, sampling=True)),
    (dp.records(), CLAMPED >> dp.square()),
    (dp.records(), CLAMPED >> dp.resize(4)),
    (TABLE, dp.transformations.weighted_pairs(0, 10, most=2) >> dp.sum()),
    (TABLE, dp.estimators.l2_mechanism_mean(2, epsilon=1)),
    (TABLE, dp.estimators.l2_mechanism_mean(2, epsilon=1, confidence=0.9, sampling=True)),
    (REPLACE, dp.estimators.plan_mean(100, rho=0.1, p=1.5, variances="direct")),
    (REPLACE, dp.estimators.iome_mean(0.1, rho=1, steps=4, seed=7)),
    (TABLE, dp.estimators.plan_plus_mean(100, rho=0.1, p=1)),
    (TABLE, dp.estimators.gaussian_mean(5, rho=0.1)),
    (TABLE, dp.estimators.laplace_mean(5, epsilon=0.1) >> dp.to_zcdp()),
    (TABLE, dp.estimators.elliptical_mean(0, [1, 2.5], rho=1)),
    (TABLE, dp.estimators.scaled_mean([1, 0.1], rho=1, middle=[3, 4], beyond=0.1, searched=True)),
    (dp.records(), dp.estimators.private_variance(10, rho=1, by="pairs", group=2)),
    (
        TABLE,
        dp.combinators.on_random_pairs(dp.private_quantile(0.5, bounds=(0, 9), epsilon=1), group=3),
    ),
    (dp.records(), dp.estimators.quantile_by_search(0.25, 0, 10, rho=1, steps=5)),
    (dp.records(3), dp.transformations.random_rotation(seed=5) >> dp.norm()),
    (
        dp.records(2),
        dp.absolute() >> dp.norm(p=1) >> dp.transformations.indicator_below(0.5) >> dp.sum(),
    ),
    (dp.records(), dp.private_quantile(0.5, bounds=(0, 1), rho=0.1)),
    (REPLACE, dp.private_quantile([0.25, 0.5], candidates=[0, 0.1, 7], epsilon=0.1)),
    (
        dp.records(2),
        dp.private_quantile(
            0.1, bounds=([-1, 0], [1, 5]), scale="asinh", unit=0.1, rho=1, shares=[1, 2.5]
        ),
    ),
]
"""A space and a pipeline to bind to it; every spelled name is in one of them, or in VALUES."""

VALUES: list[Any] = [
    *(dp.SymmetricDistance(), dp.ChangeOneDistance(), dp.metrics.AbsoluteDistance()),
    *(
        dp.metrics.L1Distance(),
        dp.metrics.L2Distance(),
        dp.metrics.LInfDistance(),
        dp.metrics.NormDistance(),
    ),
    *(dp.Norms(l1=0.1), dp.Norms(l2=3), dp.Norms(l1=5, l2=3, linf=2), dp.Norms(linf=1e-300)),
    *(
        dp.bases.Fourier(3, 0, 24),
        dp.bases.Chebyshev(4, -0.1, 1e50),
        dp.bases.MutuallyUnbiased(7, 0, 7, bases=8),
    ),
    *(
        TABLE,
        REPLACE,
        dp.records(),
        dp.scalar(unit=3),
        dp.vector(2, dp.metrics.LInfDistance(), unit=2),
    ),
]
SILENT: list[Any] = [
    *(dp.MaxDivergence(), dp.ZeroConcentratedDivergence(), dp.ApproximateDivergence()),
    *(
        dp.bodies.Box(0, 1),
        dp.bodies.Box([0, 1.5], 2),
        dp.bodies.Box(0, 1, columns=3),
        dp.bodies.Everything(2),
    ),
    *(
        dp.bodies.Ball(1),
        dp.bodies.Ball(2, p=1, columns=3),
        dp.bodies.Ball([1, 0.1], center=[0, 1]),
        dp.bodies.Simplex(0.1, 2),
    ),
    *(
        dp.bodies.NonNegativeBall(1),
        dp.bodies.NonNegativeBall(2, p=1, columns=3),
        dp.bodies.NonNegativeBall([1, 0.1]),
    ),
]
"""Values with a repr that evaluates and no place in a pipeline's JSON."""


def texts(items: list[Any]) -> list[str]:
    return [repr(item) for item in items]


def evaluated(text: str) -> Any:
    """The value of what a person would type, with nothing but ``dp`` in sight."""
    return eval(text, {"dp": dp})


def document(pipeline: Any) -> str:
    """A JSON text as ``to_json`` writes it, around anything."""
    return json.dumps({"opendp_lite": 1, "pipeline": pipeline})


def calling(name: Any, **arguments: Any) -> Any:
    """A call as ``to_json`` writes it."""
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize("name", dp.__all__)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    thing = getattr(dp, name)
    own = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    assert own, f"dp.{name} has no docstring of its own"
    assert own.strip().splitlines()[0].rstrip().endswith((".", ":"))


def test_the_public_list() -> None:
    assert len(set(dp.__all__)) == len(dp.__all__)
    namespace: dict[str, Any] = {}
    exec("from opendp_lite import *", namespace)
    assert set(dp.__all__) <= set(namespace)
    with pytest.raises(AttributeError, match="clampp"):
        dp.clampp  # noqa: B018


def effect(name: str) -> str | None:
    """The section that says what a step does to a distance or a loss; None for no step."""
    public = getattr(dp, name)
    function = inspect.unwrap(public)
    if not inspect.isfunction(function):
        return None
    returned = get_type_hints(function).get("return")
    kind = get_origin(returned) or returned
    if kind is dp.Transformation:
        return "Moves"
    converts = isinstance(kind, type) and issubclass(kind, Conversion)
    post_processes = public is not function
    return "Costs" if kind is dp.Measurement or converts or post_processes else None


STEPS = [name for name in dp.__all__ if effect(name)]


def test_steps_are_recognised() -> None:
    assert {"clamp", "sum", "count", "row_map", "resize"} <= set(STEPS)
    assert {"laplace", "gaussian", "compose", "to_zcdp", "simplex_ratio"} <= set(STEPS)
    assert not {"records", "calibrate", "from_json", "Box", "stage"} & set(STEPS)
    assert (effect("clamp"), effect("gaussian"), effect("to_zcdp")) == ("Moves", "Costs", "Costs")


@pytest.mark.parametrize("name", STEPS)
def test_every_step_says_what_it_takes_gives_and_costs(name: str) -> None:
    text = inspect.getdoc(getattr(dp, name)) or ""
    sections = re.findall(r"^(Takes|Gives|Moves|Costs|Because):|^(>>>) ", text, re.MULTILINE)
    found = list(dict.fromkeys(first or second for first, second in sections))
    assert found == ["Takes", "Gives", effect(name), "Because", ">>>"], f"dp.{name}: {found}"


def test_every_spelled_name_is_tried() -> None:
    shown = " ".join(
        [*texts(VALUES), *(f"{space!r} {pipeline!r}" for space, pipeline in PIPELINES)]
    )
    assert set(re.findall(r"dp\.(\w+)\(", shown)) == SPELLED


@pytest.mark.parametrize(("space", "pipeline"), PIPELINES, ids=[repr(p) for _, p in PIPELINES])
def test_pipelines_evaluate_and_round_trip(space: dp.Space[Any], pipeline: Any) -> None:
    for each in (pipeline, space >> pipeline, pipeline.bind(space)):
        assert evaluated(repr(each)) == each
        assert repr(evaluated(repr(each))) == repr(each)
        read = dp.from_json(each.to_json())
        assert read == each
        assert type(read) is type(each)
        assert read.to_json() == each.to_json()
        assert hash(read) == hash(each) == hash(evaluated(repr(each)))


@pytest.mark.parametrize("value", VALUES + SILENT, ids=texts(VALUES + SILENT))
def test_values_evaluate(value: Any) -> None:
    assert evaluated(repr(value)) == value
    assert repr(evaluated(repr(value))) == repr(value)


@pytest.mark.parametrize("value", VALUES, ids=texts(VALUES))
def test_values_round_trip(value: Any) -> None:
    assert dp.from_json(write(value)) == value


@pytest.mark.parametrize("function", [float, round, abs])
def test_built_in_post_processing_evaluates(function: Any) -> None:
    pipeline = COUNTED >> function
    assert evaluated(repr(pipeline)) == pipeline
    with pytest.raises(dp.ParameterError, match=f"{function.__name__} cannot be written to JSON"):
        pipeline.to_json()


def test_exact_parameters_round_trip() -> None:
    for number in (Fraction(1, 3), Fraction(1, 10**40), 0.1, 10**30, 1e-200, np.float64(0.1)):
        pipeline = dp.count() >> dp.gaussian(scale=number)
        read = dp.from_json(pipeline.to_json())
        assert read == pipeline
        assert read.loss(1) == pipeline.loss(1)


@dp.stage
def tripled(
    space: dp.Space[dp.Rows], offset: float = 0
) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
    return dp.row_map(space, lambda block: 3 * block, space.domain.body.scale((Fraction(3),)))


@dp.postprocessor
def shifted(release: Any, by: float) -> Any:
    return release + by


def test_own_steps_are_read_where_they_are_given() -> None:
    pipeline = CLAMPED >> tripled(2) >> dp.sum() >> dp.gaussian(rho=1) >> shifted(0.5)
    text = pipeline.to_json()
    assert dp.from_json(text, extra=[tripled, shifted]) == pipeline
    assert dp.from_json(text, extra=iter([shifted, tripled])) == pipeline
    for missing, given in (("tripled", shifted), ("shifted", tripled)):
        with pytest.raises(dp.ParameterError, match=f"'{missing}' is no step of this package"):
            dp.from_json(text, extra=[given])
    assert eval(repr(pipeline), {"dp": dp, "tripled": tripled, "shifted": shifted}) == pipeline


OUTSIDERS = [
    *("eval", "exec", "open", "__import__", "__builtins__", "os.system", "subprocess.run"),
    *("calibrate", "from_json", "row_map", "stage", "mechanism", "postprocessor", "Blocks"),
    *("Space", "Stage", "Mechanism", "Box", "audit", "assert_stable", "SPELLED"),
    *("Clamp", "clamp ", "dp.clamp", "opendp_lite.clamp", "_clamp", "", "fraction"),
    *("clamp.__globals__", "__class__", "__getattr__", None, 3, True, ["clamp"], {"name": "sum"}),
]


def test_no_outsider_is_spelled() -> None:
    assert not {name for name in OUTSIDERS if isinstance(name, str)} & SPELLED


@pytest.mark.parametrize("name", OUTSIDERS, ids=map(str, OUTSIDERS))
def test_json_calls_spelled_names_only(name: Any) -> None:
    call = calling(name)
    for pipeline in (
        call,
        [call],
        calling("pipeline", steps=[calling("count"), call]),
        calling("clamp", lower=call, upper=1),
        calling("compose", mechanisms=[call]),
        calling("vector", dimension=2, metric=call),
    ):
        with pytest.raises(dp.ParameterError, match=re.escape(f"{name!r} is no step of this")):
            dp.from_json(document(pipeline))


MALFORMED = {
    "nothing": "",
    "no JSON": "dp.count()",
    "cut short": COUNTED.to_json()[:-5],
    "too deep": "[" * 100_000,
    "too deep inside": '{"opendp_lite": 1, "pipeline": ' + '{"name": ' * 100_000,
    "a number too long": '{"opendp_lite": 1, "pipeline": ' + "9" * 5000 + "}",
    "a list": "[]",
    "a string": '"count"',
    "no version": json.dumps({"pipeline": calling("count")}),
    "another version": json.dumps({"opendp_lite": 2, "pipeline": calling("count")}),
    "no pipeline": json.dumps({"opendp_lite": 1}),
    "a number for a pipeline": document(3),
    "null for a pipeline": document(None),
    "a text for a pipeline": document("count"),
    "a list for a pipeline": document([calling("count")]),
    "a fraction for a pipeline": document({"fraction": "1/2"}),
    "no name": document({}),
    "arguments in a list": document({"name": "clamp", "arguments": [0, 1]}),
    "no arguments": document({"name": "count", "arguments": None}),
    "arguments missing": document(calling("clamp", lower=0)),
    "unknown arguments": document(calling("count", axis=0)),
    "a space among the arguments": document(calling("count", space=calling("records"))),
    "a fraction of text": document(calling("impute", value={"fraction": "half"})),
    "a fraction of zero": document(calling("impute", value={"fraction": "1/0"})),
    "a fraction of a list": document(calling("impute", value={"fraction": [1, 2]})),
    "a fraction without end": document(calling("impute", value={"fraction": "1e99999"})),
    "no steps": document(calling("pipeline", steps=[])),
    "no list of steps": document(calling("pipeline")),
    "numbers for steps": document(calling("pipeline", steps=[1, 2])),
    "one number for steps": document(calling("pipeline", steps=[8])),
    "a number of steps": document(calling("pipeline", steps=3)),
    "steps that do not fit": document(calling("pipeline", steps=[calling("sum"), calling("sum")])),
    "text after a step": document(calling("pipeline", steps=[calling("count"), "float"])),
    "no list of mechanisms": document(calling("compose", mechanisms=3)),
    "a text for a number": document(calling("clamp", lower="a", upper=1)),
    "null for a number": document(calling("clamp", lower=None, upper=1)),
    "a number for a metric": document(calling("records", metric=3)),
    "no columns": document(calling("records", columns=None)),
    "NaN": document(calling("records", columns=float("nan"))),
    "infinity": document(calling("clip_to_norm", radius=float("inf"))),
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_malformed_json_is_refused_in_words(text: str) -> None:
    with pytest.raises(dp.OpenDPLiteError) as caught:
        dp.from_json(text)
    assert len(str(caught.value).split()) > 3


def test_the_package_is_typed() -> None:
    assert (Path(dp.__file__).parent / "py.typed").is_file()


def test_importing_needs_no_optional_package() -> None:
    program = (
        "import sys; import opendp_lite; heavy = {'scipy', 'pandas', 'polars', 'pyarrow'}; "
        "print(*sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "", f"import opendp_lite imports {done.stdout}"
