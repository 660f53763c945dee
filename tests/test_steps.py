"""Every public step, by the examples that it carries: complete, spelled, stable and quiet."""

import inspect
import pickle
import re
from fractions import Fraction
from itertools import pairwise
from math import inf, nan
from operator import rshift
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import opendp_lite as dp
from opendp_lite.spaces.space import Example, examples_of
from opendp_lite.spaces.tables import tables_in
from opendp_lite.spelling.description import description_of
from tests.public_names import PUBLIC, STEPS, every_step, modules_in, returned

ROOT = Path(__file__).resolve().parent.parent
TYPED = (ROOT / "tests" / "typing_tests" / "good.py").read_text()
PROOFS = (ROOT / "docs/proofs.md").read_text()
PAGES = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md") if page.stem != "proofs")
WITHOUT_EXAMPLE = {"dp.above_threshold", "dp.adaptive", "dp.combinators.best_of"}
"""A program is code, which no repr and no JSON spells."""
EXAMPLES = {
    f"{path}-{number}": (public, each)
    for path, public in STEPS.items()
    for number, each in enumerate(examples_of(public))
}
HOSTILE = [0.0, -0.0, 1.0, np.nan, -np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2.0**53]


def lacking(path: str, public) -> list[str]:
    """What a step still lacks, each with where it is to be added."""
    name = path.rpartition(".")[2]
    text, said = inspect.getdoc(public) or "", description_of(public)
    sections = re.findall(r"^([A-Z][a-z]+):$", text, re.M)
    order = ["Args", "Returns", "Raises", "Example"]
    wanted = {"Returns", "Example"}
    if inspect.signature(public).parameters:
        wanted.add("Args")
    found = [
        f"a docstring section {section}:" for section in order if section in wanted - set(sections)
    ]
    if sections != [section for section in order if section in sections]:
        found.append(f"its docstring sections in the order {', '.join(order)}, and no other")
    if not said.does.endswith("."):
        found.append("does=, a sentence")
    if not (said.proof.text and said.proof.adding and said.proof.replacing):
        found.append("a proof=Proof(...) with its map, adding= and replacing=")
    if not examples_of(public) and path not in WITHOUT_EXAMPLE:
        found.append("examples=, each example(space, parameters)")
    if not re.search(rf"^\| `{name}` \|", PROOFS, re.M):
        found.append("a row in docs/proofs.md")
    if f"`{name}" not in PAGES and f".{name}(" not in PAGES:
        found.append("a place in a page of docs/")
    if not re.search(rf"\b{re.escape(path)}\b", TYPED):
        found.append("a line in tests/typing_tests/good.py")
    return found


@pytest.mark.parametrize("path", STEPS)
def test_a_step_is_complete(path):
    missing = lacking(path, STEPS[path])
    assert not missing, f"{path} still needs: " + "; ".join(missing)


def test_no_step_is_left_out():
    """Who adds a file and forgets the import is told so here."""
    public = {id(inspect.unwrap(each)) for each in PUBLIC.values()}
    private = [
        name for name, step in every_step().items() if id(inspect.unwrap(step)) not in public
    ]
    assert not private, f"import {private} in the __init__.pyi of their room"


def test_what_is_missing_is_seen():
    @dp.stage
    def unfinished(space: dp.Space[dp.Rows], size: int) -> dp.Transformation[Any, Any]:
        """Does something."""
        return dp.row_map(space, lambda rows: rows, space.domain.body)

    missing = " ".join(lacking("dp.unfinished", unfinished))
    for each in ("Args", "does=", "Proof", "examples=", "docs/proofs.md", "good.py", "page"):
        assert each in missing


def pipeline_of(step, given: Example):
    return step(*given.args, **given.kwargs)


def bind(step, given: Example):
    return given.space >> pipeline_of(step, given)


CHOICES = [
    (name, parameter.name)
    for name, (step, _) in EXAMPLES.items()
    for parameter in inspect.signature(inspect.unwrap(step)).parameters.values()
    if parameter.annotation == "bool"
]


@pytest.mark.parametrize(("name", "choice"), CHOICES)
def test_a_choice_is_true_or_false(name, choice):
    """-1 in the place of ``other`` made one place less, and an error where a row came into it."""
    step, given = EXAMPLES[name]
    for value in (-1, 0, 1, 2, 1.0, np.int64(1), "rest", "", None):
        with pytest.raises(dp.ParameterError, match=f"{choice} is True or False, got"):
            step(*given.args, **{**given.kwargs, choice: value})
    if choice in given.kwargs:
        likewise = {**given.kwargs, choice: np.bool_(given.kwargs[choice])}
        assert step(*given.args, **likewise) == step(*given.args, **given.kwargs)


