"""Lines that mypy --strict and pyright must both flag.

Every bad line says so with ``type: ignore`` and the code that mypy gives; ``tests/test_typing.py``
fails for a bad line that a checker accepts, and for any other line that it flags. It also runs
every bad line and wants an exception, but for annotations, which Python does not check.
"""

from typing import Any

import numpy as np

import opendp_lite as dp

Tables = dp.Space[dp.Rows]
Totals = dp.Space[dp.Vectors]
Counts = dp.Space[dp.Scalars]
Aggregates = dp.Space[dp.Scalars | dp.Vectors]
Pure = dp.MaxDivergence
Zcdp = dp.ZeroConcentratedDivergence

pure = dp.count() >> dp.laplace(epsilon=1)
zcdp = dp.count() >> dp.gaussian(dp.rho(1))
approximate = dp.count() >> dp.gaussian(dp.epsilon(1, delta=1e-6))
clamped = dp.records() >> dp.clamp(0, 1)
released = dp.records() >> pure


def half(release: float) -> float:
    return release / 2


# Distributions.
dp.bases.Basis()  # type: ignore[abstract]
dp.bases.Cosine("a", 0, 1)  # type: ignore[arg-type]
dp.bases.Legendre(5, 0, "a")  # type: ignore[arg-type]
dp.bases.Hermite(5, scale="a", middle=0)  # type: ignore[arg-type]
dp.bases.Weighted(5)  # type: ignore[arg-type]
dp.transformations.basis_features(5)  # type: ignore[arg-type]
dp.estimators.basis_distribution(dp.bases.Haar(2, 0, 1), 3)  # type: ignore[arg-type]
dp.cdf(0, 1, 3, confidence=None)  # type: ignore[arg-type]
dp.transformations.block_counts(0, "a")  # type: ignore[arg-type]

# Quantiles and programs.
dp.gaussian(dp.mu(1), 1)  # type: ignore[call-overload]
dp.session([1.0], budget=1)  # type: ignore[arg-type]
dp.Ledger.create("a.ledger", budget=1, unit="row")  # type: ignore[arg-type]
dp.session([1.0], dp.rho(1))(dp.clamp(0, 1))  # type: ignore[arg-type]
dp.rho("1")  # type: ignore[arg-type]
dp.epsilon()  # type: ignore[call-overload]
dp.private_quantile(0.5, 1, bounds=(0, 1), confidence=None)  # type: ignore[arg-type]
dp.noisy_max(1)  # type: ignore[call-overload]
dp.noisy_max(epsilon=1, names=[1])  # type: ignore[list-item]
dp.count() >> dp.noisy_max(epsilon=1)  # type: ignore[operator]
dp.measurements.exponential_mechanism(1)  # type: ignore[arg-type]
dp.above_threshold(3, 1, epsilon=1)  # type: ignore[arg-type]
dp.above_threshold(lambda test: test(dp.laplace(scale=1)), 1, epsilon=1)  # type: ignore[arg-type]
dp.above_threshold(lambda test: 1, 1, 1)  # type: ignore[arg-type]
dp.adaptive(3, dp.rho(1))  # type: ignore[arg-type]
dp.adaptive(lambda ask: 1, dp.ZeroConcentratedDivergence())  # type: ignore[arg-type]
raise_budget: int = dp.BudgetExceeded("too much")  # type: ignore[assignment]

