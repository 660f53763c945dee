"""What the commands need of the library once they run: ``--help`` imports none of it."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "EntryState": "opendp_lite.sessions.ledger_entry",
    "LedgerFile": "opendp_lite.sessions.ledger_file",
    "MISSING": "opendp_lite.engines.text_cells",
    "category_in": "opendp_lite.engines.text_cells",
    "installed": "opendp_lite.sessions.installed",
    "plain": "opendp_lite.shown_results",
}

if TYPE_CHECKING:
    from opendp_lite.engines.text_cells import MISSING as MISSING
    from opendp_lite.engines.text_cells import category_in as category_in
    from opendp_lite.sessions.installed import installed as installed
    from opendp_lite.sessions.ledger_entry import EntryState as EntryState
    from opendp_lite.sessions.ledger_file import LedgerFile as LedgerFile
    from opendp_lite.shown_results import plain as plain
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
