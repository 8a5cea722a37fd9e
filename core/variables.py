"""The arena's configuration variables: read from the environment by `core.settings`, listed for the docs test."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off", ""})


class Variables:
    """Typed access to a mapping of environment variables.

    Every name asked for is remembered in `names`, those of secrets also in `secrets`, so that a test can hold
    `example.env` to them. A secret may also come from the file that `NAME_FILE` points to.
    """

    def __init__(self, source: Mapping[str, str]) -> None:
        self._source = source
        self.names: dict[str, str] = {}
        self.secrets: set[str] = set()

    def text(self, name: str, default: str = "") -> str:
        self.names[name] = default
        return self._source.get(name, default)

    def secret(self, name: str, default: str = "") -> str:
        """As `text`; when NAME_FILE is set, the stripped content of that file."""
        self.secrets.add(name)
        path = self._source.get(f"{name}_FILE")
        if not path:
            return self.text(name, default)
        self.names[name] = default
        try:
            return Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error}") from None

    def flag(self, name: str, default: bool) -> bool:
        word = self.text(name, "true" if default else "false").strip().lower()
        if word in TRUE_WORDS:
            return True
        if word in FALSE_WORDS:
            return False
        raise ImproperlyConfigured(f"{name} must be true or false, not {word!r}.")

    def number(self, name: str, default: int) -> int:
        word = self.text(name, str(default))
        try:
            return int(word)
        except ValueError:
            raise ImproperlyConfigured(f"{name} must be a whole number, not {word!r}.") from None

    def decimal(self, name: str, default: float) -> float:
        """A finite number, not below 0."""
        return self._decimal(name, default, sys.float_info.max, "a number, not below 0,")

    def share(self, name: str, default: float) -> float:
        """A number from 0 to 1."""
        return self._decimal(name, default, 1.0, "a number from 0 to 1,")

    def _decimal(self, name: str, default: float, most: float, wanted: str) -> float:
        word = self.text(name, str(default))
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not 0 <= value <= most:
            raise ImproperlyConfigured(f"{name} must be {wanted} not {word!r}.")
        return value

    def words(self, name: str, default: str = "") -> list[str]:
        """A comma-separated list, spaces around its parts dropped."""
        return [part.strip() for part in self.text(name, default).split(",") if part.strip()]
