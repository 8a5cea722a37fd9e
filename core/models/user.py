"""People of the arena."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower

github_name = RegexValidator(
    r"\A[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}\Z",
    "Enter a GitHub user name: letters, digits and single hyphens, at most 39 characters.",
)

ANONYMOUS_NAME = "anonymous"
ANONYMOUS_EMAIL = "anonymous@arena.invalid"
"""Of the account that owns what nobody in particular submits; no mail ever reaches it (RFC 2606)."""


class User(AbstractUser):
    """An account; it logs in by e-mail and is shown by its user name."""

    email = models.EmailField("e-mail", unique=True)
    team = models.CharField(max_length=100, blank=True)
    github = models.CharField("GitHub name", max_length=39, blank=True, validators=[github_name])

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["username"]

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("username"), name="user_username_unique"),
            models.UniqueConstraint(Lower("email"), name="user_email_unique"),
        ]
        indexes = [models.Index(fields=["id"], condition=models.Q(is_active=False), name="user_inactive")]

    def __str__(self) -> str:
        return self.username

    @property
    def is_system(self) -> bool:
        """Whether this is no person, but the account of anonymous submissions."""
        return self.email == ANONYMOUS_EMAIL