# Means of many columns.
dp.multivariate_mean(5, 1)  # type: ignore[arg-type]
dp.estimators.plan_plus_mean(5, rho="a")  # type: ignore[arg-type]
dp.mean("0", 1, rho=1, confidence=None)  # type: ignore[call-overload]
dp.estimators.unbounded_mean(0, confidence=None)  # type: ignore[arg-type]
dp.mean(0, 1, 1, confidence=None)  # type: ignore[call-overload]
dp.covariance(0, 1, 1)  # type: ignore[call-overload]
dp.variance(0, 1, 1, confidence=None)  # type: ignore[call-overload]
dp.standard_deviation(0, rho=1, confidence=None)  # type: ignore[call-overload]
dp.estimators.centered_mean("0", 1, epsilon=1)  # type: ignore[arg-type]
dp.estimators.simplex_mean(0, 1, rho="1")  # type: ignore[arg-type]
dp.estimators.simplex_vector_mean([1, 2], rho=1)  # type: ignore[arg-type]
dp.budget_for(1)  # type: ignore[call-arg, arg-type]
dp.expected_error(dp.sum(), n=1, guess=0)  # type: ignore[arg-type]
dp.centered_sum(1)  # type: ignore[call-overload]
dp.estimators.scaled_mean("a", rho=1)  # type: ignore[arg-type]
dp.estimators.normal_variance(5, rho=1, by="guess")  # type: ignore[arg-type]
dp.combinators.on_random_pairs(dp.clamp(0, 1))  # type: ignore[arg-type]

# A mechanism where there are rows, a stage over rows where there are none.
dp.clamp(0, 1) >> dp.gaussian(rho=1)  # type: ignore[operator]
dp.clamp(0, 1) >> dp.laplace(epsilon=1)  # type: ignore[operator]
dp.sum() >> dp.clamp(0, 1)  # type: ignore[operator]
dp.sum() >> dp.count()  # type: ignore[operator]
dp.count() >> dp.sum()  # type: ignore[operator]
dp.clamp(0, 1) >> (dp.sum() >> dp.clamp(0, 1))  # type: ignore[operator]
dp.sum() >> pure  # type: ignore[operator]

# Anything but a function or a conversion after noise.
dp.gaussian(rho=1) >> dp.clamp(0, 1)  # type: ignore[operator]
dp.laplace(epsilon=1) >> dp.sum()  # type: ignore[operator]
pure >> dp.count()  # type: ignore[operator]
pure >> dp.scale(2)  # type: ignore[operator]
pure >> (dp.clamp(0, 1) >> dp.sum())  # type: ignore[operator]
pure >> dp.laplace(epsilon=1)  # type: ignore[operator]
pure >> dp.gaussian(rho=1)  # type: ignore[operator]
pure >> pure  # type: ignore[operator]
pure >> clamped  # type: ignore[operator]
pure >> released  # type: ignore[operator]
pure >> dp.records()  # type: ignore[operator]
pure >> dp.sum  # type: ignore[operator]
pure >> dp.clamp  # type: ignore[operator]
pure >> 3  # type: ignore[operator]
pure >> "float"  # type: ignore[operator]
pure >> float >> dp.clamp(0, 1)  # type: ignore[operator]
pure >> dp.to_zcdp() >> dp.clamp(0, 1)  # type: ignore[operator]
released >> dp.clamp(0, 1)  # type: ignore[operator]
released >> pure  # type: ignore[operator]
released >> released  # type: ignore[operator]
released >> dp.records()  # type: ignore[operator]

# A plain function before noise.
dp.sum() >> abs  # type: ignore[operator]
dp.sum() >> half  # type: ignore[operator]
dp.sum() >> (lambda total: total)  # type: ignore[operator]
dp.sum() >> np.sqrt  # type: ignore[operator]
dp.clamp(0, 1) >> float  # type: ignore[operator]
dp.clamp(0, 1) >> dp.sum() >> dp.simplex_ratio(0, 1)  # type: ignore[operator]
dp.count() >> dp.to_zcdp()  # type: ignore[operator]
dp.count() >> dp.to_approximate(1e-6)  # type: ignore[operator]
dp.sum() >> dp.laplace  # type: ignore[operator]
dp.clamp(0, 1) >> dp.sum  # type: ignore[operator]
clamped >> abs  # type: ignore[operator]
clamped >> dp.to_zcdp()  # type: ignore[operator]
dp.records() >> abs  # type: ignore[operator]

