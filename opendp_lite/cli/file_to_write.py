"""A file that a command writes, in the form that its name tells."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Final, Generic, TypeVar

import attrs

import opendp_lite as dp
from opendp_lite.engines.file_names import files_named

Content = TypeVar("Content")

_READ: Final = ("file", "pipeline", "ledger")
"""The arguments that name files that a command reads."""


@attrs.frozen
class FileToWrite(Generic[Content]):
    """A file, and what makes the bytes that it will hold."""

    path: Path
    form: Callable[[Content], bytes]

    @classmethod
    def of(
        cls,
        arguments: argparse.Namespace,
        flag: str,
        forms: Mapping[str, Callable[[Content], bytes]],
    ) -> FileToWrite[Content] | None:
        """The file that an option names; None without the option.

        Args:
            arguments: All that was typed.
            flag: The option.
            forms: What makes the bytes, by the end of the name.

        Raises:
            ParameterError: If it cannot be written, as far as is known before the release, or if
                the command reads it.
        """
        typed = vars(arguments)
        name = typed[flag.removeprefix("--")]
        if name is None:
            return None
        path = Path(name)
        form = forms.get(path.suffix.lower())
        if form is None:
            raise dp.ParameterError(
                f"{flag}: the name must end in {' or '.join(forms)}, got {name!r}"
            )
        folder = path.parent
        if not folder.is_dir():
            raise dp.ParameterError(f"{flag}: there is no folder {str(folder)!r}; make it first")
        if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
            raise dp.ParameterError(f"{flag}: {str(path)!r} cannot be written; name another file")
        read = (files_named(each) or [Path(each)] for each in map(typed.get, _READ) if each)
        for other in chain.from_iterable(read):
            if path.exists() and other.exists() and path.samefile(other):
                raise dp.ParameterError(
                    f"{flag}: {str(path)!r} is a file that is read, such as the data or the "
                    "ledger; name another"
                )
        return cls(path, form)

    def filled(self, content: Content) -> Callable[[], None]:
        """What writes the file."""
        contents = self.form(content)

        def write() -> None:
            self.path.write_bytes(contents)

        return write
