"""All that the arena keeps of a person, as one file."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from collections.abc import Iterator
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.core.cache import cache
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q, QuerySet

from core.errors import Refused
from core.models import (
    AccountEvent,
    Agent,
    Analysis,
    Announcement,
    ApiToken,
    AuditEntry,
    Batch,
    Challenge,
    Duel,
    EnvironmentTrial,
    Evaluation,
    Extension,
    MarkByHand,
    Notice,
    NoticeChoice,
    Package,
    Registration,
    Rollout,
    Run,
    Sitting,
    SittingMove,
    Submission,
    Task,
    TaskFile,
    TaskSet,
    User,
)
from core.models.quota import QUOTA_FIELDS
from core.rollouts.permissions import rollouts_visible

COPY_BYTES = 1 << 20
OPEN_SECONDS = 900.0
"""Time after which an export that was never closed no longer stands in the way of the next."""
ACCOUNT = (
    "username",
    "first_name",
    "email",
    "email_confirmed_at",
    "team",
    "github",
    "date_joined",
    "last_login",
    "is_staff",
    "is_superuser",
    "ban_reason",
    "is_quota_exempt",
    *QUOTA_FIELDS,
)
Parts = dict[str, tuple[QuerySet[Any], tuple[str, ...]]]


class AccountExport:
    """A ZIP in parts: `account.json` with the rows of a person, and the archives of their versions.

    It is never in memory or on the disk as a whole. No secret is among the rows: tokens, passwords and the keys of
    second factors open the account. Raises Refused while another export of the person is open; `close` ends it.
    """

    def __init__(self, user: User) -> None:
        self._user, self._key = user, f"export:{user.pk}"
        # The key expires by itself, for a process that dies while it sends.
        self._mark = uuid.uuid4().hex
        if not cache.add(self._key, self._mark, OPEN_SECONDS):
            raise Refused("Your data is being sent already. Wait until that file is complete, then ask again.")

    def __iter__(self) -> Iterator[bytes]:
        sent = _Sent()
        with zipfile.ZipFile(sent, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("account.json", json.dumps(account_data(self._user), cls=DjangoJSONEncoder, indent=2))
            yield sent.taken()
            for name, submission in _archives(self._user):
                # Archives are compressed already.
                info = zipfile.ZipInfo(name, submission.created_at.timetuple()[:6])
                with packed.open(info, "w", force_zip64=True) as copy, submission.archive.open("rb") as archive:
                    while part := archive.read(COPY_BYTES):
                        copy.write(part)
                        yield sent.taken()
        yield sent.taken()

    def close(self) -> None:
        # After OPEN_SECONDS another export may have begun.
        if cache.get(self._key) == self._mark:
            cache.delete(self._key)


class _Sent(io.RawIOBase):
    """A file that keeps what is written until it is taken; a ZIP can be written to it, because it cannot seek."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        whole = b"".join(self._parts)
        self._parts.clear()
        return whole


def account_data(user: User) -> dict[str, Any]:
    """Return the rows of a person by what they are, each with the values that tell about the person."""
    account = {name: getattr(user, name) for name in ACCOUNT}
    return {"account": account} | {
        name: list(rows.order_by("pk").values(*fields)) for name, (rows, fields) in account_parts(user).items()
    }


