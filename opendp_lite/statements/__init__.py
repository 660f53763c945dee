"""Statements: what a release protects, for readers who do not have the pipeline."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "Statement": "opendp_lite.statements.statement",
    "stated": "opendp_lite.statements.stated",
}

if TYPE_CHECKING:
    from opendp_lite.statements.stated import stated as stated
    from opendp_lite.statements.statement import Statement as Statement
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
