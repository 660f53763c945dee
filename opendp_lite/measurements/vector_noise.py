"""Noise on a vector as a whole, and one joint noise on a sum and a number of rows."""

from __future__ import annotations

from fractions import Fraction
from operator import attrgetter
from typing import Final, cast

from opendp_lite import samplers
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies import Ball, Box
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.plan import Release
from opendp_lite.explain.trace import side_by_side
from opendp_lite.measurements.noise import Aggregate, added_noise, width_of_noise
from opendp_lite.measures import MaxDivergence, PrivacyBudget
from opendp_lite.measures.curve import curved_number
from opendp_lite.measures.profile import PureConcentratedProfile
from opendp_lite.metrics.distances import LInfDistance
from opendp_lite.numbers.exact import Number, exact, positive, round_up, sqrt_up
from opendp_lite.numbers.grid import Grid
from opendp_lite.pipeline.core import Facts, Measurement
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.samplers.core_noise import CoreNoise
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, row_metric, rows_in, scalar, vector
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.sums import count, sum

SumAndCount = tuple[Floats, float]


@mechanism(
    does="Releases the sum of the rows and their number, for pure differential privacy of both.",
    proof=Proof(
        "The density is proportional to exp(-m) with m the larger of epsilon |s| / r and "
        "epsilon |n| - stretch. One row moves s by r and n by 1, so m by epsilon. |s| is the l2 "
        "norm, or with cube=True the largest entry.",
        adding="epsilon k",
        replacing="-",
        sources=["Hardt and Talwar 2010, section 4"],
    ),
    examples=lambda: [
        example(rows_in(Box(-5, 5)), epsilon=0.1),
        example(rows_in(Ball(5, columns=2)), epsilon=1, stretch=2.39),
        example(rows_in(Box(-1, 2, columns=3)), epsilon=1, cube=True),
    ],
)
def sum_and_count(
    space: Space[Rows], *, epsilon: Number, stretch: Number = 1, cube: bool = False
) -> Measurement[Space[Rows], MaxDivergence]:
    """Releases the sum of the rows and their number, for pure differential privacy of both.

    Put ``center(middle)`` before it, about where you expect the rows' mean: then the rows' norm
    is least. The number of rows is private.

    Args:
        epsilon: The loss, met exactly for one unit at the front of the pipeline.
        stretch: At least 0: how much of the count's accuracy is given up for the sum's. 0 is best
            for a mean that may lie at the edge of the rows' range, and 1 for a mean anywhere. 2.39
            has the least worst case over all means of one column, and more is best for a mean near
            0.
        cube: Whether r is the largest entry of a row, and not its l2 norm. This is best for rows
            that only ``clamp`` bounds, between equal bounds in all columns.

    Returns:
        A tuple of the noisy sum, an array with an entry for each column, and the noisy number of
        rows, a float. Each is on a public grid far finer than its noise, which is an exact sample.
        For d columns, rows of l2 norm at most r and h = ``stretch``, an entry of the sum has the
        variance (r / epsilon)^2 (d + 1) (d + 3 + h) / (d + 1 + h), in a cube (d + 2) / 3 times as
        much for its lesser r. The noises are dependent though uncorrelated, so no law of single
        entries is declared.

    Raises:
        ParameterError: If ``epsilon`` is not above 0, or ``stretch`` is below 0.
        SpaceError: If the rows are unbounded, or their number is public.

    Example:
        >>> import opendp_lite as dp
        >>> pipeline = dp.clamp(0, 100) >> dp.center(50) >> dp.measurements.sum_and_count(epsilon=1)
        >>> pipeline.map(1)
        1.0
        >>> total, rows = pipeline([30.0, 60.0] * 5000)
        >>> round(50 + total[0] / rows)
        45
    """
    loss, longer = positive(epsilon, "epsilon"), exact(stretch, "stretch")
    if longer < 0:
        raise ParameterError(f"sum_and_count: stretch is at least 0, got {stretch}")
    if row_metric(space).fixed_size:
        raise SpaceError(
            "sum_and_count: it hides the number of rows, which is public here, declared as "
            f"size={space.domain.size}; use sum() >> l2_mechanism() or sum() >> laplace() and that "
            "number, or SymmetricDistance() where it is private"
        )
    radii = space.domain.body.radii()
    if radii is None or radii.l2_squared is None:
        raise SpaceError(
            "sum_and_count needs bounded values, and these may be anything: put dp.clamp(0, 100) "
            "before it, or dp.clip_to_norm(radius)"
        )
    each = loss / cast(Fraction, space.unit)
    radius = cast(Fraction, radii.linf) if cube else sqrt_up(radii.l2_squared)
    noise = CoreNoise.near(radius, each, longer, space.domain.columns, cube)
    total, rows = sum().bind(space), count().bind(space)
    entry, beside = noise.deviations

    def release(value: tuple[Grid, Grid], entropy: Entropy) -> SumAndCount:
        added, number = noise.noisy(*value, entropy)
        return added.floats, float(number)

    deviations = (
        f"standard deviations {entry:.6g} of an entry of the sum and {beside:.6g} of the count"
    )
    of_sum, of_count = (f"{float(size / each):.6g}" for size in (radius, 1))
    length = "max |s_j|" if cube else "|s|"
    density = f"exp(-max({length} / {of_sum}, |k| / {of_count} - {float(longer):.6g}))"
    return Measurement(
        space,
        MaxDivergence(),
        Release((total.function, rows.function), release),
        lambda distance: each * distance,
        Facts(
            explanation=f"epsilon = {float(each):.6g} times the rows, {deviations}",
            noise=f"noise s on the sum and k on the count, of joint density {density}",
        ),
        trace=side_by_side({"sum": total.trace, "count": rows.trace}),
    )


