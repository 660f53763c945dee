"""Lines that mypy --strict and pyright must both flag, at least one for every public name.

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
zcdp = dp.count() >> dp.gaussian(rho=1)
approximate = dp.count() >> dp.gaussian(epsilon=1, delta=1e-6)
clamped = dp.records() >> dp.clamp(0, 1)
released = dp.records() >> pure


def half(release: float) -> float:
    return release / 2


# Quantiles and programs.
dp.absolute() >> dp.gaussian(rho=1)  # type: ignore[operator]
dp.norm() >> dp.laplace(epsilon=1)  # type: ignore[operator]
dp.is_below(1) >> dp.laplace(epsilon=1)  # type: ignore[operator]
dp.private_quantile(0.5, bounds=(0, 1))  # type: ignore[call-overload]
dp.adaptive(3, dp.ZeroConcentratedDivergence(), 1)  # type: ignore[arg-type]
dp.adaptive(lambda ask: 1, dp.ZeroConcentratedDivergence, 1)  # type: ignore[type-var]
dp.Ask()  # type: ignore[call-arg]
raise_budget: int = dp.BudgetExceeded("too much")  # type: ignore[assignment]

# A mechanism where there are rows, a stage over rows where there are none.
dp.clamp(0, 1) >> dp.gaussian(rho=1)  # type: ignore[operator]
dp.clamp(0, 1) >> dp.laplace(epsilon=1)  # type: ignore[operator]
dp.clip_to_norm(1) >> dp.gaussian(rho=1)  # type: ignore[operator]
dp.center(1) >> dp.gaussian(epsilon=1, delta=1e-6)  # type: ignore[operator]
dp.scale(2) >> dp.laplace(scale=1)  # type: ignore[operator]
dp.impute(0) >> dp.gaussian(scale=1)  # type: ignore[operator]
dp.drop_nan() >> dp.laplace(scale=1)  # type: ignore[operator]
dp.select(0) >> dp.laplace(scale=1)  # type: ignore[operator]
dp.resize(3, 0) >> dp.laplace(scale=1)  # type: ignore[operator]
dp.simplex_augment() >> dp.gaussian(rho=1)  # type: ignore[operator]
dp.sum() >> dp.clamp(0, 1)  # type: ignore[operator]
dp.sum() >> dp.clip_to_norm(1)  # type: ignore[operator]
dp.sum() >> dp.simplex_augment()  # type: ignore[operator]
dp.sum() >> dp.count()  # type: ignore[operator]
dp.sum() >> dp.sum()  # type: ignore[operator]
dp.count() >> dp.sum()  # type: ignore[operator]
dp.count() >> dp.resize(3, 0)  # type: ignore[operator]
dp.count() >> dp.center(1)  # type: ignore[operator]
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
pure >> dp.gaussian  # type: ignore[operator]
pure >> 3  # type: ignore[operator]
pure >> "float"  # type: ignore[operator]
pure >> float >> dp.clamp(0, 1)  # type: ignore[operator]
pure >> dp.to_zcdp() >> dp.clamp(0, 1)  # type: ignore[operator]
released >> dp.clamp(0, 1)  # type: ignore[operator]
released >> pure  # type: ignore[operator]
released >> released  # type: ignore[operator]
released >> dp.records()  # type: ignore[operator]
dp.compose(pure, pure) >> dp.clamp(0, 1)  # type: ignore[operator]

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
clamped >> dp.sum() >> dp.sum()  # type: ignore[operator]
[1.0, 2.0] >> dp.clamp(0, 1)  # type: ignore[operator]
np.ones(2) >> pure  # type: ignore[operator]
clamped >> clamped  # type: ignore[operator]

# A loss asked for in another measure.
laplace_as_zcdp: dp.Mechanism[Tables, Zcdp] = dp.count() >> dp.laplace(epsilon=1)  # type: ignore[operator]
gaussian_as_pure: dp.Mechanism[Aggregates, Pure] = dp.gaussian(rho=1)  # type: ignore[assignment]
bound_as_zcdp: dp.Measurement[Tables, Zcdp] = released  # type: ignore[assignment]
function_as_zcdp: dp.Mechanism[Tables, Zcdp] = pure >> float  # type: ignore[assignment]
zcdp_as_pairs: dp.Mechanism[Tables, dp.ApproximateDivergence] = zcdp  # type: ignore[assignment]
zcdp_as_pure: dp.Mechanism[Tables, Pure] = dp.compose(zcdp)  # type: ignore[arg-type]
dp.gaussian(rho=1) >> dp.to_zcdp()  # type: ignore[operator]
zcdp >> dp.to_zcdp()  # type: ignore[operator]
zcdp >> float >> dp.to_zcdp()  # type: ignore[operator]
pure >> dp.to_zcdp() >> dp.to_zcdp()  # type: ignore[operator]
approximate >> dp.to_zcdp()  # type: ignore[operator]
approximate >> dp.to_approximate(1e-6)  # type: ignore[operator]
zcdp.to_zcdp()  # type: ignore[misc]
pure.to_zcdp().to_zcdp()  # type: ignore[misc]
approximate.to_approximate(1e-6)  # type: ignore[misc]
(dp.records() >> zcdp).to_zcdp()  # type: ignore[misc]
released.to_approximate(1e-6).to_approximate(1e-6)  # type: ignore[misc]
dp.to_zcdp(1)  # type: ignore[call-arg]
dp.to_approximate()  # type: ignore[call-arg]
dp.to_approximate("1e-6")  # type: ignore[arg-type]

# Several mechanisms. mypy alone does not see that no space is both rows and a vector, as in
# compose(pure, laplace(epsilon=1)), before the result is put to use.
dp.compose(pure, zcdp)  # type: ignore[misc]
dp.compose(dp.count() >> dp.laplace(epsilon=1), dp.count() >> dp.gaussian(rho=1))  # type: ignore[misc]
dp.compose(zcdp, approximate)  # type: ignore[misc]
dp.compose(pure, pure, zcdp >> float)  # type: ignore[misc]
dp.compose(dp.laplace(epsilon=1), dp.gaussian(rho=1))  # type: ignore[misc]
dp.compose(dp.count())  # type: ignore[arg-type]
dp.compose(released)  # type: ignore[arg-type]
dp.compose(3)  # type: ignore[arg-type]
dp.sum() >> dp.compose(pure, pure)  # type: ignore[arg-type]
two_kinds: dp.Mechanism[Tables, Pure] = dp.compose(pure, dp.laplace(epsilon=1))  # type: ignore[arg-type]
dp.records() >> dp.compose(pure, dp.laplace(epsilon=1))  # type: ignore[operator]
dp.calibrate(lambda scale: dp.count(), d_out=1)  # type: ignore[type-var]
dp.calibrate(lambda scale: dp.count() >> dp.laplace(epsilon="a"), d_out=1)  # type: ignore[call-overload]
dp.calibrate(1, d_out=1)  # type: ignore[call-overload]
dp.calibrate(lambda scale: pure)  # type: ignore[call-overload]
calibrated_as_zcdp: dp.Mechanism[Tables, Zcdp] = dp.calibrate(lambda _: pure, 1)  # type: ignore[arg-type, return-value]

# Parameters of mechanisms.
dp.laplace()  # type: ignore[call-overload]
dp.laplace(1)  # type: ignore[call-overload]
dp.laplace(rho=1)  # type: ignore[call-overload]
dp.laplace(scale=1, epsilon=1)  # type: ignore[call-overload]
dp.laplace(epsilon="1")  # type: ignore[call-overload]
dp.laplace(epsilon=1, delta=1e-6)  # type: ignore[call-overload]
dp.gaussian()  # type: ignore[call-overload]
dp.gaussian(1)  # type: ignore[call-overload]
dp.gaussian(epsilon=1)  # type: ignore[call-overload]
dp.gaussian(delta=1e-6)  # type: ignore[call-overload]
dp.gaussian(rho=1, epsilon=1)  # type: ignore[call-overload]
dp.gaussian(rho=1, scale=1)  # type: ignore[call-overload]
dp.gaussian(rho=1, delta=1e-6)  # type: ignore[call-overload]
dp.gaussian(rho=[1])  # type: ignore[call-overload]
dp.gaussian(sigma=1)  # type: ignore[call-overload]

# Parameters of stages.
dp.clamp(0)  # type: ignore[call-arg]
dp.clamp("a", 1)  # type: ignore[arg-type]
dp.clamp(0, None)  # type: ignore[arg-type]
dp.clamp([0, "a"], 1)  # type: ignore[list-item]
dp.clamp(0, 1, 2)  # type: ignore[call-arg]
dp.clamp(0, top=1)  # type: ignore[call-arg]
dp.clamp(dp.records(), 0, 1)  # type: ignore[call-arg, arg-type]
dp.clip_to_norm()  # type: ignore[call-arg]
dp.clip_to_norm([1, 2])  # type: ignore[arg-type]
dp.clip_to_norm(1, p="2")  # type: ignore[arg-type]
dp.center()  # type: ignore[call-arg]
dp.center("middle")  # type: ignore[arg-type]
dp.scale()  # type: ignore[call-arg]
dp.scale(1j)  # type: ignore[arg-type]
dp.impute()  # type: ignore[call-arg]
dp.impute(None)  # type: ignore[arg-type]
dp.drop_nan(1)  # type: ignore[call-arg]
dp.select()  # type: ignore[call-arg]
dp.select(1.5)  # type: ignore[arg-type]
dp.resize(3)  # type: ignore[call-arg]
dp.resize(2.5, 0)  # type: ignore[arg-type]
dp.resize(3, fill="zero")  # type: ignore[arg-type]
dp.simplex_augment(1)  # type: ignore[call-arg]
dp.sum(axis=0)  # type: ignore[call-arg]
dp.count([1.0])  # type: ignore[call-arg]
dp.simplex_ratio(0)  # type: ignore[call-arg]
dp.simplex_ratio("a", 1)  # type: ignore[arg-type]
dp.count_ratio(0)  # type: ignore[call-arg]
dp.count_ratio(0, 1, middle="a")  # type: ignore[arg-type]
dp.count() >> dp.count_ratio(0, 1)  # type: ignore[operator]
dp.size_ratio(0, 1)  # type: ignore[call-arg]
dp.size_ratio(1.5, 0, 1)  # type: ignore[arg-type]
dp.sum() >> dp.size_ratio(3, 0, 1)  # type: ignore[operator]
dp.row_map(dp.vector(1), np.sqrt, dp.Box(0, 1))  # type: ignore[arg-type]
dp.row_map(dp.records(), np.sqrt)  # type: ignore[call-arg]
dp.row_map(dp.records(), 3, dp.Box(0, 1))  # type: ignore[arg-type]
dp.clampp(0, 1)  # type: ignore[attr-defined]

# Spaces, domains, bodies, metrics, distances, measures.
dp.records(columns=1.5)  # type: ignore[arg-type]
dp.records(size="many")  # type: ignore[arg-type]
dp.records(metric=dp.L1Distance())  # type: ignore[arg-type]
dp.vector()  # type: ignore[call-arg]
dp.vector("a")  # type: ignore[arg-type]
dp.vector(2, dp.SymmetricDistance())  # type: ignore[arg-type]
dp.vector(2, unit="a")  # type: ignore[arg-type]
dp.scalar("a")  # type: ignore[arg-type]
dp.Space(dp.Rows(), dp.SymmetricDistance())  # type: ignore[call-arg]
dp.Space(3, dp.SymmetricDistance(), unit=1)  # type: ignore[type-var]
rows_as_vectors: Totals = dp.records()  # type: ignore[assignment]
vector_as_number: Counts = dp.vector(1)  # type: ignore[assignment]
dp.Rows("a")  # type: ignore[arg-type]
dp.Rows(1, body=dp.Rows())  # type: ignore[arg-type]
dp.Vectors()  # type: ignore[call-arg]
dp.Vectors("a")  # type: ignore[arg-type]
dp.Scalars(1, 2)  # type: ignore[call-arg]
dp.Domain()  # type: ignore[abstract]
dp.Body()  # type: ignore[abstract]
dp.Box(0)  # type: ignore[call-arg]
dp.Box("a", 1)  # type: ignore[arg-type]
dp.Ball()  # type: ignore[call-arg]
dp.Ball("a")  # type: ignore[arg-type]
dp.Ball(1, p="a")  # type: ignore[arg-type]
dp.NonNegativeBall()  # type: ignore[call-arg]
dp.NonNegativeBall(1, center=1)  # type: ignore[call-arg]
dp.Simplex("a")  # type: ignore[arg-type]
dp.Simplex()  # type: ignore[call-arg]
dp.Everything(1, 2)  # type: ignore[call-arg]
body_as_box: dp.Box = dp.Everything()  # type: ignore[assignment]
dp.Metric()  # type: ignore[abstract]
dp.RowMetric()  # type: ignore[abstract]
dp.SymmetricDistance(1)  # type: ignore[call-arg]
dp.ChangeOneDistance(1)  # type: ignore[call-arg]
dp.NormDistance(1)  # type: ignore[call-arg]
dp.AbsoluteDistance(1)  # type: ignore[call-arg]
dp.L1Distance(1)  # type: ignore[call-arg]
dp.L2Distance(1)  # type: ignore[call-arg]
dp.LInfDistance(1)  # type: ignore[call-arg]
dp.Norms(l1="a")  # type: ignore[arg-type]
dp.Norms(l3=1)  # type: ignore[call-arg]
dp.Norms(l1=1) * "a"  # type: ignore[operator]
dp.Measure()  # type: ignore[abstract]
dp.MaxDivergence(1)  # type: ignore[call-arg]
dp.ZeroConcentratedDivergence(1)  # type: ignore[call-arg]
dp.ApproximateDivergence(1)  # type: ignore[call-arg]
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
dp.stage(3)  # type: ignore[arg-type]
dp.stage(of_rows)()  # type: ignore[call-arg]
dp.stage(of_rows)("a")  # type: ignore[arg-type]
dp.stage(of_rows)(1) >> dp.laplace(scale=1)  # type: ignore[operator]
dp.sum() >> dp.stage(of_rows)(1)  # type: ignore[operator]
pure >> dp.stage(of_rows)(1)  # type: ignore[operator]
dp.mechanism(of_rows)  # type: ignore[arg-type]
dp.mechanism(half)  # type: ignore[arg-type, type-var]
dp.mechanism(of_numbers)()  # type: ignore[call-arg]
dp.mechanism(of_numbers)("a")  # type: ignore[arg-type]
dp.mechanism(of_numbers)(1) >> dp.count()  # type: ignore[operator]
dp.clamp(0, 1) >> dp.mechanism(of_numbers)(1)  # type: ignore[operator]
dp.compose(zcdp, dp.count() >> dp.mechanism(of_numbers)(1))  # type: ignore[misc]
dp.postprocessor(3)  # type: ignore[arg-type]
dp.postprocessor(of_floats)()  # type: ignore[call-arg]
dp.postprocessor(of_floats)("a")  # type: ignore[arg-type]
dp.count() >> dp.postprocessor(of_floats)(2)  # type: ignore[operator]
dp.Stage()  # type: ignore[call-arg]
dp.Mechanism()  # type: ignore[call-arg]
dp.Transformation()  # type: ignore[call-arg]
dp.Measurement()  # type: ignore[call-arg]
mechanism_as_stage: dp.Stage[Tables, Totals] = pure  # type: ignore[assignment]
recipe_as_bound: dp.Measurement[Tables, Pure] = pure  # type: ignore[assignment]

# Data, files, falsifiers, errors.
dp.Blocks([1.0])  # type: ignore[arg-type]
dp.Blocks()  # type: ignore[call-arg]
dp.csv_column()  # type: ignore[call-arg]
dp.csv_column(["age.csv"])  # type: ignore[arg-type]
dp.csv_column("age.csv", 0)  # type: ignore[arg-type]
dp.csv_column("age.csv", "age", ";")  # type: ignore[call-arg]
dp.InsecureRelease(1)  # type: ignore[call-arg]
insecure_as_float: float = pure.insecure_release([1.0], seed=0)  # type: ignore[assignment]
pure.insecure_release([1.0])  # type: ignore[call-arg]
pure.epsilon()  # type: ignore[call-arg]
dp.from_json(3)  # type: ignore[arg-type]
dp.from_json(pure.to_json(), extra=3)  # type: ignore[arg-type]
dp.assert_lawful(3, [1])  # type: ignore[arg-type]
dp.assert_stable(pure)  # type: ignore[arg-type]
dp.assert_stable(dp.clamp(0, 1), dp.vector(1))  # type: ignore[arg-type]
dp.audit(dp.count(), [1.0], [2.0])  # type: ignore[arg-type]
dp.audit(pure, [1.0])  # type: ignore[call-arg]
parameter_as_type: TypeError = dp.ParameterError("a")  # type: ignore[assignment]
space_as_value: ValueError = dp.SpaceError("a")  # type: ignore[assignment]
data_as_type: TypeError = dp.DataError("a")  # type: ignore[assignment]
any_as_value: ValueError = dp.OpenDPLiteError("a")  # type: ignore[assignment]