def account_parts(user: User) -> Parts:
    """Return the rows of a person by what they are, each kind with the names of its values."""
    agents = Agent.every.filter(owner=user)
    versions = Submission.objects.filter(agent__owner=user)
    mine = Duel.objects.filter(player_1__agent__owner=user) | Duel.objects.filter(player_2__agent__owner=user)
    return {
        "email_addresses": (EmailAddress.objects.filter(user=user), ("email", "verified", "primary")),
        "second_factors": (Authenticator.objects.filter(user=user), ("type", "created_at", "last_used_at")),
        "logins_of_providers": (
            SocialAccount.objects.filter(user=user),
            ("provider", "uid", "extra_data", "date_joined", "last_login"),
        ),
        "api_tokens": (
            ApiToken.objects.filter(owner=user),
            ("name", "scope", "hint", "created_at", "expires_at", "last_used_at", "last_used_address"),
        ),
        "sessions": (
            UserSession.objects.filter(user=user),
            ("ip", "user_agent", "created_at", "last_seen_at"),
        ),
        "logins_and_changes": (
            AccountEvent.objects.filter(user=user),
            ("at", "action", "method", "is_refused", "address", "device"),
        ),
        "agents": (agents, ("environment__slug", "name", "description", "is_public", "shares_moves", "created_at")),
        "versions": (
            versions,
            (
                "agent__environment__slug",
                "agent__name",
                "number",
                "algorithm",
                "archive_bytes",
                "created_at",
                "deleted_at",
            ),
        ),
        "registrations": (
            Registration.objects.filter(agent__owner=user),
            ("tournament__environment__slug", "tournament__edition", "agent__name"),
        ),
        "duels": (
            mine.distinct(),
            (
                "pk",
                "player_1__agent__environment__slug",
                "player_1__agent__name",
                "player_2__agent__name",
                "state",
                "ended_at",
            ),
        ),
        "evaluations": (
            Evaluation.objects.filter(submission__agent__owner=user),
            (
                "pk",
                "environment__slug",
                "submission__agent__name",
                "submission__number",
                "state",
                "score",
                "ended_at",
            ),
        ),
        "batches": (
            Batch.objects.filter(owner=user),
            ("public_id", "environment__slug", "agent_kind", "agent_config", "attempts", "note", "created_at"),
        ),
        "rollouts": (
            # For the board a version works at hidden tasks as well.
            rollouts_visible(Rollout.objects.filter(batch__owner=user), user),
            (
                "public_id",
                "batch__public_id",
                "task__key",
                "task__member__username",
                "state",
                "outcome",
                "score",
                "ended_at",
            ),
        ),
        "challenges": (Challenge.objects.filter(user=user), ("pk", "kind", "created_at", "ended_at")),
        "sittings": (
            Sitting.objects.filter(user=user),
            ("public_id", "persons_seat", "outcome", "is_helped", "created_at"),
        ),
        "moves_in_sittings": (
            SittingMove.objects.filter(sitting__user=user),
            ("sitting__public_id", "step", "seat", "action", "seconds"),
        ),
        "analyses": (
            Analysis.objects.filter(asked_by=user),
            ("duel", "sitting__public_id", "match_number", "created_at"),
        ),
        "notices": (
            Notice.objects.filter(user=user),
            ("kind", "title", "text", "address", "created_at", "read_at", "mailed_at"),
        ),
        "choices_of_notices": (NoticeChoice.objects.filter(user=user), ("kind", "in_inbox", "by_mail")),
        "courses": (
            user.memberships.all(),
            ("course__slug", "course__name", "role", "team__account__username", "joined_at"),
        ),
        "marks_by_hand": (
            MarkByHand.objects.filter(user=user),
            ("assignment__course__slug", "assignment__name", "marks", "reason", "set_at"),
        ),
        "extensions": (
            Extension.objects.filter(Q(member__user=user) | Q(removed=user)),
            ("assignment__course__slug", "assignment__name", "due_at"),
        ),
        "former_teams": (user.former_teams.all(), ("course__slug", "team__account__username", "left_at")),
        "announcements": (
            Announcement.objects.filter(written_by=user),
            ("course__slug", "title", "text", "created_at"),
        ),
        "invitations": (user.invitations.all(), ("environment__slug", "edition", "name")),
        "runs": (
            Run.objects.filter(caller=user),
            ("key", "player_1_name", "player_2_name", "player_words", "created_at"),
        ),
        "packages": (
            Package.objects.filter(uploaded_by=user),
            ("environment__slug", "number", "archive_bytes", "note", "created_at"),
        ),
        "folders_of_environments": (
            EnvironmentTrial.objects.filter(uploaded_by=user),
            ("slug", "version", "created_at", "live_at"),
        ),
        "tasks": (
            Task.objects.filter(file__uploaded_by=user),
            ("environment__slug", "key", "revision", "definition", "created_at"),
        ),
        "task_files": (TaskFile.objects.filter(uploaded_by=user), ("environment__slug", "report", "created_at")),
        "tasks_of_boards": (TaskSet.objects.filter(chosen_by=user), ("environment__slug", "number", "created_at")),
        "audit_log": (
            AuditEntry.objects.filter(operator_id=user.pk),
            ("at", "channel", "address", "action", "model", "object_name", "note"),
        ),
    }


def _archives(user: User) -> Iterator[tuple[str, Submission]]:
    """Yield the kept archives of a person with their names in the ZIP."""
    rows = Submission.objects.filter(agent__owner=user, deleted_at=None).select_related("agent__environment")
    for row in rows.order_by("pk").iterator():
        if row.archive:
            yield f"versions/{row.agent.environment.slug}/{row.agent.name}/{row.number}.zip", row
