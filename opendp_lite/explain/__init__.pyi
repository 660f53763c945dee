from opendp_lite.explain.drawing import Drawing as Drawing
from opendp_lite.explain.drawing import Explanation as Explanation
from opendp_lite.explain.drawing import pointing as pointing
from opendp_lite.explain.of_pipelines import make_statement as make_statement
from opendp_lite.explain.statement import Statement as Statement
