"""What the noises share: noise on a vector or a number, and how it is handed out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opendp_lite.domains import Scalars, Vectors
from opendp_lite.errors import ParameterError
from opendp_lite.norms import Norms
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.law import Noise
from opendp_lite.spaces import Space

Aggregate = Space[Scalars | Vectors]


def releasing(space: Aggregate, law: Noise) -> Callable[[Any, Entropy], Any]:
    """The function that adds noise of this law and presents the result."""
    domain, exponent = space.domain, space.domain.exponent
    if exponent is None:
        return lambda value, entropy: domain.to_public(law.release_floats(value, entropy))
    present = domain.on(law.exponent).to_public
    return lambda value, entropy: present(law.release(value, exponent, entropy))


def one_of(step: str, **given: object) -> str:
    """The name of the only argument that was given."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        options = " or ".join(f"{name}=" for name in given)
        raise ParameterError(f"{step} takes one of {options}; got {', '.join(named) or 'none'}")
    return named[0]


def moving(norms: Norms, step: str) -> Norms:
    """The unit distance, refused where nothing moves and no noise would be needed."""
    if norms.linf == 0:
        raise ParameterError(f"{step}: the value before it depends on no row; release it as it is")
    return norms
