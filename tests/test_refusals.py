"""What a person types by mistake on the first day, and that the refusal names the step to type."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp

public: Any = dp
TABLE = pd.DataFrame({"sex": ["f", "m"] * 40, "age": [20.125, 30.125] * 40})
AGES = TABLE["age"]
LAPLACE = dp.count() >> dp.laplace(epsilon=1)
SECOND = "data goes into a second call"

MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "data in count": (lambda: public.count(TABLE), f"{SECOND}: dp.count(...)(data)"),
    "an array in sum": (lambda: public.sum(np.zeros(3)), f"{SECOND}: dp.sum(...)(data)"),
    "data first": (lambda: public.histogram(TABLE, "sex", epsilon=1), SECOND),
    "data in by": (lambda: public.by(TABLE, "sex", ["f", "m"], LAPLACE), SECOND),
    "a column in clamp": (lambda: public.clamp(AGES, 0, 1), SECOND),
    "a column in histogram": (
        lambda: public.histogram(AGES, edges=[0, 50], epsilon=1),
        "column is a Series; the data goes into a second call",
    ),
    "a column of quantiles": (lambda: public.private_quantile(AGES), "quantiles is a Series"),
    "a list of quantiles": (
        lambda: dp.private_quantile(AGES.tolist(), bounds=(0, 1), epsilon=1),
        "the data goes into a second call",
    ),
    "a name in table": (lambda: public.table("id"), "dp.table(person='id')"),
    "data in table": (lambda: public.table(TABLE), SECOND),
    "data in records": (lambda: public.records(TABLE), SECOND),
    "rho of laplace": (lambda: public.laplace(rho=1), "dp.gaussian(rho=0.03)"),
    "delta of laplace": (
        lambda: public.laplace(epsilon=1, delta=1e-6),
        "dp.gaussian(epsilon=1, delta=1e-6)",
    ),
    "no name": (lambda: public.laplace(1), "by name, as in epsilon=1"),
    "no delta": (
        lambda: public.gaussian(epsilon=1),
        "dp.gaussian(epsilon=1, delta=1e-6), or dp.laplace(epsilon=1)",
    ),
    "no bounds": (lambda: public.variance(epsilon=1), "dp.variance(0, 100, epsilon=1)"),
    "no bounds of clamp": (lambda: public.clamp(), "dp.clamp(0, 100)"),
    "a number of edges": (
        lambda: dp.histogram("age", edges=10, epsilon=1),
        "range(0, 101, 10) for ten bins from 0 to 100; got 1",
    ),
    "bins for edges": (
        lambda: public.histogram("age", bins=10, epsilon=1),
        "in place of bins= it takes edges",
    ),
    "columns one by one": (
        lambda: public.histogram("sex", "age", epsilon=1),
        "several columns go into a list: dp.histogram(['sex', 'age'], ...)",
    ),
    "one list for two columns": (
        lambda: dp.histogram(["sex", "age"], categories=[["f", "m"]], epsilon=1),
        "2 columns need 2 lists of categories",
    ),
    "no lists for two columns": (
        lambda: dp.histogram(["sex", "age"], categories=["f", "m"], epsilon=1),
        "2 columns need 2 lists of categories",
    ),
    "no column of a table": (
        lambda: dp.histogram(epsilon=1, delta=1e-6)(TABLE),
        "dp.select('age') before the step or dp.histogram('age', ...)",
    ),
    **{
        f"an unknown column in {step}": (
            lambda pipeline=pipeline: pipeline(TABLE),
            f"{step}: the table has no column 'sxe'; did you mean 'sex'? The columns are",
        )
        for step, pipeline in {
            "select": dp.select("sxe") >> dp.mean(0, 1, epsilon=1),
            "keep": dp.keep("sxe", among=["f"]) >> dp.count() >> dp.laplace(epsilon=1),
            "by": dp.by("sxe", ["f"], dp.count() >> dp.laplace(epsilon=1)),
            "group_by": dp.combinators.group_by("sxe", ["f"], dp.count()) >> dp.laplace(epsilon=1),
            "histogram": dp.histogram("sxe", categories=["f"], epsilon=1),
            "bound_contributions": dp.table(person="sxe")
            >> dp.bound_contributions(1)
            >> dp.count()
            >> dp.laplace(epsilon=1),
        }.items()
    },
    "a session without a budget": (
        lambda: dp.session(TABLE),
        "session: a budget is dp.epsilon(1), dp.epsilon(1, delta=1e-6), dp.rho(1) or dp.mu(1)",
    ),
    "rows with text": (lambda: LAPLACE(TABLE), "dp.table() >> dp.count()"),
    "a name for the only column": (
        lambda: dp.histogram("age", edges=[0, 50], epsilon=1)([1.0, 2.0]),
        "leave out dp.select('age') or the name in dp.histogram('age', ...), or give the table",
    ),
    "a table for one column": (
        lambda: LAPLACE({"age": [1.0, 2.0], "visits": [3.0, 4.0]}),
        "start with dp.table() >>",
    ),
    "the statement of a sum": (
        lambda: public.sum().statement(),
        "statement is for a pipeline that ends in noise; put noise after dp.sum()",
    ),
    "two measures": (
        lambda: dp.compose(LAPLACE, dp.count() >> dp.gaussian(rho=1)),
        "Put >> dp.to_zcdp()",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_refusal_says_what_to_type_and_nothing_of_the_data(name: str) -> None:
    mistake, words = MISTAKES[name]
    with pytest.raises((dp.OpenDPLiteError, TypeError, AttributeError)) as caught:
        mistake()
    text = str(caught.value)
    assert words in text
    assert not re.search(r"\b[23]0\.125|\b[23]0\b", text.replace("0.03", ""))


def own(caught: pytest.ExceptionInfo[Any]) -> list[str]:
    """The functions in a traceback, from this file's last one on."""
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    return names[len(names) - names[::-1].index("typed") - 1 :]


def test_a_traceback_shows_the_lines_of_the_person() -> None:
    """Those of this package that lie deeper are left out, and no other exception is told of."""

    def program(ask: Any) -> Any:
        def typed() -> Any:
            return ask(dp.select("Age") >> dp.mean(0, 9, epsilon=1))

        return typed()

    ways: list[Callable[[], Any]] = [
        lambda: (dp.select("Age") >> dp.mean(0, 9, epsilon=1))(TABLE),
        lambda: (dp.select("sex") >> dp.clamp(0, 9) >> dp.sum())(TABLE),
        lambda: dp.histogram("age", edges=10, epsilon=1),
        lambda: dp.table() >> dp.clamp(0, 9),
    ]
    for way in ways:

        def typed(way: Callable[[], Any] = way) -> Any:
            return way()

        with pytest.raises(dp.OpenDPLiteError) as caught:
            typed()
        assert len(own(caught)) <= 4
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    with pytest.raises(dp.DataError) as caught:
        (dp.table() >> dp.adaptive(program, dp.epsilon(1)))(TABLE)
    assert own(caught) == ["typed"]
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names.count("program") == 1


def test_what_caused_a_refusal_of_your_own_is_kept():
    def program(ask: Any) -> None:
        raise dp.DataError("mine") from KeyError("cause")

    with pytest.raises(dp.DataError, match="mine") as found:
        dp.adaptive(program, budget=dp.rho(1))([1.0])
    assert isinstance(found.value.__cause__, KeyError)
