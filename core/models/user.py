"""Accounts of people."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower

from arena_kit.text import plain_line
from core.models.quota import QuotaNumbers

github_name = RegexValidator(
    r"\A[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}\Z",
    "Enter a GitHub user name: letters, digits and single hyphens, at most 39 characters.",
)

ANONYMOUS_NAME = "anonymous"
NOWHERE = "@arena.invalid"
"""The end of the addresses of accounts that have no mailbox."""
NO_MAILBOX = ".invalid"
"""The end of all addresses that no mail reaches (RFC 2606)."""
OF_TEAM = f"@team{NO_MAILBOX}"
"""The end of the addresses of accounts of teams."""
ANONYMOUS_EMAIL = f"anonymous{NOWHERE}"
"""The address of the account that owns anonymous submissions."""


def email_problem(email: str) -> str:
    """Return what is wrong with an e-mail address that Django accepts; empty when nothing is.

    RFC 5322 allows control characters between quotes, which no header of a mail can contain.
    """
    if email.casefold().endswith(NO_MAILBOX):
        return f"No mail reaches an address that ends in {NO_MAILBOX}."
    return "" if plain_line(email) == email else "An e-mail address may contain only visible characters."


class User(AbstractUser, QuotaNumbers):
    """An account. It logs in by e-mail and is shown by its user name; a banned account is not active."""

    email = models.EmailField("e-mail", unique=True)
    email_confirmed_at = models.DateTimeField(
        "e-mail confirmed",
        null=True,
        editable=False,
        help_text="When the owner confirmed it; before that only confirmation links are mailed there.",
    )
    team = models.CharField(max_length=100, blank=True)
    github = models.CharField("GitHub name", max_length=39, blank=True, validators=[github_name])
    is_quota_exempt = models.BooleanField("exempt from quotas", default=False, help_text="No quota applies.")
    ban_reason = models.CharField(max_length=200, blank=True, help_text="Shown when they try to log in.")
    session_epoch = models.PositiveIntegerField(
        default=0, editable=False, help_text="Raised to end all sessions of the account."
    )

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

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        super().clean_fields(exclude=exclude)
        if "email" not in (exclude or ()) and self.has_mailbox and (problem := email_problem(self.email)):
            raise ValidationError({"email": problem})
        if "first_name" not in (exclude or ()) and plain_line(self.first_name) != self.first_name:
            raise ValidationError({"first_name": "A name may contain only visible characters, in one line."})

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Combine the hash of the password, as Django has it, with the epoch; every session must match it."""
        of_password: str = super()._get_session_auth_hash(secret)  # type: ignore[misc]
        return f"{of_password}{self.session_epoch}" if self.session_epoch else of_password

    @property
    def name(self) -> str:
        """Their name beside the user name, in one line as they or a class list wrote it; only some people see it."""
        return self.first_name

    @property
    def must_confirm_email(self) -> bool:
        """Return whether this account's e-mail still has to be confirmed."""
        return self.email_confirmed_at is None and self.has_mailbox

    @property
    def has_mailbox(self) -> bool:
        """Return whether it has an e-mail: accounts of class lists may have none."""
        return not self.email.endswith(NO_MAILBOX)

    @property
    def is_team(self) -> bool:
        """Return whether this is the account of a team, as which its people work: it is never logged in to."""
        return self.email.endswith(OF_TEAM)

    @property
    def mailbox(self) -> str:
        """Its e-mail; empty without one."""
        return self.email if self.has_mailbox else ""

    @property
    def is_deleted(self) -> bool:
        """Return whether its owner has deleted the account, which nothing opens again."""
        return self.email == f"{self.username}{NOWHERE}" and not self.is_system

    @property
    def is_system(self) -> bool:
        """Return whether this is the account of anonymous submissions instead of a person's."""
        return self.email == ANONYMOUS_EMAIL
