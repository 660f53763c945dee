"""Random words for the rows of an exact result, which is for no release."""

from __future__ import annotations

from opendp_lite.engines.least_rows import Places, Words
from opendp_lite.samplers.entropy import SecureEntropy


def fresh_keys(places: Places) -> Words:
    """A new word for each place."""
    return SecureEntropy().words(len(places))
