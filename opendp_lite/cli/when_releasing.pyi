from opendp_lite.cli.file_input import FileInput as FileInput
from opendp_lite.cli.file_to_write import FileToWrite as FileToWrite
from opendp_lite.cli.ledger_payment import LedgerPayment as LedgerPayment
from opendp_lite.cli.release import release as release
from opendp_lite.cli.release import setting_of as setting_of
from opendp_lite.cli.statement_file import statement_file as statement_file
from opendp_lite.engines.table import NoColumnError as NoColumnError
from opendp_lite.sessions.session import try_on_names as try_on_names
