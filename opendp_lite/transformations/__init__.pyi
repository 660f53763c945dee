from opendp_lite.transformations.absolute import absolute as absolute
from opendp_lite.transformations.basis_features import basis_features as basis_features
from opendp_lite.transformations.bins import bins as bins
from opendp_lite.transformations.block_counts import block_counts as block_counts
from opendp_lite.transformations.bound_contributions import (
    bound_contributions as bound_contributions,
)
from opendp_lite.transformations.center import center as center
from opendp_lite.transformations.clamp import clamp as clamp
from opendp_lite.transformations.clip_to_norm import clip_to_norm as clip_to_norm
from opendp_lite.transformations.count import count as count
from opendp_lite.transformations.drop_nan import drop_nan as drop_nan
from opendp_lite.transformations.impute import impute as impute
from opendp_lite.transformations.indicator_below import indicator_below as indicator_below
from opendp_lite.transformations.keep import keep as keep
from opendp_lite.transformations.magnitude_counts import magnitude_counts as magnitude_counts
from opendp_lite.transformations.norm import norm as norm
from opendp_lite.transformations.one_hot import one_hot as one_hot
from opendp_lite.transformations.outer_products import outer_products as outer_products
from opendp_lite.transformations.prefix_features import prefix_features as prefix_features
from opendp_lite.transformations.random_rotation import Rotation as Rotation
from opendp_lite.transformations.random_rotation import random_rotation as random_rotation
from opendp_lite.transformations.resize import resize as resize
from opendp_lite.transformations.row_map import row_map as row_map
from opendp_lite.transformations.scale import scale as scale
from opendp_lite.transformations.select import select as select
from opendp_lite.transformations.simplex_augment import simplex_augment as simplex_augment
from opendp_lite.transformations.square import square as square
from opendp_lite.transformations.sum import sum as sum
from opendp_lite.transformations.weighted_pairs import weighted_pairs as weighted_pairs
