"""Mails about an account, as opposed to mails about its agents."""

from __future__ import annotations

from django.db import models


class LetterKind(models.TextChoices):
    """The purpose of a letter."""

    PASSWORD_RESET = "PASSWORD_RESET", "a link to choose a new password"
    INVITATION = "INVITATION", "an invitation to an account that organisers have made"
    CONFIRM_EMAIL = "CONFIRM_EMAIL", "a link that confirms an e-mail"
    EMAIL_CHANGED = "EMAIL_CHANGED", "word that an account has another e-mail"
    CLOSED = "CLOSED", "word that organisers have closed an account"


class Letter(models.Model):
    """A mail that waits to be sent. Its text and link are made when it is sent, so the row contains no secret.

    It is created for any e-mail that was typed, with or without an account, and deleted once it is sent or given up.
    """

    kind = models.CharField(max_length=20, choices=LetterKind.choices)
    email = models.EmailField("e-mail")
    created_at = models.DateTimeField()
    mail_next_at = models.DateTimeField(help_text="Time of the next attempt.")
    mail_attempt = models.PositiveIntegerField(default=0, help_text="Number of attempts.")
    mail_error = models.CharField(max_length=200, blank=True, help_text="Error of the last attempt.")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["mail_next_at"], name="letter_due")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, to {self.email}"
