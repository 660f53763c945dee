from opendp_lite.statements.stated import stated as stated
from opendp_lite.statements.statement import Statement as Statement
