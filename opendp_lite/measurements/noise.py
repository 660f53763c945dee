"""Additive noise on a vector or a number: what all of it shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import exp, expm1, floor, sqrt
from types import ModuleType
from typing import Any, cast, overload

import attrs
import numpy as np

from opendp_lite import samplers
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.engines.data.fold import identity
from opendp_lite.measures import divergences, profile
from opendp_lite.measures.budgets import PrivacyBudget, Spent
from opendp_lite.measures.curve import curved_number, gaussian_pair, gaussian_rho
from opendp_lite.measures.divergences import AnyMeasure, MaxDivergence
from opendp_lite.measures.loss_distribution import Floats, LossDistribution
from opendp_lite.measures.profile import Profile, float_up, gaussian_ratio
from opendp_lite.metrics.distances import L1Distance, L2Distance, NormDistance
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number, exp_down, exp_up, log_up
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Facts, Measurement
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases import Estimate, Estimates
from opendp_lite.samplers.law import SCALE_SLACK, Errors, Law, Noise, grid_for, half_widths
from opendp_lite.spaces.domains import Scalars, Vectors
from opendp_lite.spaces.space import Space, example, scalar, vector
from opendp_lite.spelling.description import Proof, opendp_twin

# With more steps, they are not kept as atoms.
_MOST_STEPS, _FARTHEST = 2**12, 512


@attrs.frozen
class LaplaceProfile(Profile):
    """The curve of continuous Laplace noise of scale b at an l1 distance of ``pure`` b.

    delta = 1 - exp((e - E) / 2) and rho = E + exp(-E) - 1 at the loss E.

    Proof:
        The loss is E with probability 1/2, -E with probability exp(-E) / 2, and has the density
        exp((x - E) / 2) / 4 between. From it follows delta. For rho see
        ``DiscreteLaplaceProfile``, of which this is the limit (also Harrison and Manurangsi 2026).

        A vector loses no more than one entry that takes the whole l1 distance. Move the entries
        one after another. A test of false-positive rate a misses at least f1(a) after the first
        move. After the second it misses at least f2(1 - f1(a)), and so on, as for groups in Dong,
        Roth, Su 2022. For shifts of one law with a concave log density, the best tests are
        thresholds (Karlin and Rubin 1956), the same for every shift. So this bound is attained by
        one entry that makes all moves.

        More noise loses less: noise of a larger scale is noise of the smaller one with further
        noise added.
    """

    pure: Fraction

    @property
    def rho(self) -> Fraction:
        return _rho(self.pure, Fraction(1))

    def group(self, size: int) -> Profile:
        return LaplaceProfile(self.pure * size)

    def renyi(self, orders: tuple[Fraction, ...]) -> profile.Divergences:
        known = (min(order * self.rho, self._divergence(order)) for order in orders)
        return Fraction(0), self.pure, tuple(known)

    def _divergence(self, order: Fraction) -> Fraction:
        """log((a e^((a-1) E) + (a-1) e^(-a E)) / (2 a - 1)) / (a - 1).

        See Mironov 2017, proposition 6.
        """
        twice = 2 * order - 1
        mean = (order + (order - 1) * exp_up(-twice * self.pure)) / twice
        return self.pure + log_up(mean) / (order - 1)

    def _delta(self, epsilon: Fraction) -> Fraction:
        return 1 - exp_down((epsilon - self.pure) / 2)

    def _event(self, library: ModuleType) -> object:
        return library.LaplaceDpEvent(profile.noise_multiplier(self.pure))

    def deltas(self, levels: Floats) -> Floats:
        return -np.expm1(np.minimum(levels - float_up(self.pure), 0.0) / 2)


@attrs.frozen
class DiscreteLaplaceProfile(Profile):
    """The curve of discrete Laplace noise, P(k) in proportion to exp(-|k| ``rate``).

    The value moves by ``steps`` steps of the grid, in all entries together. With n steps, the rate
    r and q = exp(-r), it is randomised response for n = 1. For many small steps it is
    ``LaplaceProfile``.

    Proof:
        The loss is (n - 2 j) r at the noise j for 0 <= j <= n. The best test of the level e takes
        the noises up to j, the last with a loss above e, so
        delta = 1 - q^(j + 1) / (1 + q) - exp(e) q^(n - j) / (1 + q).
        Vectors: as for ``LaplaceProfile``.

        rho = n r - (1 - q^n) r / sinh(r), which is the Kullback-Leibler divergence, so no smaller
        rho holds (Harrison and Manurangsi 2026 also have tight bounds). Put u = a - 1/2 for the
        order a, and let g be the logarithm of the sum of sqrt(P Q) cosh(u loss), which is 0 at
        a = 1. The Renyi divergence of order a is g / (a - 1). If g is concave as a function of u^2,
        it is at most its slope at a = 1 times u^2 - 1/4 = a (a - 1). So the divergence is at most
        that slope times a. The slope is the limit for a -> 1, the Kullback-Leibler divergence. The
        sum is in proportion to F(u), for which
        F(i y) sin(r y) = sin((n + 1) r y) - q sin((n - 1) r y). The right side changes its sign
        between the 2 n + 2 places of a period where the first sine is +-1, so all its zeros are
        real. So F is a product of factors 1 + u^2 / y^2, whose logarithms are concave in u^2.
    """

    rate: Fraction
    steps: int

    @property
    def pure(self) -> Fraction:
        return self.rate * self.steps

    @property
    def rho(self) -> Fraction:
        return _rho(self.pure, _over_sinh(self.rate))

    def group(self, size: int) -> Profile:
        return DiscreteLaplaceProfile(self.rate, self.steps * size)

    def _delta(self, epsilon: Fraction) -> Fraction:
        # The largest j with (n - 2 j) r above epsilon: a loss of epsilon itself adds nothing.
        last = -floor((epsilon / self.rate - self.steps) / 2) - 1
        kept = exp_down(-(last + 1) * self.rate) + exp_down(
            epsilon - (self.steps - last) * self.rate
        )
        return 1 - kept / (1 + exp_up(-self.rate))

    def _event(self, library: ModuleType) -> object:
        return library.DiscreteLaplaceDpEvent(float_up(self.rate), self.steps)

    def deltas(self, levels: Floats) -> Floats:
        rate, loss, tail = float_up(self.rate), float_up(self.pure), exp(-float_up(self.rate))
        # Beside a kink both tests have the same delta, so the wrong one loses a rounding.
        last = np.maximum(-np.floor((levels / rate - self.steps) / 2) - 1, 0.0)
        kept = np.exp(-(last + 1) * rate) + np.exp(levels - (self.steps - last) * rate)
        found = 1 - kept / (1 + tail) + 2.0**-50 * (1 + loss)
        return np.where(levels < loss, np.maximum(found, 0.0), 0.0)

    def atoms(self) -> LossDistribution | None:
        if self.steps > _MOST_STEPS or self.pure > _FARTHEST:
            return None
        rate, places = float_up(self.rate, profile.RATE_BITS), np.arange(self.steps + 1)
        tail = exp(-rate)
        masses = np.zeros(2 * self.steps + 1)
        masses[::-2] = np.exp(-places * rate) * (-expm1(-rate) / (1 + tail))
        masses[[-1, 0]] = 1 / (1 + tail), exp(-self.steps * rate) / (1 + tail)
        return LossDistribution(rate, -self.steps, masses, 0.0)


def _rho(loss: Fraction, kept: Fraction) -> Fraction:
    """At least E - ``kept`` (1 - exp(-E)), where ``kept`` is at most its value.

    Never above that of any mechanism of this pure loss.
    """
    known = profile.zcdp_of_pure(loss)
    return min(known, loss - kept * (1 - exp_up(-loss)))


def _over_sinh(rate: Fraction) -> Fraction:
    """At most r / sinh(r)."""
    rise = 1 - exp_down(-2 * rate)
    return min(Fraction(1), 2 * rate * exp_down(-rate) / rise)


Aggregate = Space[Scalars | Vectors]
Interval = Estimate | Estimates
"""What noise releases with a confidence: of one number, or of a vector."""
_EXACT = 2**53


def added_noise(
    space: Aggregate,
    noise: Noise,
    measure: AnyMeasure,
    privacy_map: Callable[[Norms], object],
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
        >>> from opendp_lite.samplers.rounded_laws import DiscreteLaplace
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
    present = _presenter(domain, noise, errors, confidence, space.kept)
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


def _presenter(
    domain: Scalars | Vectors,
    noise: Noise,
    errors: Sequence[Errors],
    confidence: Number | None,
    kept: str,
) -> Callable[[Grid], object]:
    """What shows a noisy value to a person."""
    if confidence is not None:
        return _with_intervals(domain, errors, confidence, kept)
    if domain.exponent is None:
        return domain.to_public
    return attrs.evolve(domain, exponent=noise.exponent).to_public


def _with_intervals(
    domain: Scalars | Vectors, errors: Sequence[Errors], confidence: Number, kept: str
) -> Callable[[Grid], Interval]:
    """What shows a release with its intervals."""
    share = exact.confidence_of(confidence, "confidence")
    if not errors:
        raise ParameterError(
            "confidence: this noise declares no law of its entries; use laplace() or gaussian()"
        )
    (each,), (joint,) = (half_widths(errors, share, jointly) for jointly in (False, True))
    widths, level = (exact.round_up(each), exact.round_up(joint)), float(share)
    (deviation,) = (part.law.standard_deviation for part in errors)
    least = 0.0 if domain.non_negative else -np.inf
    names = domain.names

    def show(noisy: Grid) -> Interval:
        values = noisy.floats
        rounding = np.where(np.abs(noisy.steps) <= _EXACT, 0.0, np.spacing(np.abs(values)))
        one, every = (
            np.where(rounding == 0, width, np.nextafter(width + rounding, np.inf))
            for width in widths
        )
        found = Estimates.around(
            values, deviation, one, every, level, least=least, names=names, hint=kept
        )
        return found[0] if domain.dimension == 1 else found

    return show


def exactly_one(step: str, **given: object) -> str:
    """The name of the only argument that was given."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        options = " or ".join(f"{name}=" for name in given)
        found = ", ".join(named) or "none; add epsilon=1, say"
        raise ParameterError(f"{step} takes one of {options}; got {found}")
    return named[0]


