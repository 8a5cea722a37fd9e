"""Does an action of an organiser on rows, and records it in the audit log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest

from core.errors import Refused
from core.jobs.states import IllegalTransition, StaleJob
from core.models import ApiToken, AuditEntry, User
from core.people.access import access_told
from core.people.audit_log import Changes, audit_record, operator_of, row_changes, row_values
from web.organise.action import OrganiserAction, OrganiserAnswer, refused, said

AnyUser = User | AnonymousUser


def record(request: HttpRequest, action: str, row: Model, note: str = "", changes: Changes | None = None) -> None:
    """Record in the audit log what an organiser does on the site."""
    operator = operator_of(request, AuditEntry.Channel.SITE)
    audit_record(operator=operator, action=action, row=row, note=note, changes=changes)


def tell(operator: AnyUser, row: Model, sentence: str) -> None:
    """Tell the owner of an account what an organiser did to it. sentence: with the row as its subject."""
    owner = row if isinstance(row, User) else row.owner if isinstance(row, ApiToken) else None
    if owner is not None and owner.pk != operator.pk:
        what = "Your account" if isinstance(row, User) else f"Your API token {row}"
        title = f"{what} {sentence.rstrip('.')}"
        access_told(user=owner, title=title, text=f"{title}. An organiser did this; ask them if you wonder why.")


def act(request: HttpRequest, action: OrganiserAction[Any], rows: Iterable[Model], answer: OrganiserAnswer) -> None:
    """Do an action on each row, and show on the next page what was done or why not."""
    answers: dict[tuple[int, str], list[Model]] = {}
    for row in rows:
        answers.setdefault(_act(request, action, row, answer), []).append(row)
    for (level, sentence), concerned in answers.items():
        messages.add_message(request, level, said(concerned, sentence))


def _act(request: HttpRequest, action: OrganiserAction[Any], row: Model, answer: OrganiserAnswer) -> tuple[int, str]:
    """Do an action on a row with its entry in the audit log; return the level and the sentence of its message."""
    before, reason = row_values(row), f" Reason: {answer.reason}" if answer.reason else ""
    # A deleted row loses its key, but the log names it.
    key = row.pk
    try:
        # In one transaction, so that no action is missing from the audit log.
        with transaction.atomic():
            sentence = action.do(row, answer)
            changes = row_changes(row, before)
            row.pk = key
            record(request, action.name, row, sentence + reason, changes)
            tell(request.user, row, sentence)
    except (Refused, IllegalTransition, StaleJob) as error:
        sentence = refused(error)
        record(request, action.name, row, sentence + reason)
        return messages.ERROR, sentence
    return messages.SUCCESS, sentence