@mechanism(
    does="Adds noise to a vector as a whole, for pure differential privacy of the l2 distance.",
    proof=Proof(
        "The K-norm mechanism of the l2 ball: the density is proportional to exp(-norm / "
        "scale), and the triangle inequality bounds its change. Its zCDP loss in d dimensions "
        "is the order 1 divergence, in Bessel functions, at most epsilon^2 / 2 d: in spheroidal "
        "coordinates the logarithm of a moment is concave in its order squared. An "
        "entry is a difference of two gamma variates of shape (d + 1) / 2, whose tail "
        "`accuracy` bounds by a recursion with positive terms.",
        adding="epsilon = l2 / scale",
        replacing="epsilon = l2 / scale",
        sources=[
            "Hardt and Talwar 2010, section 4",
            "Chaudhuri, Monteleoni, Sarwate 2011, algorithm 1",
        ],
    ),
    examples=lambda: [
        example(scalar(), epsilon=1),
        example(vector(3, unit=2), scale=0.1),
        example(vector(3), epsilon=1, confidence=0.95),
    ],
)
def l2_mechanism(
    space: Aggregate,
    budget: PrivacyBudget[MaxDivergence] | None = None,
    *,
    scale: Number | None = None,
    epsilon: Number | None = None,
    confidence: Number | None = None,
) -> Measurement[Aggregate, MaxDivergence]:
    """Adds noise to a vector as a whole, for pure differential privacy of the l2 distance.

    It goes after a vector or a number with a bounded l2 distance. Give ``scale`` or ``epsilon``.

    Args:
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        scale: The b of the density proportional to ``exp(-|z| / b)``, for the l2 norm ``|z|`` of
            the noise, in units of the data.
        epsilon: The loss, met exactly for one unit at the front of the pipeline.
        confidence: 0.95, say, asks for an interval with each entry: see ``docs/intervals.md``.

    Returns:
        The value with noise of a uniform direction and a gamma distributed length, on a public
        grid far finer than an entry's noise. In d dimensions the length has the mean d b and the
        mean square d (d + 1) b^2. The noise is an exact sample. The noises of the entries are
        dependent. ``accuracy`` knows how far each entry may be off, and all of them together.
        With a confidence, a ``dp.Estimate`` of one number and ``dp.releases.Estimates`` of several.

    Raises:
        ParameterError: If none or both are given, or it is not above 0 and finite; if
            ``confidence`` is not between 0 and 1.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.records(columns=3) >> dp.clip_to_norm(10) >> dp.sum()
        >>> (total >> dp.measurements.l2_mechanism(scale=20)).map(1)
        0.5
        >>> noisy = total >> dp.measurements.l2_mechanism(epsilon=1)
        >>> noisy.map(1), round(noisy.accuracy(0.95), 1)
        (1.0, 41.1)
        >>> vector = dp.records(columns=200) >> dp.clip_to_norm(10) >> dp.sum()
        >>> round((vector >> dp.measurements.l2_mechanism(epsilon=1)).to_zcdp().map(1), 5)
        0.0025
    """
    dimension = space.domain.dimension
    unit = space.unit.over(dimension)
    square = width_of_noise("l2_mechanism", unit, scale, epsilon, attrgetter("l2_squared"), power=2)
    width = sqrt_up(square)
    return added_noise(
        space,
        samplers.L2Gamma.near(width, dimension),
        MaxDivergence(),
        lambda norms: _loss(sqrt_up(cast(Fraction, norms.l2_squared) / square), dimension),
        f"epsilon = l2 / b, b = {float(width):.6g}, expected l2 norm of the noise d b = "
        f"{round_up(dimension * width):.6g}",
        confidence,
    )


