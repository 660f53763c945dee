from opendp_lite.engines.columns import Dataset as Dataset
from opendp_lite.engines.data.table import unknown_column as unknown_column
from opendp_lite.engines.grouped import LazyTable as LazyTable
from opendp_lite.engines.grouped import Numbers as Numbers
from opendp_lite.engines.grouped import Presence as Presence