def width_of_noise(
    step: str,
    unit: Norms,
    scale: Number | None,
    epsilon: Number | None,
    norm: Callable[[Norms], Fraction | None],
    power: int = 1,
) -> Fraction:
    """The scale of a noise, or that of which one unit costs epsilon, to a power of its norm."""
    if exactly_one(step, scale=scale, epsilon=epsilon) == "scale":
        return exact.positive(scale, "scale") ** power
    moved = cast(Fraction, norm(require_sensitivity(unit, step)))
    return moved / exact.positive(epsilon, "epsilon") ** power


def require_sensitivity(norms: Norms, step: str) -> Norms:
    """The distance that one unit moves a value, refused where it is 0."""
    if norms.linf == 0:
        raise ParameterError(f"{step}: the value before it depends on no row; release it as it is")
    return norms


_FINE = 2**20


@overload
def laplace(
    budget: PrivacyBudget[MaxDivergence] | None = None,
    *,
    scale: Number | None = None,
    epsilon: Number | None = None,
    confidence: None = None,
) -> Mechanism[Aggregate, MaxDivergence]: ...
@overload
def laplace(
    budget: PrivacyBudget[MaxDivergence] | None = None,
    *,
    scale: Number | None = None,
    epsilon: Number | None = None,
    confidence: Number,
) -> Mechanism[Aggregate, MaxDivergence, Interval]: ...
@mechanism(
    does="Adds Laplace noise, for pure differential privacy.",
    proof=Proof(
        "The density changes by at most exp(l1 / scale). Rounding is post-processing.",
        adding="epsilon = l1 / scale",
        replacing="epsilon = l1 / scale",
        sources=["Dwork, McSherry, Nissim, Smith 2006, proposition 1"],
    ),
    examples=lambda: [
        example(scalar(), epsilon=1),
        example(scalar(unit=0.5), scale=2),
        example(vector(3, metric=L1Distance(), unit=2.5), epsilon=1),
        example(scalar(), epsilon=1, confidence=0.9),
        example(vector(3, metric=L1Distance()), scale=2, confidence=0.95),
    ],
)
@opendp_twin(lambda here, **_: here.add_noise(here.library.m.then_laplace))
def laplace(
    space: Aggregate,
    budget: PrivacyBudget[MaxDivergence] | None = None,
    *,
    scale: Number | None = None,
    epsilon: Number | None = None,
    confidence: Number | None = None,
) -> Measurement[Aggregate, MaxDivergence]:
    """Adds Laplace noise, for pure differential privacy.

    It goes after a vector or a number with a bounded l1 distance, such as ``sum()`` or
    ``count()``. Give ``scale`` or ``epsilon``.

    Args:
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        scale: The b of the density ``exp(-|x| / b) / 2b``, in units of the data.
        epsilon: The loss, met exactly for one unit at the front of the pipeline.
        confidence: 0.95, say, asks for an interval with each entry: see ``docs/intervals.md``.

    Returns:
        The value with independent noise on every entry, on a public grid far finer than b. A
        whole number stays whole where b is at most 2^20. The noise is an exact sample, not a
        float's approximation of one.
        With a confidence, a ``dp.Estimate`` of one number and ``dp.releases.Estimates`` of several.
        The value is the same. An interval of what is never negative, such as a count, starts at 0
        or above.

    Raises:
        ParameterError: If none or both are given, or it is not above 0 and finite.
        ParameterError: If ``confidence`` is not between 0 and 1.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 4) >> dp.sum() >> dp.laplace(scale=8)).map(1)
        0.5
        >>> (dp.clamp(0, 4) >> dp.sum() >> dp.laplace(epsilon=1)).map(1)
        1.0
        >>> (dp.count() >> dp.laplace(epsilon=1)).accuracy(0.95)
        3.0
    """
    unit = space.unit.over(space.domain.dimension)
    width = width_of_noise("laplace", unit, scale, epsilon, _l1)
    law, curve = _law(width, space.domain.exponent)
    return added_noise(
        space,
        law,
        MaxDivergence(),
        lambda norms: curved_number(_l1(norms) / width, curve(norms)),
        f"epsilon = l1 / b, b = {float(width):.6g}, standard deviation "
        f"{exact.round_up(width) * sqrt(2):.6g}",
        confidence,
    )


