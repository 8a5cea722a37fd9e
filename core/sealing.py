"""Secrets in rows are encrypted with a key that is not in the database, so that a stolen dump opens nothing.

The key comes from SECRET_KEY by HKDF (RFC 5869), the cipher is Fernet of `cryptography`. To change SECRET_KEY, name the
old one in SECRET_KEY_FALLBACKS and run `manage.py secrets_seal`, which seals everything anew; then drop the old one.
"""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    _Text = models.CharField[str, str]
else:
    # Only the stubs know that a field has types.
    _Text = models.CharField

MARK = "sealed:"


class Unreadable(str):
    """An empty text in place of one that was sealed with another key; saving it keeps what is stored.

    One row that cannot be read stops nothing: pages show it, and it can be written anew or deleted.
    """

    __slots__ = ("sealed",)
    sealed: str

    def __new__(cls, sealed: str) -> Self:
        made = super().__new__(cls, "")
        made.sealed = sealed
        return made


class NotOpened(Exception):
    """A sealed text was sealed with a key that neither SECRET_KEY nor SECRET_KEY_FALLBACKS has."""


def seal(text: str) -> str:
    """Return a text encrypted with SECRET_KEY; an empty one stays empty."""
    return f"{MARK}{_cipher().encrypt(text.encode()).decode()}" if text else ""


def opened(sealed: str) -> str:
    """Return the text that was sealed; one from before sealing as it is. Raises NotOpened."""
    if not sealed.startswith(MARK):
        return sealed
    try:
        return _cipher().decrypt(sealed.removeprefix(MARK)).decode()
    except InvalidToken:
        raise NotOpened("A secret was stored with another SECRET_KEY: name that in SECRET_KEY_FALLBACKS.") from None


class SealedField(_Text):
    """A text that only the database sees sealed. max_length: of the sealed text, about 120 and 4/3 of the text."""

    def deconstruct(self) -> Any:
        # For migrations it is the text that the database sees.
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.CharField", arguments, options

    def from_db_value(self, value: Any, *_: Any) -> str | None:
        try:
            return None if value is None else opened(value)
        except NotOpened:
            return Unreadable(value)

    def get_prep_value(self, value: Any) -> Any:
        if isinstance(value, Unreadable):
            return value.sealed
        text = super().get_prep_value(value)
        return seal(text) if isinstance(text, str) else text


def _cipher() -> MultiFernet:
    return _made(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


@cache
def _made(*keys: str) -> MultiFernet:
    """Return the cipher of some keys: the first one seals, and each of them opens."""
    return MultiFernet([Fernet(base64.urlsafe_b64encode(_derivation().derive(key.encode()))) for key in keys])


def _derivation() -> HKDF:
    return HKDF(SHA256(), length=32, salt=None, info=b"rl-arena sealed secrets")
