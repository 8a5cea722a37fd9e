"""Mails to the operators about errors of the arena."""

from __future__ import annotations

from django.db import models


class ErrorMail(models.Model):
    """A mail to ADMINS about an error at one place of the code: at most one an hour, with the number since the last.

    Workers send it and delete it an hour later, if the error has not come again.
    """

    PLACE_LETTERS = 300

    place = models.CharField(
        max_length=PLACE_LETTERS, unique=True, help_text="The error's class, and the line that raised it."
    )
    subject = models.CharField(max_length=200)
    body = models.TextField()
    count = models.PositiveIntegerField(default=1, help_text="Number of errors since the last mail.")
    mail_next_at = models.DateTimeField(help_text="Time of the next attempt, or of the row's end.")
    mail_attempt = models.PositiveIntegerField(default=0, help_text="Number of attempts.")
    mail_error = models.CharField(max_length=200, blank=True, help_text="Error of the last attempt.")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["mail_next_at"], name="error_mail_due")]

    def __str__(self) -> str:
        return self.place
