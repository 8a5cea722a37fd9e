"""Does an action of an organiser on rows, and records it in the audit log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest

from core.models import AuditEntry
from core.people.acting import UNDONE, owner_told
from core.people.audit_log import Changes, audit_record, operator_of, row_changes, row_values
from web.organise.action import OrganiserAction, OrganiserAnswer, refused, said


def record(request: HttpRequest, action: str, row: Model, note: str = "", changes: Changes | None = None) -> None:
    """Record in the audit log what an organiser does on the site."""
    operator = operator_of(request, AuditEntry.Channel.SITE)
    audit_record(operator=operator, action=action, row=row, note=note, changes=changes)


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
            if action.is_told:
                owner_told(by=request.user, row=row, sentence=sentence, reason=answer.reason)
    except UNDONE as error:
        sentence = refused(error)
        record(request, action.name, row, sentence + reason)
        return messages.ERROR, sentence
    return messages.SUCCESS, sentence
