"""Notices to people: in their inbox on the site, and by mail."""

from __future__ import annotations

from django.db import models

from core.models.user import User


class NoticeKind(models.TextChoices):
    """The kind of a notice, as the settings page of a user names it."""

    VALIDATED = "VALIDATED", "A version of yours is ready to play"
    VALIDATION = "VALIDATION", "A version of yours fails before it may play"
    EVALUATED = "EVALUATED", "A version of yours has its score"
    QUARANTINE = "QUARANTINE", "An agent of yours is paused for crashing"
    PROMOTION_DECIDED = "PROMOTION_DECIDED", "A new version has been tested against the one in play"
    TOURNAMENT_OPEN = "TOURNAMENT_OPEN", "Agents of yours may register for a tournament"
    TOURNAMENT_INVITED = "TOURNAMENT_INVITED", "You are invited to a tournament"
    TOURNAMENT_STARTED = "TOURNAMENT_STARTED", "A tournament of yours begins"
    TOURNAMENT_ENDED = "TOURNAMENT_ENDED", "A tournament of yours is over"
    OVERTAKEN = "OVERTAKEN", "An agent of yours is overtaken"
    CHALLENGE_ENDED = "CHALLENGE_ENDED", "A challenge of yours is over"
    ANNOUNCEMENT = "ANNOUNCEMENT", "News of a course of yours"
    ACCESS = "ACCESS", "The ways to log in to your account have changed"


class Notice(models.Model):
    """One message to one person, in the inbox, by mail, or both, as the person has chosen."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=20, choices=NoticeKind.choices)
    title = models.CharField(max_length=200)
    text = models.TextField()
    address = models.CharField(max_length=200, blank=True, help_text="Path of the page that shows more.")
    about = models.CharField(
        max_length=60, blank=True, help_text="Subject of a frequent notice; a new one replaces an unread one."
    )
    agent = models.ForeignKey(
        "core.Agent", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", help_text="Whom it is about."
    )
    rival = models.ForeignKey(
        "core.Agent", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", help_text="Whom to challenge."
    )
    in_inbox = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)
    mail_next_at = models.DateTimeField(
        null=True, editable=False, help_text="Time of the next attempt to mail it; empty if no mail is due."
    )
    mail_attempt = models.PositiveIntegerField(default=0, editable=False, help_text="Number of attempts to mail it.")
    mail_error = models.CharField(max_length=200, blank=True, editable=False, help_text="Error of the last attempt.")
    mailed_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["user", "-id"], condition=models.Q(in_inbox=True), name="notice_inbox"),
            models.Index(fields=["user"], condition=models.Q(in_inbox=True, read_at=None), name="notice_unread"),
            models.Index(
                fields=["mail_next_at"], condition=models.Q(mail_next_at__isnull=False), name="notice_to_mail"
            ),
            models.Index(fields=["user", "kind", "about"], name="notice_about"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(mailed_at=None) | models.Q(mail_next_at=None), name="notice_is_mailed_once"
            )
        ]

    def __str__(self) -> str:
        return self.title


class NoticeChoice(models.Model):
    """A person's choice of inbox and mail for one kind of notice. The default is in `core.notices.services`."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notice_choices")
    kind = models.CharField(max_length=20, choices=NoticeKind.choices)
    in_inbox = models.BooleanField()
    by_mail = models.BooleanField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "kind"], name="notice_choice_unique")]

    def __str__(self) -> str:
        return f"{self.user}: {self.kind}"
