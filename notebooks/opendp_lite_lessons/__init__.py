"""What the lessons of opendp_lite need beside it: their data, and judges of their exercises."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_NAME: Final = "rand_hie.csv"
_INSTALLED: Final = Path(__file__).with_name(_NAME)
_IN_THE_REPOSITORY: Final = Path(__file__).parents[2] / "docs" / "data" / _NAME

SURVEY: Final = _INSTALLED if _INSTALLED.exists() else _IN_THE_REPOSITORY
"""A file of 20 190 rows of the RAND Health Insurance Experiment: see docs/data/README.md."""
