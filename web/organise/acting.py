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
from core.people.audit_log import Changes, Operator, audit_record, operator_of, row_changes, row_values
from web.organise.action import OrganiserAction, OrganiserAnswer, refused, said


def record(request: HttpRequest, action: str, row: Model, note: str = "", changes: Changes | None = None) -> None:
    """Record in the audit log what an organiser does on the site."""
    operator = operator_of(request, AuditEntry.Channel.SITE)
    audit_record(operator=operator, action=action, row=row, note=note, changes=changes)


def act(request: HttpRequest, action: OrganiserAction[Any], rows: Iterable[Model], answer: OrganiserAnswer) -> None:
    """Do an action on each row, and show on the next page what was done or why not."""
    operator = operator_of(request, AuditEntry.Channel.SITE)
    answers: dict[tuple[bool, str], list[Model]] = {}
    for row in rows:
        answers.setdefault(act_on(row, action, answer, operator), []).append(row)
    for (is_done, sentence), concerned in answers.items():
        messages.add_message(request, messages.SUCCESS if is_done else messages.ERROR, said(concerned, sentence))


def act_on(row: Model, action: OrganiserAction[Any], answer: OrganiserAnswer, operator: Operator) -> tuple[bool, str]:
    """Do an action on a row with its entry in the audit log; return whether it was done, and a sentence."""
    before, reason = row_values(row), f" Reason: {answer.reason}" if answer.reason else ""
    # A deleted row loses its key, but the log names it.
    key = row.pk
    try:
        # In one transaction, so that no action is missing from the audit log.
        with transaction.atomic():
            sentence = action.do(row, answer)
            changes = row_changes(row, before)
            row.pk = key
            audit_record(operator=operator, action=action.name, row=row, note=sentence + reason, changes=changes)
            if action.is_told:
                owner_told(by=answer.user, row=row, sentence=sentence, reason=answer.reason)
    except UNDONE as error:
        sentence = refused(error)
        audit_record(operator=operator, action=action.name, row=row, note=sentence + reason)
        return False, sentence
    return True, sentence
