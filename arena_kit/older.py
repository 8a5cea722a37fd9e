"""Names and arguments that Python 3.10 does not have yet, for the parts of arena-kit that participants use."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from enum import StrEnum
    from typing import Self

    import tomllib
else:
    from enum import Enum

    import tomli as tomllib
    from typing_extensions import Self

    class StrEnum(str, Enum):
        """A text of a fixed set, as in Python 3.11."""

        __str__ = str.__str__


__all__ = ["SAFE_PATH", "Self", "StrEnum", "tomllib"]

SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()
"""The arguments with which Python puts neither the current folder nor that of the program on its path."""