# The wrong space.
dp.records() >> dp.gaussian(rho=1)  # type: ignore[operator]
dp.records() >> dp.laplace(epsilon=1)  # type: ignore[operator]
dp.records() >> dp.to_zcdp()  # type: ignore[operator]
dp.vector(2) >> dp.clamp(0, 1)  # type: ignore[operator]
dp.vector(2) >> dp.sum()  # type: ignore[operator]
dp.vector(2) >> pure  # type: ignore[operator]
dp.scalar() >> dp.clamp(0, 1)  # type: ignore[operator]
dp.scalar() >> dp.count()  # type: ignore[operator]
dp.clamp(0, 1).bind(dp.vector(1))  # type: ignore[arg-type]
dp.gaussian(rho=1).bind(dp.records())  # type: ignore[arg-type]
pure.bind(dp.scalar())  # type: ignore[arg-type]
pure.bind([1.0])  # type: ignore[arg-type]
clamped >> dp.gaussian(rho=1)  # type: ignore[operator]
clamped >> [1.0, 2.0] >> dp.clamp(0, 1)  # type: ignore[operator]
np.ones(2) >> pure  # type: ignore[operator]
clamped >> clamped  # type: ignore[operator]

# A loss asked for in another measure.
laplace_as_zcdp: dp.Mechanism[Tables, Zcdp] = dp.count() >> dp.laplace(epsilon=1)  # type: ignore[operator]
gaussian_as_pure: dp.Mechanism[Aggregates, Pure] = dp.gaussian(dp.rho(1))  # type: ignore[arg-type]
bound_as_zcdp: dp.Measurement[Tables, Zcdp] = released  # type: ignore[assignment]
function_as_zcdp: dp.Mechanism[Tables, Zcdp] = pure >> float  # type: ignore[assignment]
l2_gamma_as_zcdp: dp.Mechanism[Aggregates, Zcdp] = dp.measurements.l2_mechanism(epsilon=1)  # type: ignore[assignment]
joint = dp.clamp(0, 1) >> dp.measurements.sum_and_count(epsilon=1)
joint_as_zcdp: dp.Mechanism[Tables, Zcdp] = joint  # type: ignore[assignment]
zcdp_as_pairs: dp.Mechanism[Tables, dp.ApproximateDivergence] = zcdp  # type: ignore[assignment]
zcdp_as_pure: dp.Mechanism[Tables, Pure] = dp.compose(zcdp)  # type: ignore[arg-type]
dp.gaussian(dp.rho(1)) >> dp.to_zcdp()  # type: ignore[operator]
zcdp >> dp.to_zcdp()  # type: ignore[operator]
zcdp >> float >> dp.to_zcdp()  # type: ignore[operator]
approximate >> dp.to_zcdp()  # type: ignore[operator]
approximate >> dp.to_approximate(1e-6)  # type: ignore[operator]
zcdp.to_zcdp()  # type: ignore[misc]
pure.to_zcdp().to_zcdp()  # type: ignore[misc]
approximate.to_approximate(1e-6)  # type: ignore[misc]
(dp.records() >> zcdp).to_zcdp()  # type: ignore[misc]
released.to_approximate(1e-6).to_approximate(1e-6)  # type: ignore[misc]
dp.to_approximate("1e-6")  # type: ignore[arg-type]

# Several mechanisms. mypy alone does not see that no space is both rows and a vector, as in
# compose(pure, laplace(epsilon=1)), before the result is put to use.
dp.compose(pure, zcdp)  # type: ignore[misc]
dp.compose(dp.count() >> dp.laplace(epsilon=1), dp.count() >> dp.gaussian(dp.rho(1)))  # type: ignore[misc]
dp.compose(zcdp, approximate)  # type: ignore[misc]
dp.compose(pure, pure, zcdp >> float)  # type: ignore[misc]
dp.compose(dp.laplace(epsilon=1), dp.gaussian(dp.rho(1)))  # type: ignore[misc]
dp.compose(dp.count())  # type: ignore[call-overload]
dp.compose(released)  # type: ignore[call-overload]
dp.compose(3)  # type: ignore[call-overload]
dp.compose(rows=dp.count())  # type: ignore[call-overload]
dp.compose(pure, rows=pure)  # type: ignore[call-overload]
dp.compose(rows=pure, again=zcdp)  # type: ignore[misc]
dp.sum() >> dp.compose(pure, pure)  # type: ignore[arg-type]
two_kinds: dp.Mechanism[Tables, Pure] = dp.compose(pure, dp.laplace(epsilon=1))  # type: ignore[arg-type]
dp.records() >> dp.compose(pure, dp.laplace(epsilon=1))  # type: ignore[operator]
dp.calibrate(lambda scale: dp.count(), d_out=1)  # type: ignore[type-var]
dp.calibrate(lambda scale: dp.count() >> dp.laplace(epsilon="a"), d_out=1)  # type: ignore[call-overload]
dp.calibrate(1, d_out=1)  # type: ignore[call-overload]
dp.calibrate(lambda scale: pure)  # type: ignore[call-overload]
calibrated_as_zcdp: dp.Mechanism[Tables, Zcdp] = dp.calibrate(lambda _: pure, 1)  # type: ignore[arg-type, return-value]

