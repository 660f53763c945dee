"""Several releases by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from opendp_lite.errors import ParameterError
from opendp_lite.shown_results import block, html_of_each, plain, told


@attrs.frozen(repr=False)
class ByName(Mapping[str, Any]):
    """What ``dp.compose`` releases of parts with names: each release by its name, in order.

    Args:
        releases: A release for each name.

    Example:
        >>> found = ByName({"rows": 1204, "age": 41.2})
        >>> found["age"], list(found), found.as_dict()
        (41.2, ['rows', 'age'], {'rows': 1204, 'age': 41.2})
        >>> found
        rows: 1204
        age: 41.2
    """

    releases: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise ParameterError(f"there is no release {name!r}; there are {', '.join(self)}")
        return self.releases[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The release of a name; the default where there is no such name."""
        return self.releases.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self.releases

    def __iter__(self) -> Iterator[str]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)

    def as_dict(self) -> dict[str, Any]:
        """The releases by name, for ``json.dumps``."""
        return {name: plain(release) for name, release in self.items()}

    def __repr__(self) -> str:
        return "\n".join(block(f"{name}: ", told(release)) for name, release in self.items())

    def _repr_html_(self) -> str:
        return html_of_each(self.items())
