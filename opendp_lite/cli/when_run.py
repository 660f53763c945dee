"""What the commands need once they run: ``--help`` imports none of it."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "EntryState": "opendp_lite.sessions.ledger_entry",
    "FileInput": "opendp_lite.cli.file_input",
    "FileToWrite": "opendp_lite.cli.file_to_write",
    "LedgerFile": "opendp_lite.sessions.ledger_file",
    "LedgerPayment": "opendp_lite.cli.ledger_payment",
    "MISSING": "opendp_lite.engines.text_cells",
    "category_in": "opendp_lite.engines.text_cells",
    "installed": "opendp_lite.sessions.installed",
    "plain": "opendp_lite.shown_results",
    "release": "opendp_lite.cli.release",
    "setting_of": "opendp_lite.cli.release",
    "statement_file": "opendp_lite.cli.statement_file",
}

if TYPE_CHECKING:
    from opendp_lite.cli.file_input import FileInput as FileInput
    from opendp_lite.cli.file_to_write import FileToWrite as FileToWrite
    from opendp_lite.cli.ledger_payment import LedgerPayment as LedgerPayment
    from opendp_lite.cli.release import release as release
    from opendp_lite.cli.release import setting_of as setting_of
    from opendp_lite.cli.statement_file import statement_file as statement_file
    from opendp_lite.engines.text_cells import MISSING as MISSING
    from opendp_lite.engines.text_cells import category_in as category_in
    from opendp_lite.sessions.installed import installed as installed
    from opendp_lite.sessions.ledger_entry import EntryState as EntryState
    from opendp_lite.sessions.ledger_file import LedgerFile as LedgerFile
    from opendp_lite.shown_results import plain as plain
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