# Parameters of mechanisms.
dp.laplace(dp.rho(1))  # type: ignore[arg-type]
dp.laplace(1)  # type: ignore[call-overload]
dp.laplace(rho=1)  # type: ignore[call-overload]
dp.laplace(epsilon="1")  # type: ignore[call-overload]
dp.laplace(epsilon=1, delta=1e-6)  # type: ignore[call-overload]
dp.measurements.l2_mechanism(1)  # type: ignore[arg-type]
dp.measurements.l2_mechanism(dp.rho(1))  # type: ignore[arg-type]
dp.measurements.sum_and_count(epsilon="1")  # type: ignore[arg-type]
dp.measurements.sum_and_count(epsilon=1, stretch="a")  # type: ignore[arg-type]
dp.gaussian(1)  # type: ignore[call-overload]
dp.gaussian(rho=[1])  # type: ignore[call-overload]
dp.gaussian(sigma=1)  # type: ignore[call-overload]
dp.gaussian(rho=1, confidence="a")  # type: ignore[call-overload]
dp.laplace(epsilon=1, confidence="a")  # type: ignore[call-overload]
dp.laplace(epsilon=1).accuracy()  # type: ignore[call-arg]
dp.count().accuracy(0.95)  # type: ignore[attr-defined]

# Parameters of stages.
dp.clamp("a", 1)  # type: ignore[arg-type]
dp.clamp(0, None)  # type: ignore[arg-type]
dp.clamp([0, "a"], 1)  # type: ignore[list-item]
dp.clamp(dp.records(), 0, 1)  # type: ignore[call-arg, arg-type]
dp.clip_to_norm([1, 2])  # type: ignore[arg-type]
dp.clip_to_norm(1, p="2")  # type: ignore[arg-type]
dp.center("middle")  # type: ignore[arg-type]
dp.scale(1j)  # type: ignore[arg-type]
dp.impute(None)  # type: ignore[arg-type]
dp.select(1.5)  # type: ignore[arg-type]
dp.resize(2.5, 0)  # type: ignore[arg-type]
dp.resize(3, fill="zero")  # type: ignore[arg-type]
dp.count([1.0])  # type: ignore[arg-type, call-arg]
dp.simplex_ratio("a", 1)  # type: ignore[arg-type]
dp.count_ratio(0, 1, middle="a")  # type: ignore[arg-type]
dp.count() >> dp.count_ratio(0, 1)  # type: ignore[operator]
dp.estimators.size_ratio(1.5, 0, 1)  # type: ignore[arg-type]
dp.sum() >> dp.estimators.size_ratio(3, 0, 1)  # type: ignore[operator]
dp.row_map(dp.vector(1), np.sqrt, dp.bodies.Box(0, 1))  # type: ignore[arg-type]
dp.row_map(dp.records(), 3, dp.bodies.Box(0, 1))  # type: ignore[arg-type]
dp.clampp(0, 1)  # type: ignore[attr-defined]

# Histograms.
dp.histogram("age", 1, edges=[0, 1])  # type: ignore[arg-type]
dp.histogram("age", categories=3, epsilon=1)  # type: ignore[arg-type]