def _law(width: Fraction, exponent: int | None) -> tuple[Law, Callable[[Norms], Profile]]:
    """The noise, and the curve of its loss at a distance."""
    if exponent is not None:
        unit = Fraction(2) ** exponent
        steps = width / unit
        if steps <= _FINE:
            return (
                samplers.DiscreteLaplace(steps * SCALE_SLACK, exponent),
                lambda norms: DiscreteLaplaceProfile(1 / steps, floor(_l1(norms) / unit)),
            )
    return samplers.RoundedLaplace(*grid_for(width)), lambda norms: LaplaceProfile(
        _l1(norms) / width
    )


def _l1(norms: Norms) -> Fraction:
    return cast(Fraction, norms.l1)


def _gaussian_twin(here: Any, mu: object = None, delta: Number | None = None, **_: object) -> Any:
    if mu is not None:
        rho = exact.nearest(exact.exact(mu, "mu") ** 2 / 2)
        raise here.refuse(f"OpenDP has no mu; write rho={rho} in its place")
    noisy = here.add_noise(here.library.m.then_gaussian)
    return noisy if delta is None else divergences.at_delta(here.library, noisy, delta)


@overload
def gaussian(
    budget: PrivacyBudget[Spent] | None = None,
    *,
    scale: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None = None,
) -> Mechanism[Aggregate, Spent]: ...
@overload
def gaussian(
    budget: PrivacyBudget[Spent] | None = None,
    *,
    scale: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number,
) -> Mechanism[Aggregate, Spent, Interval]: ...
@mechanism(
    does=(
        "Adds Gaussian noise, for zero-concentrated, Gaussian or approximate differential privacy."
    ),
    proof=Proof(
        "The divergence of two Gaussians is known at every order, and the curve at (epsilon, "
        "delta) is exact. Rounding is post-processing.",
        adding="rho = l2^2 / (2 scale^2)",
        replacing="rho = l2^2 / (2 scale^2)",
        sources=[
            "Bun and Steinke 2016, proposition 1.6",
            "Dong, Roth, Su 2022, theorem 1",
            "Balle and Wang 2018, theorem 8",
        ],
    ),
    examples=lambda: [
        example(vector(2), scale=0.1),
        example(vector(2, metric=L2Distance()), rho=2),
        example(scalar(), epsilon=1, delta=1e-6),
        example(vector(3, metric=NormDistance(), unit=Norms(l1=2, linf=1)), rho=1),
        example(vector(3), epsilon=1, delta=1e-6, confidence=0.9),
        example(scalar(), rho=1, confidence=0.95),
        example(vector(2), mu=0.5),
        example(scalar(), mu=1, confidence=0.9),
    ],
)
@opendp_twin(_gaussian_twin)
def gaussian(
    space: Aggregate,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    scale: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
) -> Measurement[Aggregate, Any]:
    """Adds Gaussian noise, for zero-concentrated, Gaussian or approximate differential privacy.

    It goes after a vector or a number with a bounded l2 distance, such as ``sum()`` or
    ``count()``. Give ``scale``, ``rho``, ``mu``, or ``epsilon`` with ``delta``. A loss is met
    exactly for one unit at the front of the pipeline.

    Args:
        budget: ``dp.rho(0.03)``, say: the same as ``rho=0.03``.
        scale: The standard deviation sigma, in units of the data.
        rho: The zCDP loss.
        mu: The loss of Gaussian differential privacy.
        epsilon: The loss epsilon at ``delta``.
        delta: Between 0 and 1; goes with ``epsilon``.
        confidence: 0.95, say, asks for an interval with each entry: see ``docs/intervals.md``.

    Returns:
        The value with independent noise on every entry, on a public grid of about sigma / 2^16.
        The noise is an exact sample, not a float's approximation of one.
        With a confidence, a ``dp.Estimate`` of one number and ``dp.releases.Estimates`` of several.
        The value is the same. An interval of what is never negative, such as a count, starts at 0
        or above.

    Raises:
        ParameterError: If none or several are given, or one is not above 0 and finite.
        ParameterError: If ``confidence`` is not between 0 and 1.

    Example:
        >>> import opendp_lite as dp
        >>> pipeline = dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(rho=0.03)
        >>> pipeline.map(1), pipeline.map(2)
        (0.03, 0.12)
        >>> (dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(epsilon=1, delta=1e-6)).map(1)
        (1.0, 1e-06)
    """
    if all(given is None for given in (rho, scale, mu, epsilon, delta)):
        raise ParameterError("gaussian takes one of rho=, scale=, mu=, or epsilon= with delta=")
    either = delta if epsilon is None else epsilon
    given = exactly_one("gaussian", rho=rho, scale=scale, mu=mu, epsilon=either)
    if given == "epsilon" and (delta is None or epsilon is None):
        missing = "delta" if delta is None else "epsilon"
        raise ParameterError(
            f"gaussian: epsilon and delta go together, {missing} is missing; write "
            "dp.gaussian(epsilon=1, delta=1e-6), or dp.laplace(epsilon=1) for pure privacy"
        )
    measure: AnyMeasure = divergences.ZeroConcentratedDivergence()
    loss: Callable[[Fraction], object] = gaussian_rho
    words = "rho = l2^2 / (2 sigma^2)"
    if given == "scale":
        sigma = exact.positive(scale, "scale")
        variance = sigma * sigma
    else:
        unit = require_sensitivity(space.unit.over(space.domain.dimension), "gaussian")
        if given == "rho":
            ratio = 2 * exact.positive(rho, "rho")
        elif given == "mu":
            ratio = exact.positive(mu, "mu") ** 2
            measure, loss, words = divergences.GaussianDivergence(), identity, "mu = l2 / sigma"
        else:
            level, spill = (
                exact.positive(epsilon, "epsilon"),
                exact.open_probability(delta, "delta"),
            )
            ratio = gaussian_ratio(level, spill)
            measure, words = divergences.ApproximateDivergence(), "exact Gaussian curve at delta"
            loss = partial(gaussian_pair, epsilon=level, delta=spill)
        variance = cast(Fraction, unit.l2_squared) / ratio
        sigma = exact.sqrt_up(variance)
    return added_noise(
        space,
        samplers.RoundedGaussian(*grid_for(sigma)),
        measure,
        lambda norms: loss(cast(Fraction, norms.l2_squared) / variance),
        f"{words}, sigma = {float(sigma):.6g}",
        confidence,
    )
