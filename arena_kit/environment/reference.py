"""The reference of an environment: the agent that holds the scale of its ratings in place."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    """An agent whose rating is fixed, so that ratings of different days can be compared.

    sha256: digests of the archives that it may be; the first of these archives that was uploaded is the reference.
    rating: its rating on the Elo scale, however the others play.
    """

    sha256: tuple[str, ...]
    rating: float

    def __post_init__(self) -> None:
        """Raise ValueError for digests and ratings that cannot be right."""
        if not self.sha256 or not all(re.fullmatch("[0-9a-f]{64}", digest) for digest in self.sha256):
            raise ValueError("sha256: must be a list of digests of archives, 64 small hexadecimal digits each.")
        if not math.isfinite(self.rating):
            raise ValueError("rating: must be a number.")


RANDOM = Reference(("175cf94e69e8113549e01378c6d7079636e37df9b13124f35ad3c06bd397826f",), 1000.0)
"""The shipped example that plays at random. If its archive changes, the new digest is added and the old ones stay."""
