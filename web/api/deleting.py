"""Deleting a submission, by its owner, or by an organiser with an entry in the audit log."""

from __future__ import annotations

from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from core.models import AuditEntry, Submission, User
from core.people.acting import acting
from core.people.rights import may
from core.submissions.existing import submission_delete


def delete(request: Request, account: User, submission: Submission) -> None:
    """Delete archive and image; do nothing if they are already deleted. Raises PermissionDenied."""
    if submission.agent.owner_id != account.pk and not may(account, "core.change_submission"):
        raise PermissionDenied("Only the owner of a submission may delete it.")
    if submission.deleted_at is not None:
        return
    channel, sentence = AuditEntry.Channel.API, "is deleted; its results stay"
    with acting(request, action="delete_archives", row=submission, sentence=sentence, channel=channel):
        submission_delete(submission=submission)
