"""The arena's configuration variables: read from the environment by `core.settings`, listed for the docs test."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off", ""})
Value = TypeVar("Value")
NO_READERS: Mapping[str, Callable[[str], Any]] = MappingProxyType({})


class Variables:
    """Typed access to a mapping of environment variables.

    `names` collects every name that is read, and `secrets` those of secrets, so that a test can compare them with
    `example.env`. A secret may also come from the file that `NAME_FILE` points to.
    """

    def __init__(self, source: Mapping[str, str]) -> None:
        self._source = source
        self.names: dict[str, str] = {}
        self.secrets: set[str] = set()

    def text(self, name: str, default: str = "") -> str:
        self.names[name] = default
        return self._source.get(name, default)

    def secret(self, name: str, default: str = "") -> str:
        """Like `text`; if NAME_FILE is set, the stripped content of that file."""
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

    def choice(self, name: str, words: Sequence[str]) -> str:
        """Return one of some words, of which the first is the default; "false" for every word that means no."""
        word = self.text(name, words[0]).strip().lower()
        word = "false" if word in FALSE_WORDS else word
        if word not in words:
            raise ImproperlyConfigured(f"{name} must be one of {', '.join(words)}, not {word!r}.")
        return word

    def number(self, name: str, default: int) -> int:
        word = self.text(name, str(default))
        try:
            return int(word)
        except ValueError:
            raise ImproperlyConfigured(f"{name} must be a whole number, not {word!r}.") from None

    def share(self, name: str, default: float) -> float:
        """Return a number from 0 to 1."""
        try:
            return _decimal(self.text(name, str(default)), 1.0, "a number from 0 to 1")
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} must be {error}") from None

    def words(self, name: str, default: str = "") -> list[str]:
        """Return a comma-separated list without spaces around its parts."""
        return [part.strip() for part in self.text(name, default).split(",") if part.strip()]

    def pairs(
        self,
        name: str,
        default: str,
        read: Callable[[str], Value],
        *,
        unset: Value | None = None,
        apart: Mapping[str, Callable[[str], Value]] = NO_READERS,
        is_secret: bool = False,
    ) -> dict[str, Value]:
        """Parse a comma-separated list of NAME=VALUE that changes some or all of the default's pairs.

        read: converts the text of a value; raises ValueError with what is expected. apart: what does so for some names.
        unset: the value of names that the variable leaves out, if not their default. is_secret: as `secret`.
        """
        values = {key: apart.get(key, read)(word) for key, word in _pairs(default).items()}
        if unset is not None:
            values = dict.fromkeys(values, unset)
        text = self.secret(name, default) if is_secret else self.text(name, default)
        try:
            given = _pairs(text) if self.is_set(name) else {}
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} must be a comma-separated list of NAME=VALUE; {error}") from None
        if unknown := [key for key in given if key not in values]:
            raise ImproperlyConfigured(f"{name} has no {unknown[0]!r}. It has {', '.join(sorted(values))}.")
        for key, word in given.items():
            try:
                values[key] = apart.get(key, read)(word)
            except ValueError as error:
                raise ImproperlyConfigured(f"{name}: {key} must be {error}") from None
        return values

    def images(self, name: str, default: str) -> dict[tuple[int, int], str]:
        """Parse a comma-separated list of VERSION=IMAGE, with versions of Python like 3.12; or one image of this one's.

        default: the only image when the variable is not set or empty; without a default there is no image then.
        """
        try:
            return images(self.text(name, default).strip() or default)
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} must be {error}") from None

    def is_set(self, name: str) -> bool:
        """Return whether a variable, or the NAME_FILE of a secret, is set, even if nothing reads it."""
        return bool(self._source.get(name) or self._source.get(f"{name}_FILE"))


def yes_or_no(word: str) -> bool:
    """Return whether a word means yes. Raises ValueError with what is expected."""
    if word.lower() not in TRUE_WORDS | FALSE_WORDS:
        raise ValueError(f"yes or no, not {word!r}.")
    return word.lower() in TRUE_WORDS


def whole_number(word: str) -> int:
    """Return a whole number. Raises ValueError with what is expected."""
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"a whole number, not {word!r}.") from None


def words(text: str) -> list[str]:
    """Return the parts of a list with semicolons, without the spaces around them."""
    return [part.strip() for part in text.split(";") if part.strip()]


def images(text: str) -> dict[tuple[int, int], str]:
    """Return images by version of Python, from VERSION=IMAGE with commas or semicolons, or one image for this version.

    Raises ValueError with what is expected.
    """
    if not text:
        return {}
    if not re.search("[=,;]", text):
        return {sys.version_info[:2]: text}
    try:
        given = _pairs(text.replace(";", ","))
    except ValueError as error:
        raise ValueError(f"a list of VERSION=IMAGE; {error}") from None
    found: dict[tuple[int, int], str] = {}
    for word, image in given.items():
        major, _, minor = word.partition(".")
        if not (major.isdecimal() and minor.isdecimal() and image):
            raise ValueError(f"a list like 3.11=rl-arena-base, not {word}={image}.")
        found[int(major), int(minor)] = image
    return found


def decimal(word: str) -> float:
    """Return a finite number from 0. Raises ValueError with what is expected."""
    return _decimal(word, sys.float_info.max, "a number, not below 0")


def _decimal(word: str, most: float, wanted: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise ValueError(f"{wanted}, not {word!r}.")
    return value


def _pairs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, sign, value = (word.strip() for word in part.partition("="))
        if not sign:
            raise ValueError(f"{part!r} is not NAME=VALUE.")
        if key in found:
            raise ValueError(f"{key!r} is in it twice.")
        found[key] = value
    return found
