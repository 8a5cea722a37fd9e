"""Tokens, by which programs act for a person."""

from __future__ import annotations

from django.db import models

from core.models.user import User


class ApiToken(models.Model):
    """A named key of a person to the API. Only a hash of it is kept: nobody can read it again."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=50, help_text="What it is for, in its owner's words.")
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256 of the token in hex.")
    hint = models.CharField(max_length=8, editable=False, help_text="How the token begins, to tell it from others.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="None: never.")
    last_used_at = models.DateTimeField(null=True, editable=False, help_text="To the day.")

    class Meta:
        verbose_name = "API token"
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name
