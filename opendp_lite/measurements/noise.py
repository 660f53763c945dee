"""Additive noise on a vector or a number: what all of it shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opendp_lite.core import Facts, Measurement
from opendp_lite.domains import Scalars, Vectors
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.estimate import Estimate
from opendp_lite.estimates import Estimates
from opendp_lite.exact import Number, confidence_of, round_up
from opendp_lite.grid import Grid
from opendp_lite.measures.measure import Measure
from opendp_lite.norms import Norms
from opendp_lite.samplers.error_law import Errors, half_widths
from opendp_lite.samplers.law import Law, Noise
from opendp_lite.spaces import Space

Aggregate = Space[Scalars | Vectors]
Interval = Estimate | Estimates
"""What noise releases with a confidence: of one number, or of a vector."""
_EXACT = 2**53


def added_noise(
    space: Aggregate,
    noise: Noise,
    measure: Measure[Any],
    privacy_map: Callable[[Norms], Any],
    explanation: object = "",
    confidence: Number | None = None,
) -> Measurement[Aggregate, Any]:
    """A mechanism that adds noise of your own to a vector or a number.

    ``dp.audit`` and ``dp.assert_lawful`` look for a privacy map that is too small.

    Args:
        space: The space before the noise.
        noise: The noise, on a grid of its own: a ``Law`` (independent on every entry, with the
            exact law of what it releases) or any other ``Noise``.
        measure: The measure of the loss.
        privacy_map: From the distance between two values, a ``dp.Norms`` in which everything that
            follows in this dimension is filled in, to the exact loss.
        explanation: A text for ``explain()``: the formula of the loss and the noise's scale.
        confidence: 0.95, say, asks for an interval with each entry. The noise then declares the law
            of its errors, as a ``Law`` does.

    Returns:
        A measurement that releases the exact value with noise, rounded only after it was added.
        With a confidence this is a ``dp.Estimate``, or ``dp.releases.Estimates`` of several.

    Raises:
        ParameterError: If ``confidence`` is not between 0 and 1, or the noise declares no law.
        SpaceError: If the noise is for values on its own grid, and the values are finer or floats.

    Privacy:
        As ``privacy_map`` says.

    Proof:
        The noise is added to the exact value, so the map of the noise's law holds. Rounding is
        post-processing.

    Example:
        >>> import opendp_lite as dp
        >>> from fractions import Fraction
        >>> from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
        >>> Counts = dp.Space[dp.Scalars]
        >>> @dp.mechanism
        ... def geometric(space: Counts, scale: int) -> dp.Measurement[Counts, dp.MaxDivergence]:
        ...     noise = DiscreteLaplace(Fraction(scale), exponent=0)
        ...     return dp.measurements.added_noise(
        ...         space, noise, dp.MaxDivergence(), lambda norms: norms.l1 / scale
        ...     )
        >>> (dp.count() >> geometric(2)).map(1)
        0.5
    """
    dimension, domain = space.domain.dimension, space.domain
    _require_grid(domain, noise)
    laws = (noise,) if isinstance(noise, Law) else ()
    error = noise.error_of_each(dimension)
    errors = () if error is None else (Errors(error, dimension),)
    present = _presented(domain, noise, errors, confidence)
    return Measurement(
        space,
        measure,
        lambda value, entropy: present(noise.noisy(value, entropy)),
        lambda distance: privacy_map(distance.over(dimension)),
        Facts(laws, explanation, errors=errors),
    )


def _require_grid(domain: Scalars | Vectors, noise: Noise) -> None:
    """Refuses noise on a coarser grid than the values', where it is for values on its own."""
    fits = domain.exponent is not None and domain.exponent >= noise.exponent
    if noise.on_grid_only and not fits:
        found = "floats" if domain.exponent is None else f"multiples of 2^{domain.exponent}"
        raise SpaceError(
            f"{type(noise).__name__} with exponent={noise.exponent} is for multiples of "
            f"2^{noise.exponent}, and the values are {found}. Put count() before it, or take "
            "RoundedLaplace, which is for all values"
        )


def _presented(
    domain: Scalars | Vectors, noise: Noise, errors: Sequence[Errors], confidence: Number | None
) -> Callable[[Grid], Any]:
    """What shows a noisy value to a person."""
    if confidence is not None:
        return _with_intervals(domain, errors, confidence)
    return domain.to_public if domain.exponent is None else domain.on(noise.exponent).to_public


def _with_intervals(
    domain: Scalars | Vectors, errors: Sequence[Errors], confidence: Number
) -> Callable[[Grid], Interval]:
    """What shows a release with its intervals."""
    share = confidence_of(confidence, "confidence")
    if not errors:
        raise ParameterError(
            "confidence: this noise declares no law of its entries; use laplace() or gaussian()"
        )
    (each,), (joint,) = (half_widths(errors, share, jointly) for jointly in (False, True))
    widths, level = (round_up(each), round_up(joint)), float(share)
    (deviation,) = (part.law.standard_deviation for part in errors)
    least = 0.0 if domain.non_negative else -np.inf
    names = domain.names

    def shown(noisy: Grid) -> Interval:
        values = noisy.floats
        rounding = np.where(np.abs(noisy.steps) <= _EXACT, 0.0, np.spacing(np.abs(values)))
        one, every = (
            np.where(rounding == 0, width, np.nextafter(width + rounding, np.inf))
            for width in widths
        )
        found = Estimates.around(values, deviation, one, every, level, least=least, names=names)
        return found[0] if domain.dimension == 1 else found

    return shown


def exactly_one(step: str, **given: object) -> str:
    """The name of the only argument that was given."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        options = " or ".join(f"{name}=" for name in given)
        found = ", ".join(named) or "none; add epsilon=1, say"
        raise ParameterError(f"{step} takes one of {options}; got {found}")
    return named[0]


def require_sensitivity(norms: Norms, step: str) -> Norms:
    """The distance that one unit moves a value, refused where it is 0."""
    if norms.linf == 0:
        raise ParameterError(f"{step}: the value before it depends on no row; release it as it is")
    return norms
