"""Tokens with which programs act for a person."""

from __future__ import annotations

from django.db import models

from core.models.course import Team
from core.models.user import User


class TokenScope(models.TextChoices):
    """The API that a token opens; the other one refuses it."""

    API = "api", "the API"
    EXECUTOR = "executor", "the executor (gRPC)"


class ApiToken(models.Model):
    """A person's named key for programs. Only its hash is stored, so it cannot be shown again."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="The team that it works as."
    )
    name = models.CharField(max_length=50, help_text="Its purpose, in its owner's words.")
    scope = models.CharField(max_length=8, choices=TokenScope.choices, default=TokenScope.API)
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256 of the token in hex.")
    hint = models.CharField(max_length=8, editable=False, help_text="Its first characters, to recognise it by.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, editable=False, help_text="Exact to some minutes.")
    last_used_address = models.CharField(max_length=45, blank=True, editable=False)

    class Meta:
        verbose_name = "API token"
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def account(self) -> User:
        """The account for which programs act with it: its owner's, or that of a team."""
        return self.owner if self.team is None else self.team.account