@mechanism(
    does="Adds noise to a vector as a whole, for pure privacy of its largest change.",
    proof=Proof(
        "The K-norm mechanism of the cube: the density is proportional to exp(-largest entry / "
        "scale), and the triangle inequality bounds its change. An entry's tail, which "
        "`accuracy` bounds, is a sum of positive terms.",
        adding="epsilon = linf / scale",
        replacing="epsilon = linf / scale",
        sources=["Hardt and Talwar 2010, section 4"],
    ),
    examples=lambda: [
        example(scalar(), epsilon=1),
        example(vector(3, metric=LInfDistance(), unit=2), scale=0.1),
        example(vector(3, metric=LInfDistance()), epsilon=1, confidence=0.95),
    ],
)
def linf_mechanism(
    space: Aggregate,
    budget: PrivacyBudget[MaxDivergence] | None = None,
    *,
    scale: Number | None = None,
    epsilon: Number | None = None,
    confidence: Number | None = None,
) -> Measurement[Aggregate, MaxDivergence]:
    """Adds noise to a vector as a whole, for pure privacy of its largest change.

    It goes after a vector or a number of which one unit moves every entry by a bounded amount. Give
    ``scale`` or ``epsilon``. After ``clamp`` and ``sum`` of two columns or more it has less noise
    than ``laplace`` and ``l2_mechanism``.

    Args:
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        scale: The b of the density proportional to ``exp(-max |z_j| / b)``, in units of the data.
        epsilon: The loss, met exactly for one unit at the front of the pipeline.
        confidence: 0.95, say, asks for an interval with each entry: see ``docs/intervals.md``.

    Returns:
        The value with noise that is uniform in a cube of random size, on a public grid far finer
        than it. In d dimensions an entry has the variance (d + 1) (d + 2) b^2 / 3. The noise is an
        exact sample. The noises of the entries are dependent.
        With a confidence, a ``dp.Estimate`` of one number and ``dp.releases.Estimates`` of several.

    Raises:
        ParameterError: If none or both are given, or it is not above 0 and finite; if
            ``confidence`` is not between 0 and 1.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.records(columns=8) >> dp.clamp(-1, 1) >> dp.sum()
        >>> noisy = total >> dp.measurements.linf_mechanism(epsilon=1)
        >>> noisy.map(1), round(noisy.accuracy(0.95), 1)
        (1.0, 10.3)
        >>> round((total >> dp.laplace(epsilon=1)).accuracy(0.95), 1)
        24.0
    """
    unit = space.unit.over(space.domain.dimension)
    width = width_of_noise("linf_mechanism", unit, scale, epsilon, attrgetter("linf"))
    noise = samplers.CubeGamma.near(width, space.domain.dimension)
    deviation = noise.error_of_each(space.domain.dimension).standard_deviation
    return added_noise(
        space,
        noise,
        MaxDivergence(),
        lambda norms: cast(Fraction, norms.linf) / width,
        f"epsilon = linf / b, b = {float(width):.6g}, standard deviation {deviation:.6g}",
        confidence,
    )


def _loss(epsilon: Fraction, dimension: int) -> Fraction:
    """With the zCDP loss that it knows."""
    return curved_number(epsilon, PureConcentratedProfile(epsilon, _rho(epsilon, dimension)))


# Beyond it, and below its inverse, the loss is hardly below its simple bound or the pure loss's.
_MOST: Final = 2**10
_ROUNDING: Final = 1 + Fraction(1, 2**36)


def _rho(epsilon: Fraction, dimension: int) -> Fraction:
    """The zCDP loss, from above by 2^-35 relatively; at most epsilon^2 / 2 d.

    ``docs/proofs.md`` proves it of the noise on the reals. It holds of what is released, which is
    rounded after the noise was added to the value.

    With z = epsilon / 2, m = d / 2, R = I_(m+1) / I_m and T = K_(m-1) / K_m at z, it is
    epsilon^2 (1 + R T) / (2 d + epsilon (R + T)). The recurrences 1 / R_k = 2 (k+1) / z + R_(k+1)
    and 1 / T_(k+1) = 2 k / z + T_k have positive terms. A step adds 3 roundings and shrinks the
    relative error before it. Below 30 + 2 z orders at least 30 ratios R_k are of orders above z:
    each is below 1 / (1 + sqrt(2)), and the square of their product is below 2^-76. Both ratios
    together are so within 2^-37, most of it of the integrals, and the loss within twice as much.
    """
    simple = epsilon * epsilon / (2 * dimension)
    if dimension > _MOST or not Fraction(1, _MOST) < epsilon < _MOST:
        return simple
    number = float(epsilon)
    z, m = number / 2, dimension / 2
    rising, falling, order = 0.0, 1.0, 0.5
    for above in range(30 + int(number), 0, -1):
        rising = 1 / (2 * (m + above) / z + rising)
    if dimension % 2 == 0:
        _, nought, first = samplers.bessel_integrals(z)
        falling, order = nought / first, 1.0
    while order < m:
        falling, order = 1 / (2 * order / z + falling), order + 1
    found = number**2 * (1 + rising * falling) / (2 * dimension + number * (rising + falling))
    return min(simple, Fraction(found) * _ROUNDING)