# Tables and groups.
dp.one_hot(3)  # type: ignore[arg-type]
dp.bins("a")  # type: ignore[arg-type]
dp.keep(0, between=(0, 1))  # type: ignore[arg-type]
dp.keep("age", between=(0, 1, 2))  # type: ignore[arg-type]
dp.by("sex", ["f"], dp.clamp(0, 1))  # type: ignore[call-overload]
dp.by("sex", 3, dp.count() >> dp.laplace(epsilon=1))  # type: ignore[call-overload]
dp.sample("0.1", dp.count() >> dp.laplace(epsilon=1))  # type: ignore[arg-type]
dp.sample(0.1, dp.count())  # type: ignore[arg-type]
dp.combinators.group_by("sex", ["f"], dp.count() >> dp.laplace(epsilon=1))  # type: ignore[arg-type]
dp.bodies.OneHots("a")  # type: ignore[arg-type]

# Spaces, domains, bodies, metrics, distances, measures.
dp.records(columns=1.5)  # type: ignore[call-overload]
dp.records(size="many")  # type: ignore[call-overload]
dp.records(metric=dp.metrics.L1Distance())  # type: ignore[call-overload]
dp.vector("a")  # type: ignore[arg-type]
dp.vector(2, dp.SymmetricDistance())  # type: ignore[arg-type]
dp.vector(2, unit="a")  # type: ignore[arg-type]
dp.scalar("a")  # type: ignore[arg-type]
dp.Space(3, dp.SymmetricDistance(), unit=1)  # type: ignore[type-var]
rows_as_vectors: Totals = dp.records()  # type: ignore[assignment]
vector_as_number: Counts = dp.vector(1)  # type: ignore[assignment]
dp.Tables("a")  # type: ignore[arg-type]
dp.Rows("a")  # type: ignore[arg-type]
dp.Rows(1, body=dp.Rows())  # type: ignore[arg-type]
dp.Vectors("a")  # type: ignore[arg-type]
dp.Scalars(1, 2)  # type: ignore[call-arg, arg-type]
dp.bodies.Body()  # type: ignore[abstract]
dp.bodies.Box("a", 1)  # type: ignore[arg-type]
dp.bodies.Ball("a")  # type: ignore[arg-type]
dp.bodies.Ball(1, p="a")  # type: ignore[arg-type]
dp.bodies.Simplex("a")  # type: ignore[arg-type]
body_as_box: dp.bodies.Box = dp.bodies.Everything()  # type: ignore[assignment]
dp.metrics.Metric()  # type: ignore[abstract]
dp.metrics.RowMetric()  # type: ignore[abstract]
dp.Norms(l1="a")  # type: ignore[arg-type]
dp.Norms(l1=1) * "a"  # type: ignore[operator]
dp.measures.Measure()  # type: ignore[abstract]
pairs_as_numbers: dp.MaxDivergence = dp.ApproximateDivergence()  # type: ignore[assignment]


# Steps that users write.
def of_rows(space: Tables, by: float) -> dp.Transformation[Tables, Tables]:
    return dp.row_map(space, lambda block: block * by, space.domain.body)


def of_numbers(space: Aggregates, by: float) -> dp.Measurement[Aggregates, Pure]:
    return dp.Measurement(space, Pure(), lambda value, entropy: 0, lambda distance: by)


def of_nothing() -> dp.Transformation[Tables, Tables]:
    return clamped


def of_floats(release: Any, by: float) -> float:
    return float(release) * by


dp.stage(of_numbers)  # type: ignore[arg-type]
dp.stage(of_nothing)  # type: ignore[arg-type]
dp.stage(half)  # type: ignore[arg-type, type-var]
dp.stage(3)  # type: ignore[call-overload]
dp.stage(of_rows)()  # type: ignore[call-arg]
dp.stage(of_rows)("a")  # type: ignore[arg-type]
dp.mechanism(of_rows)  # type: ignore[arg-type]
dp.mechanism(half)  # type: ignore[arg-type, type-var]
dp.mechanism(of_numbers)()  # type: ignore[call-arg]
dp.mechanism(of_numbers)("a")  # type: ignore[arg-type]
dp.mechanism(of_numbers)(1) >> dp.count()  # type: ignore[operator]
dp.compose(zcdp, dp.count() >> dp.mechanism(of_numbers)(1))  # type: ignore[misc]
dp.postprocessor(3)  # type: ignore[call-overload]
dp.postprocessor(of_floats)()  # type: ignore[call-arg]
dp.postprocessor(of_floats)("a")  # type: ignore[arg-type]
dp.count() >> dp.postprocessor(of_floats)(2)  # type: ignore[operator]
mechanism_as_stage: dp.Stage[Tables, Totals] = pure  # type: ignore[assignment]
recipe_as_bound: dp.Measurement[Tables, Pure] = pure  # type: ignore[assignment]

