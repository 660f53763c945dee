"""Which content of the data a ledger was used with, without keeping any of it."""

from __future__ import annotations

import hmac
import json
from typing import Final

import attrs

from opendp_lite.engines.content import content

_HASH: Final = "sha256"


@attrs.frozen
class DataIdentity:
    """The keyed hash of the content of a container.

    One content has one identity in a list, an array, a frame of pandas or polars, an Arrow table
    and blocks, wherever the columns have the same names and the cells are of the same kinds. The
    columns may change places. The rows may not: data in another order has another identity, and
    is admitted under a name of its own. It spends the same budget, so nothing is lost.

    Numbers are compared as floats: whole numbers beyond 2^53 that differ in their last digits may
    be one content.

    The key belongs to the ledger. Without a key, a hash of small data would identify it: a person
    who guesses the rows would know. Who may read the ledger's file can test a guess.

    Attributes:
        columns: The names of the columns, in the order of the alphabet.
        content: The hash, in hexadecimal.
    """

    columns: tuple[str, ...]
    content: str

    @classmethod
    def of(cls, data: object, key: bytes) -> DataIdentity:
        """The identity of the data under a key.

        It goes through the data once.

        Raises:
            DataError: If the data cannot be read, or can be gone through only once.
        """
        hashes: dict[str, hmac.HMAC] = {}
        for name, cells in content(data):
            if name not in hashes:
                hashes[name] = hmac.new(key, b"column", _HASH)
            hashes[name].update(cells)
        columns = tuple(sorted(hashes))
        whole = json.dumps([[name, hashes[name].hexdigest()] for name in columns])
        return cls(columns, hmac.new(key, whole.encode(), _HASH).hexdigest())

    def schema(self) -> str:
        """The names of the columns as JSON."""
        return json.dumps({"columns": self.columns})
