"""What the commands that make a release need once they run: ``--help`` imports none of it."""

from typing import TYPE_CHECKING

from opendp_lite.lazy_names import lazy_names

_MODULES = {
    "FileInput": "opendp_lite.cli.file_input",
    "FileToWrite": "opendp_lite.cli.file_to_write",
    "LedgerPayment": "opendp_lite.cli.ledger_payment",
    "NoColumnError": "opendp_lite.engines.table",
    "release": "opendp_lite.cli.release",
    "setting_of": "opendp_lite.cli.release",
    "statement_file": "opendp_lite.cli.statement_file",
    "try_on_names": "opendp_lite.sessions.session",
}

if TYPE_CHECKING:
    from opendp_lite.cli.file_input import FileInput as FileInput
    from opendp_lite.cli.file_to_write import FileToWrite as FileToWrite
    from opendp_lite.cli.ledger_payment import LedgerPayment as LedgerPayment
    from opendp_lite.cli.release import release as release
    from opendp_lite.cli.release import setting_of as setting_of
    from opendp_lite.cli.statement_file import statement_file as statement_file
    from opendp_lite.engines.table import NoColumnError as NoColumnError
    from opendp_lite.sessions.session import try_on_names as try_on_names
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
