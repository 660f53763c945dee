from opendp_lite.base.errors import NoColumnError as NoColumnError
from opendp_lite.cli.file_input import FileInput as FileInput
from opendp_lite.cli.ledger_payment import Payment as Payment
from opendp_lite.cli.release import release as release
from opendp_lite.cli.release import setting_of as setting_of
from opendp_lite.cli.report import writers as writers
from opendp_lite.sessions.sessions import try_on_names as try_on_names
