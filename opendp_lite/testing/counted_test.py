"""A test that tells two datasets apart, with how often it erred."""

from __future__ import annotations

import attrs


@attrs.frozen
class CountedTest:
    """A test by one event: a release that has it is taken for one of the first dataset.

    Args:
        event: The event, in words.
        false_positives: Releases of the second dataset that had the event.
        false_negatives: Releases of the first dataset that did not.
        releases: How many releases of each dataset were counted.
    """

    event: str
    false_positives: int
    false_negatives: int
    releases: int
