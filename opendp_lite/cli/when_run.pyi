from opendp_lite.base.version import find_version as find_version
from opendp_lite.display.formatting import plain as plain
from opendp_lite.engines.files.csv_rows import MISSING as MISSING
from opendp_lite.engines.files.csv_rows import category_in as category_in
from opendp_lite.sessions.ledger.entries import EntryState as EntryState
from opendp_lite.sessions.ledger.file import LedgerFile as LedgerFile
