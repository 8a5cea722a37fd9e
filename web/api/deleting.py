"""Deleting a submission, by its owner, or by an organiser with an entry in the audit log."""

from __future__ import annotations

from django.db import transaction
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from core.models import AuditEntry, Submission, User
from core.people.audit_log import audit_record, operator_of
from core.people.rights import may
from core.submissions.existing import submission_delete


def delete(request: Request, account: User, submission: Submission) -> None:
    """Delete archive and image; do nothing if they are already deleted. Raises PermissionDenied."""
    is_own = submission.agent.owner_id == account.pk
    if not is_own and not may(account, "core.change_submission"):
        raise PermissionDenied("Only the owner of a submission may delete it.")
    if submission.deleted_at is not None:
        return
    # In one transaction, so that no deletion is missing from the audit log.
    with transaction.atomic():
        submission_delete(submission=submission)
        if not is_own:
            operator = operator_of(request, AuditEntry.Channel.API)
            audit_record(operator=operator, action="delete_archives", row=submission)
