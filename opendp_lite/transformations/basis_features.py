"""Numbers as the values of orthonormal functions."""

from __future__ import annotations

from opendp_lite.bases.basis import Basis
from opendp_lite.bases.haar import Haar
from opendp_lite.bases.legendre import Legendre
from opendp_lite.bodies.points import PointOf
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import described
from opendp_lite.examples import example
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted


@example(records(), Legendre(5, 0, 0.1))
@example(records(size=20, metric=ChangeOneDistance()), Haar(8, 0, 1 / 3))
@stage
def basis_features(space: Space[Rows], basis: Basis) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces every number by the values of orthonormal functions there.

    There is one column for each function.

    You need no ``clamp`` before it. A number beyond the bounds of the basis counts as the bound. A
    number stands for the middle of its cell, one of ``basis.cells`` cells.

    Args:
        basis: The functions, for example ``Cosine(12, 0, 100)``.

    Returns:
        Rows that are one of finitely many public points, one for each cell. A missing number
        becomes a row of missing values. Where the number of rows is public, it counts as the middle
        cell.

    Raises:
        ParameterError: If ``basis`` is no basis.
        SpaceError: If the rows have more than one column.

    Stability:
        ``d_out = d_in`` under either row metric. A sum afterwards has the sensitivity of the
        points: their largest norm under add/remove, and their largest distance under replace-one.

    Proof:
        Row by row (``row_map``). A sum counts in integers how often each point occurs. The
        sensitivities correct those of Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), appendix
        D.

    Example:
        >>> import opendp_lite as dp
        >>> features = dp.transformations.basis_features(dp.bases.Hadamard(4, 0, 100))
        >>> features([10.0, 60.0])
        NotPrivate([[ 1.,  1.,  1.,  1.],
                    [ 1.,  1., -1., -1.]])
        >>> (features >> dp.sum()).map(1)
        dp.Norms(l1=4.0, l2=2.0, linf=1.0)
    """
    if not isinstance(basis, Basis):
        raise ParameterError(
            f"basis_features needs a basis such as dp.bases.Cosine(12, 0, 100), "
            f"got {described(basis)}"
        )
    if space.domain.columns != 1:
        raise SpaceError(
            f"basis_features needs one column; the rows have {space.domain.columns}. Put select() "
            "before it and take a basis for each column"
        )
    body = basis.points()
    return row_map_trusted(space, PointOf(body), body)
