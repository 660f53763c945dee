"""What people store: pipelines, spaces and results, and the file of them that a version wrote.

``python tests/stored/stored_values.py`` writes the file of the version that is installed. The files
of earlier versions stay as they are: what they hold is read for ever.
"""

import json
import pickle
from base64 import b64decode, b64encode
from pathlib import Path

import numpy as np

import opendp_lite as dp

FOLDER = Path(__file__).parent
SURVEY = {"age": np.arange(100.0), "visits": np.arange(100.0) % 7, "sex": ["f", "m"] * 50}

PIPELINES = [
    "dp.clamp(0, 100) >> dp.sum()",
    "dp.clamp(0, 0.1) >> dp.sum() >> dp.laplace(epsilon=0.3) >> dp.to_approximate(1e-6)",
    "dp.select('age') >> dp.mean(0, 100, epsilon=1)",
    "dp.table() >> dp.select('age') >> dp.mean(0, 100, rho=0.1, confidence=0.9)",
    "dp.records(columns=2, size=50, metric=dp.ChangeOneDistance()) >> dp.covariance(0, 1, rho=1)",
    "dp.table(person='id') >> dp.bound_contributions(3) >> dp.count() >> dp.laplace(epsilon=1)",
    "dp.by('sex', ['f', 'm'], dp.select('age') >> dp.mean(0, 100, epsilon=1))",
    "dp.compose(rows=dp.count() >> dp.laplace(epsilon=1), age=dp.mean(0, 100, epsilon=1))",
    "dp.histogram('sex', categories=['f', 'm'], epsilon=1)",
    "dp.keep('age', between=(18, 65)) >> dp.count() >> dp.laplace(epsilon=1)",
    "dp.sample(0.1, dp.count() >> dp.laplace(epsilon=1))",
    "dp.private_quantile([0.25, 0.5], bounds=(0, 100), epsilon=1)",
    "dp.variance(0, 100, rho=0.1)",
    "dp.cdf(0, 100, epsilon=1)",
    "dp.estimators.plan_plus_mean(100, rho=0.5)",
    "dp.estimators.basis_distribution(dp.bases.Chebyshev(16, 0, 100), epsilon=1)",
    "dp.vector(3) >> dp.gaussian(scale=2)",
    "dp.count() >> dp.laplace(epsilon=1) >> dp.to_zcdp()",
]
"""As a person types them."""
PLAIN = [
    "dp.records()",
    "dp.records(columns=['age', 'id'], person='id')",
    "dp.table(size=50, metric=dp.ChangeOneDistance())",
    "dp.scalar()",
    "dp.vector(3)",
    "(dp.records() >> dp.clamp(0, 1) >> dp.sum()).output_space",
    "dp.Norms(l1=1, l2=0.3)",
    "dp.bodies.Box(0, [1, 2])",
    "dp.bodies.Ball(1.5, columns=3)",
    "dp.rho(0.1)",
    "dp.epsilon(1, delta=1e-6)",
    "dp.mu(1)",
    "dp.MaxDivergence()",
    "dp.releases.Estimate(41.26, 0.08, (41.1, 41.42), 0.95, rows=600.2, bounds=(0.0, 100.0))",
    "dp.releases.ByGroup('sex', {'f': 41.2, ('m', 1): 38.5})",
    "dp.releases.ByName({'rows': 100, 'age': 41.2})",
]
"""Other values: spaces, budgets, results."""
RELEASES = [
    "dp.histogram('sex', categories=['f', 'm'], epsilon=1)",
    "dp.select('age') >> dp.cdf(0, 100, epsilon=1, cells=8)",
    "dp.select('age') >> dp.cdf(0, 100, rho=1, cells=8, confidence=0.95)",
    "dp.select('age') >> dp.estimators.basis_distribution(dp.bases.Legendre(4, 0, 100), epsilon=1)",
    "dp.select('age', 'visits') >> dp.covariance([0, 0], [100, 7], rho=1, confidence=0.95)",
    "dp.select('age') >> dp.private_quantile([0.2, 0.5], bounds=(0, 100), rho=1, confidence=0.9)",
]
"""Pipelines whose releases are stored, as one seed makes them in the version that writes."""


def shown(value):
    """What a value that is read again must still say."""
    loss = getattr(value, "map", None)
    told = getattr(value, "as_dict", None)
    return {
        "repr": repr(value),
        **({} if loss is None else {"map": repr(loss(1))}),
        **({} if told is None else {"as_dict": json.loads(json.dumps(told()))}),
    }


def made(code: str):
    """The value that a person types."""
    return eval(code, {"dp": dp})


def release_of(code: str):
    """A release of the survey, always the same one in one version."""
    return made(code).insecure_release(SURVEY, seed=1).value


def read_pickle(entry: dict[str, str]):
    """A value as its pickle has it."""
    return pickle.loads(b64decode(entry["pickle"]))


def entry_of(value):
    """A value as the file holds it."""
    return {"pickle": b64encode(pickle.dumps(value, protocol=4)).decode(), **shown(value)}


def write() -> Path:
    """The file of the version that is installed."""
    pipelines = {code: entry_of(made(code)) | {"json": made(code).to_json()} for code in PIPELINES}
    document = {
        "pipelines": pipelines,
        "plain": {code: entry_of(made(code)) for code in PLAIN},
        "releases": {code: entry_of(release_of(code)) for code in RELEASES},
    }
    path = FOLDER / f"{dp.__version__}.json"
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return path


if __name__ == "__main__":
    print(write())
