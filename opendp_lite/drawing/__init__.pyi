from opendp_lite.drawing.drawing import Drawing as Drawing
from opendp_lite.drawing.explanation import Explanation as Explanation
