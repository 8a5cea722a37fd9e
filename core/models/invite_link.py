"""Links with which organisers let people create accounts."""

from __future__ import annotations

from django.db import models

from core.models.tournament import Tournament
from core.models.user import User


class InviteLink(models.Model):
    """A link to the sign-up page. It stands in for the invitation code, and may invite to a tournament.

    The row holds no secret: the link is its signed key.
    """

    name = models.CharField(max_length=100, help_text="Who it is for, e.g. a class.")
    team = models.CharField(max_length=100, blank=True, help_text="The team of the new accounts.")
    tournament = models.ForeignKey(
        Tournament,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="invite_links",
        help_text="A tournament that the new accounts are invited to.",
    )
    most_accounts = models.PositiveIntegerField(default=30, help_text="How many accounts it can create.")
    account_count = models.PositiveIntegerField(default=0, editable=False, help_text="How many it has created.")
    expires_at = models.DateTimeField()
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, editable=False, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(account_count__lte=models.F("most_accounts")), name="invite_link_has_room"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_full(self) -> bool:
        return self.account_count >= self.most_accounts