NO_NUMBER = {nan: "finite", "1": "a number"}
POSITIVE = {0: "above 0", -1: "above 0", **NO_NUMBER}
WRONG = {
    "bound epsilon mu radius rho scale sigma total": {inf: "finite", **POSITIVE},
    "beyond confidence delta first share": dict.fromkeys((0, 1, -1), "between 0 and 1") | NO_NUMBER,
    "extra_count": dict.fromkeys((1, -1), "from 0 to below 1") | NO_NUMBER,
    "factor fill guess middle most threshold value": NO_NUMBER,
    "quantile quantiles": {1.1: "between 0 and 1", **NO_NUMBER},
    "rate": {1.01: "at most 1", **POSITIVE},
    "stretch": {-1: "at least 0", inf: "finite", None: "a number", **NO_NUMBER},
    "cells group k rows size steps": {0: "at least 1", 1.5: "whole", "2": "number", True: "number"},
    "seed": dict.fromkeys((-1, 1.5, "a", True, None), "whole number|a number"),
}
"""What is given amiss for these parameters, and the words of the refusal."""
BUDGETS = {"epsilon", "rho", "mu", "scale", "delta"}


def given_amiss(typed, taken):
    """What is changed in a call, with the words of the refusal: of numbers, bounds and budgets."""
    for names, wrong in WRONG.items():
        for name in names.split():
            unset = None if name in BUDGETS else 0
            if name not in taken or isinstance(typed.get(name, unset), str | None):
                continue  # A scale may be a word.
            said = rf"\b{name.removesuffix('s')}s?\b(?!=).* (is|must) .*"
            for value, words in wrong.items():
                yield {name: value}, f"{said}({words})|give one of them|both go with a column"
    if {"lower", "upper"} <= typed.keys():
        ends = {"lower": typed["upper"], "upper": typed["lower"]}
        for wrong in (ends, {"lower": ends["lower"]}):
            yield wrong, "must be below"
        yield {"lower": nan}, "must be finite"
    budget = {each for each in typed.keys() & BUDGETS if isinstance(typed[each], int | float)}
    if budget:
        for more in taken.keys() & BUDGETS - budget - {"scale", "delta"}:
            yield {more: 1}, "takes? one of|delta goes with epsilon"
        if "delta" in taken and "epsilon" not in budget:
            yield {"delta": 0.1}, "delta goes with epsilon|takes one of"
        if all(taken[each].default is None for each in budget):
            words = "needs a privacy budget|takes? one of|give epsilon= and delta="
            yield dict.fromkeys(budget), words


def test_numbers_bounds_and_budgets_are_refused_in_words():
    tried = set()
    for name, (step, given) in EXAMPLES.items():
        signature = inspect.signature(inspect.unwrap(step))
        call = signature.bind(given.space, *given.args, **given.kwargs)
        for change, words in given_amiss(call.arguments, signature.parameters):
            tried |= change.keys()
            call = signature.bind(given.space, *given.args, **given.kwargs)
            call.arguments.update(change)
            with pytest.raises(dp.ParameterError) as refused:
                given.space >> step(*call.args[1:], **call.kwargs)
            assert re.search(words, str(refused.value)), (name, change)
    assert tried >= {"upper", *" ".join(WRONG).split()}


NUMBERS, TEXTS = [-7919.25, 7919.25] * 25, ["SECRET", "other"] * 25
RISING, WORDS = [7919 + place / 64 for place in range(9)], [f"SECRET{each}" for each in range(9)]
TABLE = {"vote": TEXTS, "age": NUMBERS}
COLUMNS = [NUMBERS, TEXTS, WORDS, pd.Series(RISING), pa.chunked_array([RISING])]
COLUMNS += [make(TABLE) for make in (pd.DataFrame, pl.DataFrame)]
NOISY = dp.count() >> dp.laplace(epsilon=1)
ASKED = [lambda p: p(), lambda p: NOISY >> p, lambda p: p + 1, lambda p: p.accuracy(0.95)]


