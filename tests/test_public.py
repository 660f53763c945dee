"""The front door: its names, their documentation, their repr and their JSON."""

import doctest
import inspect
import io
import json
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from docutils.core import publish_doctree
from sphinx.ext.napoleon import Config, GoogleDocstring

import opendp_lite as dp
from opendp_lite.base.spelling import spells, write
from opendp_lite.spelling.suggestions import other_names
from tests.public_names import PUBLIC

SECTIONS = Config(napoleon_custom_sections=["Stability", "Privacy", "Proof"])
REPLACE = dp.records(size=20, metric=dp.ChangeOneDistance())
TABLE = dp.records(columns=["age", "visits"])

CLAMPED = dp.clamp(0, 10)
SUMMED = CLAMPED >> dp.sum() >> dp.gaussian(rho=0.5)
COUNTED = dp.count() >> dp.laplace(epsilon=0.1)
FLAT = dp.bases.Hadamard(4, 0, 10)
BOTH_WAYS = CLAMPED >> dp.simplex_augment() >> dp.sum()

SPELLED = {path.rpartition(".")[2] for path, public in PUBLIC.items() if spells(public)}

PIPELINES = [
    (dp.records(), COUNTED.to_zcdp().to_approximate(0.1)),
    (dp.records(), SUMMED >> dp.to_approximate(delta=1e-9)),
    (dp.records(), BOTH_WAYS >> dp.laplace(epsilon=1) >> dp.simplex_ratio(0, 10)),
    (REPLACE, CLAMPED >> dp.sum() >> dp.laplace(scale=1) >> dp.estimators.size_ratio(20, 0, 10)),
    (dp.records(), dp.compose(SUMMED, COUNTED.to_zcdp()) >> dp.count_ratio(0, 10, middle=0.5)),
    (dp.records(), dp.compose(dp.compose(COUNTED, COUNTED), COUNTED) >> dp.to_approximate(1e-6)),
    (dp.records(), CLAMPED >> dp.compose([dp.sum() >> dp.laplace(epsilon=1), COUNTED])),
    (
        dp.records(),
        dp.transformations.basis_features(FLAT)
        >> dp.sum()
        >> dp.gaussian(scale=2)
        >> dp.estimators.distribution(FLAT, deviation=2, size=7),
    ),
    (dp.records(2), dp.clamp(np.zeros(2), np.array([1.0, 0.1]))),
    (TABLE, dp.clip_to_norm(5, 2) >> dp.sum()),
]
"""Pipelines of several steps; single steps are spelled in ``test_steps``."""

VALUES = [
    *(dp.SymmetricDistance(), dp.ChangeOneDistance(), dp.metrics.AbsoluteDistance()),
    *(
        dp.metrics.L1Distance(),
        dp.metrics.L2Distance(),
        dp.metrics.LInfDistance(),
        dp.metrics.NormDistance(),
    ),
    *(dp.Norms(l1=0.1), dp.Norms(l2=3), dp.Norms(l1=5, l2=3, linf=2), dp.Norms(linf=1e-300)),
    *(
        TABLE,
        REPLACE,
        dp.records(),
        dp.scalar(unit=3),
        dp.vector(2, dp.metrics.LInfDistance(), unit=2),
    ),
]
SILENT = [dp.MaxDivergence(), dp.ZeroConcentratedDivergence(), dp.ApproximateDivergence()]
SILENT += [dp.bodies.Everything(2)]
"""With a repr that evaluates and no place in JSON; bodies and bases have tests of their own."""


def texts(items) -> list[str]:
    return [repr(item) for item in items]


def evaluated(text: str):
    """The value of what a person would type, with nothing but ``dp`` in sight."""
    return eval(text, {"dp": dp})


def document(pipeline) -> str:
    """A JSON text as ``to_json`` writes it, around anything."""
    return json.dumps({"opendp_lite": 1, "pipeline": pipeline})


def calling(name, **arguments):
    """A call as ``to_json`` writes it."""
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize("path", PUBLIC)
def test_every_public_name_is_documented(path):
    thing = PUBLIC[path]
    if inspect.ismodule(thing):
        assert thing.__doc__
        return
    own = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    assert own, f"{path} has no docstring of its own"
    assert own.strip().splitlines()[0].rstrip().endswith((".", ":"))
    assert not faults(own), f"{path}: {faults(own)}"


def faults(docstring: str) -> str:
    """What docutils finds wrong with a docstring in Google sections."""
    said = io.StringIO()
    source = str(GoogleDocstring(inspect.cleandoc(docstring), SECTIONS))
    settings = {"warning_stream": said, "report_level": 2, "halt_level": 5}
    publish_doctree(source, settings_overrides=settings)
    return said.getvalue()


def test_faults_of_docstrings_are_found():
    assert faults("Does it.\n\nArgs:\n    x: One\n  two\n three") != ""
    assert faults("Does it.\n\nArgs:\n    x: One.\n\nProof:\n    Row by row.") == ""


