"""Does what one person does to another's things in one transaction with its audit entry and the notice to its owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest

from core.errors import Refused
from core.jobs.states import IllegalTransition, StaleJob
from core.links import agent_address, page
from core.models import (
    Agent,
    ApiToken,
    AuditEntry,
    Batch,
    Build,
    Evaluation,
    Rollout,
    Submission,
    Task,
    User,
    Validation,
)
from core.people.access import BY_ORGANISER, access_told
from core.people.audit_log import audit_record, operator_of

UNDONE = (Refused, IllegalTransition, StaleJob)
"""The errors with which an act is not done, and is written down as refused."""


@contextmanager
def acting(
    request: HttpRequest,
    *,
    action: str,
    row: Model,
    sentence: str,
    channel: AuditEntry.Channel = AuditEntry.Channel.SITE,
    even_own: bool = False,
) -> Iterator[None]:
    """Do something to a thing in one transaction with its entry in the audit log and the notice to its owner.

    What people do to their own things needs neither. sentence: what is done, with the row as its subject. even_own:
    whether one's own thing needs the entry too, e.g. because boards depend on it.
    """
    owner = owner_of(row)
    is_own = owner is not None and owner.pk == request.user.pk and not even_own
    operator = operator_of(request, channel)
    try:
        with transaction.atomic():
            yield
            if not is_own:
                audit_record(operator=operator, action=action, row=row)
                owner_told(by=request.user, row=row, sentence=sentence)
    except UNDONE as refusal:
        if not is_own:
            audit_record(operator=operator, action=action, row=row, note=f"nothing was done. {refusal}")
        raise


def owner_of(row: Model) -> User | None:
    """Return the person to whom a thing belongs; None for what belongs to all, or to two."""
    match row:
        case User():
            return row
        case Agent() | ApiToken() | Batch():
            return row.owner
        case Submission():
            return row.agent.owner
        case Build() | Validation() | Evaluation():
            return row.submission.agent.owner
        case Rollout():
            return row.batch.owner
        case Task():
            return row.member
    return None


def owner_told(*, by: User | AnonymousUser, row: Model, sentence: str, reason: str = "") -> None:
    """Tell the owner of a thing what another person did to it. sentence: with the row as its subject."""
    owner = owner_of(row)
    if owner is None or owner.pk == by.pk:
        return
    kind = "version" if isinstance(row, Submission) else row._meta.verbose_name
    is_account = isinstance(row, User) and not row.is_team
    what = "Your account" if is_account else f"Your {'team' if isinstance(row, User) else kind} {_name(row)}"
    title = f"{what} {sentence.rstrip('.')}"
    because = f" Reason: {reason.rstrip('.')}." if reason else ""
    text = f"{title}.{because} {BY_ORGANISER}"
    access_told(user=owner, title=title, text=text, address=_address(row))


def _name(row: Model) -> str:
    """Return a row's name without its kind, with which the names of some rows begin."""
    return str(row).removeprefix(f"{row._meta.verbose_name} ")


def _address(row: Model) -> str:
    match row:
        case Agent():
            return agent_address(row)
        case Submission():
            return agent_address(row.agent)
        case Build() | Validation() | Evaluation():
            return agent_address(row.submission.agent)
        case Batch():
            return page("batch", row.public_id)
        case Rollout():
            return page("batch", row.batch.public_id)
    return page("sessions")
