"""Events of accounts: logins, wrong passwords and codes, and changes of what opens an account."""

from __future__ import annotations

from django.db import models

from core.models.user import User


class AccountEvent(models.Model):
    """An act, or a refused attempt, at an account. Its owner sees the latest; retention deletes old ones."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True, db_index=True)
    action = models.CharField(max_length=40)
    method = models.CharField(max_length=60, blank=True, help_text="The proofs of a login, such as a password.")
    is_refused = models.BooleanField(default=False)
    address = models.CharField(max_length=45, blank=True)
    device = models.CharField(max_length=200, blank=True, help_text="The user agent of the browser or program.")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["user", "is_refused", "-id"], name="account_events")]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """The act in words, such as `Log in`."""
        return self.action.removesuffix("_failed").replace("_", " ").capitalize()