def test_the_public_list():
    assert len(set(dp.__all__)) == len(dp.__all__) <= 112
    namespace = {}
    exec("from opendp_lite import *", namespace)
    assert set(dp.__all__) <= set(namespace)
    assert dir(dp) == dp.__all__
    assert all(hasattr(dp, name) for name in dir(dp))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("median", r"use dp.private_quantile\(0.5"),
        ("Laplace", r"dp.laplace\(epsilon=1\)"),
        ("make_laplace", r"use dp.laplace\(epsilon=1\)"),
        ("then_clamp", "it is dp.clamp$"),
        ("gausian", "did you mean 'gaussian'"),
        ("plan_mean", "it is dp.estimators.plan_mean"),
        ("Box", "it is dp.bodies.Box"),
        ("clampp", "did you mean 'clamp'"),
        ("l1_distance", "it is dp.metrics.L1Distance$"),
        ("make_sized_bounded_float_checked_sum", "it is dp.sum$"),
        ("zebra", "has no attribute 'zebra'$"),
        ("GaussianNB", "that is not here, and nearest to it is dp.covariance"),
        ("make_randomized_response_bool", "that is not here, and nearest to it is noise"),
        ("then_count_by_categories", r"use dp.histogram\('city'"),
    ],
)
def test_names_that_people_type_are_answered(name, words):
    with pytest.raises(AttributeError, match=words):
        getattr(dp, name)


def test_what_is_said_instead_of_a_name_can_be_typed():
    for name, text in other_names().items():
        assert name == name.lower().replace("_", "")
        with pytest.raises(AttributeError) as refused:
            getattr(dp, name.upper())
        assert str(refused.value).endswith(text), name
        for path in re.findall(r"\bdp\.[\w.]+", text):
            assert evaluated(path.rstrip(".")), text


@pytest.mark.parametrize(("space", "pipeline"), PIPELINES, ids=[repr(p) for _, p in PIPELINES])
def test_pipelines_evaluate_and_round_trip(space, pipeline):
    for each in (pipeline, space >> pipeline, pipeline.bind(space)):
        assert evaluated(repr(each)) == each
        assert repr(evaluated(repr(each))) == repr(each)
        read = dp.from_json(each.to_json())
        assert read == each
        assert type(read) is type(each)
        assert read.to_json() == each.to_json()
        assert hash(read) == hash(each) == hash(evaluated(repr(each)))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (list(range(101)), "range(0, 101)"),
        (range(-5, 60, 5), "range(-5, 56, 5)"),
        (range(40, 0, -2), "range(40, 1, -2)"),
        (range(3), "[0, 1, 2]"),
        ([*range(11), 12], "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]"),
        (
            [each / 2 for each in range(1, 12)],
            "[0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5]",
        ),
    ],
)
def test_many_whole_numbers_in_equal_steps_are_written_as_a_range(values, text):
    pipeline = dp.histogram("a", categories=values, epsilon=1)
    assert repr(pipeline) == f"dp.histogram('a', categories={text}, epsilon=1)"
    assert evaluated(repr(pipeline)) == pipeline == dp.from_json(pipeline.to_json())


@pytest.mark.parametrize("value", VALUES + SILENT, ids=texts(VALUES + SILENT))
def test_values_evaluate(value):
    assert evaluated(repr(value)) == value
    assert repr(evaluated(repr(value))) == repr(value)


@pytest.mark.parametrize("value", VALUES, ids=texts(VALUES))
def test_values_round_trip(value):
    assert dp.from_json(write(value)) == value


@pytest.mark.parametrize("function", [float, round, abs])
def test_built_in_post_processing_evaluates(function):
    pipeline = COUNTED >> function
    assert evaluated(repr(pipeline)) == pipeline
    with pytest.raises(dp.ParameterError, match=f"{function.__name__} cannot be written to JSON"):
        pipeline.to_json()


def test_exact_parameters_round_trip():
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


def test_own_steps_are_read_where_they_are_given():
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


def test_no_outsider_is_spelled():
    assert not {name for name in OUTSIDERS if isinstance(name, str)} & SPELLED


@pytest.mark.parametrize("name", OUTSIDERS, ids=map(str, OUTSIDERS))
def test_json_calls_spelled_names_only(name):
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
def test_malformed_json_is_refused_in_words(text):
    with pytest.raises(dp.OpenDPLiteError) as caught:
        dp.from_json(text)
    assert len(str(caught.value).split()) > 3


LONG = "x" * 10_000


@pytest.mark.parametrize(
    "part",
    [
        calling(LONG),
        {"name": [LONG]},
        {LONG: 1},
        {"fraction": LONG},
        {"date": LONG},
        {"pandas": [LONG]},
        calling("count", **{LONG: 1}),
    ],
    ids=lambda part: str(part)[:12],
)
def test_of_a_text_that_a_stranger_wrote_a_refusal_shows_the_beginning(part):
    with pytest.raises(dp.ParameterError, match="xxx") as caught:
        dp.from_json(document(part))
    assert len(str(caught.value)) < 500


def test_a_field_that_a_later_version_may_add_is_not_passed_over():
    later = [document(calling("count") | {"least": 5})]
    later += [document(calling("impute", value={"fraction": "1/2", "least": 5}))]
    later += [json.dumps({**json.loads(COUNTED.to_json()), "least": 5})]
    for text in later:
        with pytest.raises(dp.ParameterError, match="this version knows no field 'least'"):
            dp.from_json(text)


@pytest.mark.parametrize(
    "name", sorted(name for name in dp.__all__ if name.endswith(("Error", "Exceeded")))
)
def test_examples_of_refusals_run(name):
    """Tracebacks name them by the front, where doctest looks for no examples."""
    refusal = getattr(dp, name)
    assert refusal.__module__ == "opendp_lite"
    (example,) = doctest.DocTestFinder(recurse=False).find(refusal, name, module=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert runner.run(example).failed == 0
