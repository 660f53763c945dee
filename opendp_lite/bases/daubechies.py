"""Daubechies wavelets."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.bases.basis import (
    CELLS,
    MOST_TERMS,
    Basis,
    lower_bound,
    power_of_two,
    upper_bound,
)
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats
from opendp_lite.errors import ParameterError
from opendp_lite.exact import described, whole

_MOST_MOMENTS: Final = 20


def _terms(value: int) -> int:
    terms = power_of_two(value, "terms")
    if terms > MOST_TERMS:
        raise ParameterError(f"terms must be at most {MOST_TERMS}, got {described(terms)}")
    return terms


def _moments(value: int) -> int:
    moments = whole(value, "moments", least=1)
    if moments > _MOST_MOMENTS:
        raise ParameterError(f"moments must be at most {_MOST_MOMENTS}, got {described(moments)}")
    return moments


def _pywt() -> Any:
    try:
        return import_module("pywt")
    except ImportError:
        raise ParameterError(
            "Daubechies needs PyWavelets, which is not installed; type: pip install "
            '"opendp_lite[wavelets]"; Haar does without'
        ) from None


@spellable
@attrs.frozen(repr=False)
class Daubechies(Basis):
    """Daubechies wavelets, for smooth densities with sharp places.

    The two ends of the interval count as one place. You need PyWavelets, from ``pip install
    opendp_lite[wavelets]``.

    Args:
        terms: How many functions, a power of two up to 64: 1 and the wavelets of all sizes down to
            2 / terms of the interval.
        lower: The lower end of the interval.
        upper: The upper end.
        moments: How many moments of a wavelet vanish, up to 20. With more, wavelets are smoother
            and wider. With 1 this is ``Haar``.

    Raises:
        ParameterError: If PyWavelets is not installed.

    Proof:
        Daubechies 1988. The functions are the inverse transform of unit vectors, on 2^14 cells.

    Example:
        >>> basis = Daubechies(16, 0, 100)
        >>> round(basis.l1, 1), round(basis.l2, 1)
        (13.7, 4.7)
    """

    terms: int = attrs.field(converter=_terms)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)
    moments: int = attrs.field(default=4, converter=_moments, kw_only=True)

    def __attrs_post_init__(self) -> None:
        self.edges()
        _pywt()

    @property
    def cells(self) -> int:
        return CELLS

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.upper

    def functions(self) -> Floats:
        rebuilt, wavelet = _pywt().idwt, f"db{self.moments}"
        signals = np.eye(1)
        while signals.shape[1] < self.cells:
            size = len(signals)
            finer = min(size, self.terms - size)
            details = np.eye(finer, size)
            smooth = rebuilt(signals, None, wavelet, mode="periodization", axis=1)
            sharp = rebuilt(None, details, wavelet, mode="periodization", axis=1)
            signals = np.concatenate([smooth, sharp]) if finer else smooth
        found: Floats = np.sqrt(self.cells) * signals.T
        return found
