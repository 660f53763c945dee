"""The pages of the site are written by docs/_ext, which stands outside of the package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
