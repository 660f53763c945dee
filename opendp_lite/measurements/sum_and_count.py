"""A noisy sum and a noisy number of rows, from one joint noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

from numpy.typing import NDArray

from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.box import Box
from opendp_lite.core import Facts, Measurement
from opendp_lite.domains import Rows
from opendp_lite.engines.deferred import Released, Together
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, positive, sqrt_up
from opendp_lite.examples import example, rows_in
from opendp_lite.grid import Grid
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.recipes import mechanism
from opendp_lite.samplers.core_noise import CoreNoise
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum

SumAndCount = tuple[NDArray[Any], float]


@example(rows_in(Box(-5, 5)), epsilon=0.1)
@example(rows_in(Ball(5, columns=2)), epsilon=1, stretch=2.39)
@mechanism
def sum_and_count(
    space: Space[Rows], *, epsilon: Number, stretch: Number = 1
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

    Returns:
        A tuple of the noisy sum, an array with an entry for each column, and the noisy number of
        rows, a float. Each is on a public grid far finer than its noise, which is an exact sample.
        For d columns, rows of l2 norm at most r and h = ``stretch``, an entry of the sum has the
        variance (r / epsilon)^2 (d + 1) (d + 3 + h) / (d + 1 + h). The noises are dependent
        though uncorrelated, so no law of single entries is declared.

    Raises:
        ParameterError: If ``epsilon`` is not above 0, or ``stretch`` is below 0.
        SpaceError: If the rows are unbounded, or their number is public.

    Privacy:
        ``epsilon`` for each unit, in proportion, under ``MaxDivergence``. The sum alone costs as
        much with ``l2_mechanism``, of the variance (r / epsilon)^2 (d + 1): the count comes for
        little.

    Proof:
        The density of the noises s and k is proportional to exp(-m), where m is the larger of
        ``e |s| / r`` and ``max(e |k| - h, 0)``, with e for epsilon. A row moves s by at most r and
        k by 1, hence m by at most e. Where h is 0 this is the K-norm mechanism (Hardt and Talwar
        2010,
        section 4) of the values that a row can add; h stretches its core along the count. The
        result is rounded after the noise was added.

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
            "sum_and_count needs rows in a bounded body; these rows may hold anything. "
            "Put clamp(lower, upper) or clip_to_norm(radius) before it."
        )
    each = loss / cast(Fraction, space.unit)
    noise = CoreNoise.near(sqrt_up(radii.l2_squared), each, longer, space.domain.columns)
    summed, counted = sum().bind(space), count().bind(space)
    entry, beside = noise.deviations

    def release(value: tuple[Grid, Grid], entropy: Entropy) -> SumAndCount:
        total, rows = noise.noisy(*value, entropy)
        return total.floats, float(rows)

    return Measurement(
        space,
        MaxDivergence(),
        Released(Together((summed.function, counted.function)), release),
        lambda distance: each * distance,
        Facts(
            explanation=f"epsilon = {float(each):.6g} times the rows, standard deviations "
            f"{entry:.6g} of an entry of the sum and {beside:.6g} of the count"
        ),
    )
