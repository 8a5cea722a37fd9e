"""Deletes accounts at the wish of their owners.

Ratings, duels and the names of agents stay, because they are part of others' history; names that contain the person's
are replaced. They belong to an account without a name then, which nothing opens.
"""

from __future__ import annotations

import secrets

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt
from django.contrib.auth.hashers import make_password
from django.db import transaction

from core.courses.teams import member_move
from core.errors import Refused
from core.models import AccountEvent, Agent, Letter, Notice, NoticeChoice, Run, Submission, User
from core.models.user import NOWHERE
from core.moderation.services import user_ban
from core.people.access import access_end
from core.submissions.existing import submission_delete
from core.submissions.naming import agents_forget

NAME = "deleted"


def account_delete(*, user: User) -> None:
    """Close an account for good: delete its versions and all that tells who owned it.

    Organisers keep their entries in the audit log. Raises Refused for accounts of anonymous submissions and teams, and
    for the last superuser.
    """
    with transaction.atomic():
        superusers = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
        if user.is_system or [row.pk for row in superusers] == [user.pk]:
            raise Refused("This is the only account that can change everything. Give these rights to another first.")
        if user.is_team:
            raise Refused("A team stays as long as its results. Ban it, or move its people on the page of its course.")
        for member in user.memberships.all():
            member_move(member=member, team=None)
        if user.is_active:
            user_ban(user=user, reason="")
        for submission in Submission.objects.filter(agent__owner=user, deleted_at=None).order_by("agent", "pk"):
            submission_delete(submission=submission)
        Agent.objects.filter(owner=user).update(description="")
        agents_forget(owner=user)
        Run.objects.filter(caller=user).update(player_words=[])
        Letter.objects.filter(email__iexact=user.email).delete()
        AccessAttempt.objects.filter(username=user.email.casefold()).delete()
        for kind in (EmailAddress, Authenticator, SocialAccount, AccountEvent, Notice, NoticeChoice):
            kind.objects.filter(user=user).delete()
        access_end(user=user)
        UserSession.objects.filter(user=user).delete()
        _nameless(user)


def _nameless(user: User) -> None:
    """Replace all that an account says of its owner. The new name is random, so it is free."""
    row = User.objects.get(pk=user.pk)
    row.username = f"{NAME}-{secrets.token_hex(4)}"
    row.email = f"{row.username}{NOWHERE}"
    row.email_confirmed_at = None
    row.password = make_password(None)
    row.team = row.github = row.first_name = row.last_name = row.ban_reason = ""
    row.is_staff = row.is_superuser = False
    row.last_login = None
    row.save()
    for rows in (row.groups, row.user_permissions, row.invitations):
        rows.clear()
