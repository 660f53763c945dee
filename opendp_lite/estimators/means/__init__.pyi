from opendp_lite.estimators.means.joint_mean import joint_plan as joint_plan
from opendp_lite.estimators.means.joint_mean import known_size_plan as known_size_plan
from opendp_lite.estimators.means.recentred_mean import recentred_plan as recentred_plan
from opendp_lite.estimators.means.unbounded_mean import learned_mean as learned_mean
