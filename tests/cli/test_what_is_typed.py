"""What is typed is a pipeline, which JSON has, and what is printed is what that pipeline releases.

So what a release is, loses and holds is for the tests of its steps.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module

import pytest

import opendp_lite as dp
from opendp_lite.samplers.entropy import InsecureSeededEntropy

KINDS = {"id": str, "sex": str, "age": float, "education": str, "income": float}
MEAN, OF_AGES = "mean --column age --bounds 0 40", "dp.select('age') >> dp.mean(0, 40, rho=1)"
SIZED = "dp.records(size=7, metric=dp.ChangeOneDistance()) >> "
PEOPLE = "dp.table(person='id') >> dp.bound_contributions(2) >> "
NOISE = " >> dp.laplace(epsilon=1, confidence=0.95)"
COUNT = f"dp.count(){NOISE}"
METHODS = ("simplex", "centered", "plug-in", "resized", "recentred")
TYPED = {
    MEAN: "dp.mean(0, 40, rho=1)",
    "mean --column age": "dp.mean(rho=1)",
    f"{MEAN} --of-rows --confidence 0.9": ("dp.mean(0, 40, rho=1, confidence=0.9, sampling=False)"),
    f"{MEAN} --epsilon 1 --delta 1e-6": "dp.mean(0, 40, epsilon=1, delta=1e-06)",
    f"{MEAN} --missing -1e3": "dp.impute(-1000) >> dp.mean(0, 40, rho=1)",
    f"{MEAN} --size 7": f"{SIZED}dp.mean(0, 40, rho=1)",
    f"{MEAN} --size 7 --missing 40": f"{SIZED}dp.impute(40) >> dp.mean(0, 40, rho=1)",
    f"{MEAN} --person id --most 2": f"{PEOPLE}{OF_AGES}",
    f"{MEAN} --by sex --keys f m": f"dp.by('sex', ['f', 'm'], {OF_AGES})",
    f"{MEAN} --by sex education --keys f m --keys 1 3": (
        f"dp.by(['sex', 'education'], [['f', 'm'], ['1', '3']], {OF_AGES})"
    ),
    f"{MEAN} --by sex --keys f --size 7": (
        f"{SIZED.replace('records', 'table')}dp.by('sex', ['f'], {OF_AGES})"
    ),
    f"{MEAN} --where income>=2000 --where sex=f": (
        f"dp.keep('income', between=[2000, None]) >> dp.keep('sex', among=['f']) >> {OF_AGES}"
    ),
    f"{MEAN} --weights income --most 4": (
        "dp.select('age', 'income') >> dp.weighted_mean(0, 40, most=4, rho=1)"
    ),
    **{
        f"{MEAN} --method {method}": (
            f"dp.estimators.{method.replace('-', '_')}_mean(0, 40, rho=1, confidence=0.95, "
            "sampling=True)"
        )
        for method in METHODS
    },
    "quantile --column age --quantiles 0.1 0.5 --bounds 0 100": (
        "dp.private_quantile([0.1, 0.5], bounds=[0, 100], rho=1)"
    ),
    "quantile --column age --quantiles 0.5 0.6 --bounds 0.5 20 --whole --by sex --keys f m": (
        "dp.by('sex', ['f', 'm'], "
        "dp.select('age') >> dp.private_quantile([0.5, 0.6], candidates=range(1, 21), rho=1))"
    ),
    "median --column age --bounds 0 20": "dp.private_quantile(0.5, bounds=[0, 20], rho=1)",
    "variance --column age --bounds 0 20 --size 7": f"{SIZED}dp.variance(0, 20, rho=1)",
    "standard-deviation --column age --bounds 0 20": "dp.standard_deviation(0, 20, rho=1)",
    "count --epsilon 1": COUNT,
    "count": "dp.count() >> dp.gaussian(rho=1, confidence=0.95)",
    "count --column sex --epsilon 1": f"dp.select('sex') >> {COUNT}",
    "count --column age --all --epsilon 1": f"dp.select('age') >> dp.count(missing=True){NOISE}",
    "count --by sex --keys f NA --epsilon 1": f"dp.by('sex', ['f', None], {COUNT})",
    "count --person id --most 2 --epsilon 1": f"{PEOPLE}{COUNT}",
    "sum --column age --bounds 4 20 --epsilon 1": f"dp.clamp(4, 20) >> dp.sum(){NOISE}",
    "sum --column age --bounds 4 20 --missing 45 --epsilon 1": (
        f"dp.impute(45) >> dp.clamp(4, 20) >> dp.sum(){NOISE}"
    ),
    "histogram --column sex --categories f NA": (
        "dp.histogram('sex', categories=['f', None], rho=1)"
    ),
    "histogram --column sex --categories f --other": (
        "dp.histogram('sex', categories=['f'], other=True, rho=1)"
    ),
    "histogram --column education --categories 1.0 2.00": (
        "dp.histogram('education', categories=['1', '2'], rho=1)"
    ),
    "histogram --column sex education --categories f m --categories 1 3": (
        "dp.histogram(['sex', 'education'], categories=[['f', 'm'], ['1', '3']], rho=1)"
    ),
    "histogram --column age --edges 0 10 20 30": (
        "dp.histogram('age', edges=[0, 10, 20, 30], rho=1)"
    ),
    "histogram --column age --bins 0 30 4 --by sex --keys f": (
        "dp.by('sex', ['f'], dp.histogram('age', edges=[0, 7.5, 15, 22.5, 30], rho=1))"
    ),
    "histogram --column sex --epsilon 1 --delta 0.3": ("dp.histogram('sex', epsilon=1, delta=0.3)"),
    "histogram --column sex --categories f M --person id --most 2": (
        f"{PEOPLE}dp.histogram('sex', categories=['f', 'M'], rho=1)"
    ),
    "proportion --column sex --among f NA": "dp.proportion('sex', among=['f', None], rho=1)",
    "proportion --column sex --among f --weights income --most 4 --by education --keys 1": (
        "dp.by('education', ['1'], "
        "dp.proportion('sex', among=['f'], weights='income', most=4, rho=1))"
    ),
}
"""Words after ``opendp-lite``, with ``--rho 1`` where they have no budget, and their pipeline."""


def flatten(label) -> list[object]:
    parts = isinstance(label, list | tuple)
    return [each for part in label for each in flatten(part)] if parts else [label]


def lines_of(release) -> Iterator[tuple[list[object], float]]:
    """The labels and the number of each line."""
    if isinstance(release, Mapping):
        for key, each in release.items():
            for labels, number in lines_of(each):
                yield [*flatten(key), *labels], number
    elif isinstance(release, dp.releases.Estimates):
        pairs = zip(release.names, release.values, strict=True)
        yield from (([float(name)], number) for name, number in pairs)
    else:
        yield [], float(release)


@pytest.mark.parametrize("words", TYPED)
def test_what_is_printed_is_what_the_pipeline_releases(told, survey, monkeypatch, words):
    """Seeded, so that both have the same noise."""
    algebra = import_module("opendp_lite.pipeline.core")
    monkeypatch.setattr(algebra, "SecureEntropy", lambda: InsecureSeededEntropy(20))
    name, *typed = words.split()
    found = told(name, survey, *typed, *([] if "--epsilon" in typed else ["--rho", 1]))
    assert found["pipeline"] == TYPED[words]
    named = "'" in found["pipeline"]
    data = dp.csv_table(survey, KINDS) if named else dp.csv_column(survey, "age")
    labels, numbers = zip(*lines_of(eval(found["pipeline"], {"dp": dp})(data)), strict=True)
    lines = found.get("releases", [found])
    key = {"quantile": "value", "histogram": "count"}.get(name, name.replace("-", "_"))
    assert [line[key] for line in lines] == [*numbers]
    if "releases" in found:
        assert [flatten([*line.values()][: [*line].index(key)]) for line in lines] == [*labels]
