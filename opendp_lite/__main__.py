"""``python -m opendp_lite``: as ``opendp-lite``."""

from __future__ import annotations

from opendp_lite.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
