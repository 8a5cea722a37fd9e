"""Mails that belong to an account, not to what an agent has done."""

from __future__ import annotations

from django.db import models


class LetterKind(models.TextChoices):
    """What a letter is for."""

    PASSWORD_RESET = "PASSWORD_RESET", "a link to choose a new password"
    CONFIRM_EMAIL = "CONFIRM_EMAIL", "a link that confirms an e-mail"


class Letter(models.Model):
    """A mail that waits to be sent. Its text, with the link, is made when it is sent, so no secret lies in the row.

    It is written for any e-mail that was typed, with or without an account, and goes once it is sent or given up.
    """

    kind = models.CharField(max_length=20, choices=LetterKind.choices)
    email = models.EmailField("e-mail")
    created_at = models.DateTimeField()
    mail_next_at = models.DateTimeField(help_text="When it is tried next.")
    mail_attempt = models.PositiveIntegerField(default=0, help_text="Times it was tried.")
    mail_error = models.CharField(max_length=200, blank=True, help_text="Of the last time.")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["mail_next_at"], name="letter_due")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, to {self.email}"