def refuse_quietly(errors, call, /, *args, **kwargs):
    """Calls; what is raised, and all that led to it, says nothing of the data."""
    problem = None
    try:
        return call(*args, **kwargs)
    except errors as refused:
        problem = refused
    while problem is not None:
        said = f"{problem}{getattr(problem, '__notes__', '')}"
        assert not re.search("SECRET|7919", said), said
        problem = problem.__cause__ or problem.__context__
    return None


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: type(column).__name__)
def test_a_column_in_the_place_of_an_argument_is_not_repeated(column):
    """Nor does an error of its library get out of a step."""
    for step, given in EXAMPLES.values():
        signature = inspect.signature(inspect.unwrap(step))
        for each in [*signature.parameters.values()][1:]:
            call = signature.bind(given.space, *given.args, **given.kwargs)
            several = {each.VAR_POSITIONAL: (column,), each.VAR_KEYWORD: {"a": column}}
            call.arguments[each.name] = several.get(each.kind, column)
            changed = Example(given.space, call.args[1:], call.kwargs)
            refusals = dp.OpenDPLiteError, TypeError
            pipeline = refuse_quietly(refusals, pipeline_of, step, changed)
            if pipeline is not None:
                refuse_quietly(refusals, rshift, given.space, pipeline)
                for ask in ASKED:
                    refuse_quietly((*refusals, AttributeError), ask, pipeline)
    for path, public in PUBLIC.items():
        refusal = isinstance(public, type) and issubclass(public, Exception)
        if callable(public) and not refusal and not path.startswith("dp.plotting."):
            for count in (1, 2, 3):
                refuse_quietly(Exception, public, *[column] * count)
            for name in inspect.signature(public).parameters:
                refuse_quietly(Exception, public, **{name: column})


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_spelled(name):
    """As a repr that evaluates, as JSON, and pickled; bound too, where the space has a name.

    The pickle names no module of the package, so that it outlives a move of its modules.
    """
    step, given = EXAMPLES[name]
    pipeline = pipeline_of(step, given)
    bound = given.space >> pipeline
    spelled = [pipeline] if given.space.origin is None else [pipeline, bound]
    for each in spelled:
        again = eval(repr(each), {"dp": dp})
        assert again == each == dp.from_json(each.to_json()) == pickle.loads(pickle.dumps(each))
        assert hash(again) == hash(each)
        assert repr(again) == repr(each)
        assert not modules_in(each)
    distance = given.space.metric.show(given.space.unit)
    assert f"{repr(pipeline).split('(')[0]}(" in bound.explain(distance)


@pytest.mark.parametrize(
    "name", [name for name, (step, _) in EXAMPLES.items() if returned(step) is dp.Transformation]
)
def test_examples_are_stable(name):
    step, given = EXAMPLES[name]
    dp.assert_stable(pipeline_of(step, given), given.space, trials=8)


def hostile_data(space):
    """Data that trips floats, of the public shape that the space asks for."""
    domain = tables_in(space.domain)
    if not isinstance(domain, dp.Rows):
        each = [np.full(domain.dimension, number) for number in HOSTILE]
        return each if isinstance(domain, dp.Vectors) else [float(value[0]) for value in each]
    sizes = (0, 1, 60) if domain.size is None else (domain.size,)
    return [
        np.resize(HOSTILE[turn:], (size, domain.columns)) for size in sizes for turn in range(3)
    ]


def form(release):
    """Everything of a release but its numbers."""
    if isinstance(release, tuple):
        return tuple(map(form, release))
    return type(release), getattr(release, "shape", None)


@pytest.mark.parametrize(
    "name", [name for name, (step, _) in EXAMPLES.items() if returned(step) is dp.Measurement]
)
def test_examples_release_the_same_form_whatever_the_data(name):
    """And lose what was typed by a unit of their space: no more, and no less."""
    step, given = EXAMPLES[name]
    bound = given.space >> pipeline_of(step, given)
    forms = {form(bound(data)) for data in hostile_data(given.space)}
    assert len(forms) == 1
    unit, measure = given.space.unit, bound.output_measure
    losses = [bound.privacy_map(unit * times) for times in range(3)]
    assert measure.within(losses[0], measure.zero())
    assert measure.within(losses[1], losses[2])
    assert not measure.within(losses[2], losses[1])
    typed = inspect.signature(inspect.unwrap(step)).bind(given.space, *given.args, **given.kwargs)
    budget = [typed.arguments.get(each) for each in ("epsilon", "rho", "mu", "delta")]
    if budget := [each for each in budget if isinstance(each, int | float | Fraction)]:
        claim = measure.loss(budget[0] if len(budget) == 1 else tuple(budget))
        assert measure.within(losses[1], claim)
        assert losses[1] == claim or losses[1][0] == claim[0]  # Not all of delta may be needed.
    if measure != dp.ApproximateDivergence():
        twice = attrs.evolve(given.space, unit=unit * 2) >> pipeline_of(step, given)
        rows = [twice.privacy_map(unit * times) for times in range(1, 5)]
        assert not measure.within(rows[0], measure.zero())
        assert all(measure.within(less, more) for less, more in pairwise(rows))
        for few, many in ((0, 1), (1, 3)):
            assert measure.within(rows[many], measure.group(rows[few], 2))