# People with several rows.
dp.metrics.SymmetricIdDistance(3)  # type: ignore[arg-type]
dp.bound_contributions("3")  # type: ignore[arg-type]
dp.bound_contributions(3, "id")  # type: ignore[call-arg, arg-type]
dp.bound_contributions(3, groups=("city", "2"))  # type: ignore[arg-type]
dp.bound_contributions(3) >> dp.laplace(epsilon=1)  # type: ignore[operator]
dp.records(columns=3, person="id")  # type: ignore[call-overload]

# Data, files, falsifiers, errors.
dp.Blocks([1.0])  # type: ignore[arg-type]
dp.csv_column(["age.csv"])  # type: ignore[arg-type]
dp.csv_column("age.csv", 1.5)  # type: ignore[arg-type]
dp.csv_column("age.csv", text="drop")  # type: ignore[arg-type]
dp.parquet(5)  # type: ignore[arg-type]
dp.csv_table("age.csv", "age")  # type: ignore[arg-type]
dp.csv_table("age.csv", {"age": float}, text="drop")  # type: ignore[arg-type]
insecure_as_float: float = pure.insecure_release([1.0], seed=0)  # type: ignore[assignment]
pure.insecure_release([1.0])  # type: ignore[call-arg]
pure.epsilon()  # type: ignore[call-arg]
dp.from_json(3)  # type: ignore[arg-type]
dp.from_json(pure.to_json(), extra=3)  # type: ignore[arg-type]
dp.assert_lawful(3, [1])  # type: ignore[arg-type]
dp.assert_replayable(3, [1.0], [])  # type: ignore[arg-type]
dp.assert_stable(pure)  # type: ignore[arg-type]
dp.assert_stable(dp.clamp(0, 1), dp.vector(1))  # type: ignore[arg-type]
dp.audit(dp.count(), [1.0], [2.0])  # type: ignore[arg-type]
parameter_as_type: TypeError = dp.ParameterError("a")  # type: ignore[assignment]
space_as_value: ValueError = dp.SpaceError("a")  # type: ignore[assignment]
data_as_type: TypeError = dp.DataError("a")  # type: ignore[assignment]
any_as_value: ValueError = dp.OpenDPLiteError("a")  # type: ignore[assignment]

# Noise of one's own, examples, typed releases.
dp.Grid([3, 4], "a")  # type: ignore[arg-type]
dp.Facts(simulate=3)  # type: ignore[arg-type]
dp.measurements.added_noise(dp.vector(1), 3, dp.MaxDivergence(), abs)  # type: ignore[arg-type]
dp.Proof(3)  # type: ignore[arg-type]
dp.stage(does=3)  # type: ignore[call-overload]
dp.mechanism(proof="Trust me.")  # type: ignore[call-overload]
number_as_text: str = dp.mean(0, 1, epsilon=1, confidence=None)([0.5])  # type: ignore[assignment]

dp.plotting.privacy_curves([pure])  # type: ignore[arg-type]
dp.plotting.tradeoff_curve(pure)  # type: ignore[arg-type]
dp.plotting.noise_probabilities(dp.count())  # type: ignore[arg-type]
dp.plotting.histogram_bars([1.0, 2.0])  # type: ignore[arg-type]
dp.plotting.cdf_curve([1.0, 2.0])  # type: ignore[arg-type]
dp.plotting.density_curve([1.0, 2.0])  # type: ignore[arg-type]
dp.plotting.estimate_intervals(3.0)  # type: ignore[arg-type]
dp.plotting.noise_shapes(4)  # type: ignore[arg-type]
