"""Deterministic steps with a stability map."""

from opendp_lite.transformations.absolute import absolute
from opendp_lite.transformations.basis_features import basis_features
from opendp_lite.transformations.bins import bins
from opendp_lite.transformations.block_counts import block_counts
from opendp_lite.transformations.bound_contributions import bound_contributions
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.count import count
from opendp_lite.transformations.drop_nan import drop_nan
from opendp_lite.transformations.impute import impute
from opendp_lite.transformations.indicator_below import indicator_below
from opendp_lite.transformations.keep import keep
from opendp_lite.transformations.magnitude_counts import magnitude_counts
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.one_hot import one_hot
from opendp_lite.transformations.outer_products import outer_products
from opendp_lite.transformations.prefix_features import prefix_features
from opendp_lite.transformations.random_rotation import Rotation, random_rotation
from opendp_lite.transformations.resize import resize
from opendp_lite.transformations.row_map import row_map
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.select import select
from opendp_lite.transformations.simplex_augment import simplex_augment
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum
from opendp_lite.transformations.weighted_pairs import weighted_pairs

__all__ = [
    "Rotation",
    "absolute",
    "basis_features",
    "bins",
    "block_counts",
    "bound_contributions",
    "center",
    "clamp",
    "clip_to_norm",
    "count",
    "drop_nan",
    "impute",
    "indicator_below",
    "keep",
    "magnitude_counts",
    "norm",
    "one_hot",
    "outer_products",
    "prefix_features",
    "random_rotation",
    "resize",
    "row_map",
    "scale",
    "select",
    "simplex_augment",
    "square",
    "sum",
    "weighted_pairs",
]
