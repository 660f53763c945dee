from opendp_lite.data.tables import doctor_visits as doctor_visits
