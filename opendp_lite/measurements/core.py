"""A noisy sum and a noisy number of rows, from one joint noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

from numpy.typing import NDArray

from opendp_lite.core import Measurement, mechanism
from opendp_lite.domains import Rows, Scalars, Vectors
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, positive, sqrt_up
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.samplers.core_noise import CoreNoise
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum

Release = tuple[NDArray[Any], float]


@mechanism
def core(
    space: Space[Rows], *, epsilon: Number, stretch: Number = 1
) -> Measurement[Space[Rows], MaxDivergence]:
    """Releases the sum of the rows and their number, for pure differential privacy of both at once.

    Takes: rows of at most a known l2 norm r, under ``SymmetricDistance``; put ``center(middle)``
        before it, about where the rows' mean is expected, and r is least. ``epsilon``, the loss
        for one unit at the front of the pipeline. ``stretch``, at least 0, how much of the count's
        accuracy is given up for the sum's: 0 for a mean that may lie at the edge of the rows'
        range, 1 for one anywhere, 2.39 for the least worst case over all means of one column, more
        for a mean that is near 0. Raises ``ParameterError``, and ``SpaceError`` for unbounded rows
        or where the number of rows is public.
    Gives: a tuple of the noisy sum, an array with an entry for each column, and the noisy number
        of rows, a float; each rounded to a public grid far finer than its noise. Samples are
        exact: the law is the claimed one, not a float's idea of it. For d columns, an epsilon of e
        for each row and a stretch of h, an entry of the sum has the variance
        (r / e)^2 (d + 1) (d + 3 + h) / (d + 1 + h). The noises are dependent though uncorrelated,
        so no law of single entries is declared as ``laws``.
    Costs: ``epsilon`` for each unit, in proportion, under ``MaxDivergence``. The sum alone costs as
        much with ``l2_gamma``, of the variance (r / e)^2 (d + 1): the count comes for little.
    Because: the density of the noises s and k is proportional to exp(-m), where m is the larger of
        e |s| / r and max(e |k| - h, 0). A row moves s by at most r and k by 1, hence m by at most
        e. Where h is 0 this is the K-norm mechanism (Hardt and Talwar 2010, section 4) of what a
        row can move; h stretches its core along the count. Rounding comes after the noise.

    >>> import opendp_lite as dp
    >>> pipeline = dp.clamp(0, 100) >> dp.center(50) >> dp.core(epsilon=0.5)
    >>> pipeline.map(1)
    0.5
    >>> total, rows = pipeline([30.0, 60.0] * 5000)
    >>> round(50 + total[0] / rows)
    45
    """
    loss, longer = positive(epsilon, "epsilon"), exact(stretch, "stretch")
    if longer < 0:
        raise ParameterError(f"core: stretch is at least 0, got {stretch}")
    if row_metric(space).fixed_size:
        raise SpaceError(
            "core: it hides the number of rows, which is public here, declared as "
            f"size={space.domain.size}; use sum() >> l2_gamma() or sum() >> laplace() and that "
            "number, or SymmetricDistance() where it is private"
        )
    radii = space.domain.body.radii()
    if radii is None or radii.l2_squared is None:
        raise SpaceError(
            "core needs rows in a bounded body; these rows may hold anything. "
            "Put clamp(lower, upper) or clip_to_norm(radius) before it."
        )
    each = loss / cast(Fraction, space.unit)
    noise = CoreNoise.near(sqrt_up(radii.l2_squared), each, longer, space.domain.columns)
    summed, counted = sum().bind(space), count().bind(space)
    exponent = cast(int, summed.output_space.domain.exponent)
    totals = Vectors(space.domain.columns, noise.sum_exponent)
    number = Scalars(noise.count_exponent)
    entry, beside = noise.deviations

    def function(value: tuple[Any, Any], entropy: Entropy) -> Release:
        total, rows = noise.release(value[0], exponent, value[1], entropy)
        return totals.to_public(total), float(number.to_public(rows))

    def privacy_map(distance: Fraction) -> Fraction:
        return each * distance

    return Measurement(
        space,
        MaxDivergence(),
        function,
        privacy_map,
        formula=(
            f"epsilon = {float(each):.6g} times the rows, standard deviations {entry:.6g} of an "
            f"entry of the sum and {beside:.6g} of the count"
        ),
        query=lambda rows: (summed.function(rows), counted.function(rows)),
    )
