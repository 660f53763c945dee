from opendp_lite.engines.text_cells import MISSING as MISSING
from opendp_lite.engines.text_cells import category_in as category_in
from opendp_lite.sessions.installed import installed as installed
from opendp_lite.sessions.ledger_entry import EntryState as EntryState
from opendp_lite.sessions.ledger_file import LedgerFile as LedgerFile
from opendp_lite.shown_results import plain as plain
