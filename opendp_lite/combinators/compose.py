"""Several mechanisms on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.profile import GaussianProfile, Profile
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space

S = TypeVar("S", bound=Space[Any])
M = TypeVar("M", bound=Measure[Any])


@mechanism
def compose(space: S, *mechanisms: Mechanism[S, M]) -> Measurement[S, M]:
    """Releases several mechanisms of the same rows, in one pass over the data.

    Takes: one or more pipelines whose loss is in one measure. Raises ``SpaceError`` where the
        measures differ: ``to_zcdp()`` and ``to_approximate(delta)`` convert.
    Gives: a tuple of the releases, in order.
    Costs: the measure's composition: epsilons, rhos, or (epsilon, delta) pairs add. The exact
        curve of Gaussians stays exact.
    Because: basic composition; for zCDP Bun and Steinke 2016, lemma 1.7; for Gaussian curves
        Dong, Roth, Su 2022, corollary 2.

    >>> import opendp_lite as dp
    >>> both = dp.compose(
    ...     dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=0.1),
    ...     dp.count() >> dp.laplace(epsilon=0.2),
    ... )
    >>> both.map(1)
    0.3
    """
    if not mechanisms:
        raise ParameterError("compose needs at least one mechanism")
    for each in mechanisms:
        if not isinstance(each, Mechanism):
            raise ParameterError(
                f"compose joins pipelines that end in noise and are bound to no space; {each!r} "
                "is not one"
            )
    parts: list[Measurement[S, M]] = [each.bind(space) for each in mechanisms]
    measure = parts[0].output_measure
    for part, recipe in zip(parts, mechanisms, strict=True):
        if part.output_measure != measure:
            raise SpaceError(
                f"compose adds losses of one measure: {mechanisms[0]!r} has {measure!r}, "
                f"{recipe!r} has {part.output_measure!r}. Put >> dp.to_zcdp() or "
                ">> dp.to_approximate(delta) after the one to convert"
            )

    def function(values: Sequence[Any], entropy: Entropy) -> tuple[Any, ...]:
        return tuple(part.function(v, entropy) for part, v in zip(parts, values, strict=True))

    def privacy_map(distance: Any) -> Any:
        return measure.compose([part.privacy_map(distance) for part in parts])

    def profile(distance: Any) -> Profile:
        gaussians = [part.profile(distance) for part in parts if part.profile is not None]
        ratios = [each.ratio for each in gaussians if isinstance(each, GaussianProfile)]
        if len(ratios) == len(parts):
            return GaussianProfile(sum(ratios[1:], ratios[0]))
        return measure.profile(privacy_map(distance))

    return Measurement(
        space,
        measure,
        function,
        privacy_map,
        profile=profile,
        laws=tuple(law for part in parts for law in part.laws),
        formula="the losses of the parts, composed",
        arrows=tuple(arrow.inside() for part in parts for arrow in part.arrows),
        query=lambda data: tuple(part.query(data) for part in parts),
    )
