from opendp_lite.data.tables import doctor_visits as doctor_visits
from opendp_lite.engines.files.postgresql import postgresql as postgresql
