"""Numbers as the values of orthonormal functions."""

from __future__ import annotations

from opendp_lite.bases.basis import Basis
from opendp_lite.bodies.points import PointOf
from opendp_lite.core import Transformation, stage
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import said
from opendp_lite.spaces import Space
from opendp_lite.transformations.row_map import lifted


@stage
def basis_features(space: Space[Rows], basis: Basis) -> Transformation[Space[Rows], Space[Rows]]:
    """Makes of every number the values of the functions of a basis there: a column for each.

    Takes: one column; ``basis``, such as ``Cosine(12, 0, 100)``. Raises ``SpaceError`` for more
        columns, ``ParameterError`` for what is no basis. No ``clamp`` is needed: what lies beyond
        the basis' bounds counts as the bound, a NaN as the upper one. A number stands for the
        middle of its cell, one of ``basis.cells``.
    Gives: rows that are one of as many public points as there are cells. Their sum has the
        sensitivity of these points and not of a box around them, exactly.
    Moves: d_in rows move d_in rows, under either row metric.
    Because: Free Lunch, appendix D, with the sensitivities that it should have: under add/remove
        the largest norm of a point, under replace-one the largest distance of two
        (``docs/errata.md``, 1.1.1 and 1.1.2). They are enforced in integers: a sum counts how
        often each point occurs.

    >>> import opendp_lite as dp
    >>> features = dp.basis_features(dp.Hadamard(4, 0, 100))
    >>> features([10.0, 60.0])
    array([[ 1.,  1.,  1.,  1.],
           [ 1.,  1., -1., -1.]])
    >>> (features >> dp.sum()).map(1)
    dp.Norms(l1=4.0, l2=2.0, linf=1.0)
    """
    if not isinstance(basis, Basis):
        raise ParameterError(
            f"basis_features needs a basis such as dp.Cosine(12, 0, 100), got {said(basis)}"
        )
    if space.domain.columns != 1:
        raise SpaceError(
            f"basis_features needs one column; the rows have {space.domain.columns}. Put select() "
            "before it and take a basis for each column"
        )
    body = basis.points()
    return lifted(space, PointOf(body), body)
