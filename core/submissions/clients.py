"""Submissions of clients that name an environment and their own id instead of an agent: each creates an agent."""

from __future__ import annotations

import re
import uuid

from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from core.errors import QuotaExceeded, Refused
from core.models import Agent, Environment, Submission, User
from core.monitoring.metrics import upload_refused
from core.people.quotas import ACCOUNT_CLOSED, address_digest
from core.people.services import anonymous_ensure
from core.submissions.services import Labels, agent_create, submission_repeat

CLIENT_ID_TAKEN = "client_id_taken"
ALGORITHM_CHARACTERS = 17
"""Length of the algorithm's part of an agent's name, which leaves room for a whole id."""
ID_CHARACTERS = 8


def client_submit(
    *,
    owner: User | None,
    environment: Environment,
    archive: UploadedFile[bytes],
    algorithm: str,
    user_label: str,
    public_id: uuid.UUID | None,
    is_script: bool,
    address: str = "",
    mode: str,
) -> Submission:
    """Submit for an account, or anonymously for None; the same archive under the same id is the same submission.

    address: of an anonymous client, whose quota is counted by a hash of it. user_label: the name that an anonymous
    client gives; ignored with an account, so that accounts cannot be imitated. mode: as in Labels. Raises Refused,
    with the code CLIENT_ID_TAKEN when another submission has the id.
    """
    is_anonymous = owner is None
    owner = anonymous_ensure() if owner is None else owner
    if not owner.is_active:
        raise Refused("Anonymous submissions are closed at the moment.")
    known = _find(public_id)
    if known is not None:
        return _repeat(known, owner, environment, archive)
    labels = Labels(algorithm, user_label if is_anonymous else "", public_id or uuid.uuid4(), mode)
    try:
        return agent_create(
            owner=owner,
            environment=environment,
            name=_agent_name(environment, labels),
            is_public=False,
            archive=archive,
            labels=labels,
            is_script=is_script,
            address_digest=address_digest(address, now=timezone.now()) if is_anonymous else "",
        )
    except QuotaExceeded:
        raise
    except Refused:
        # The client may have sent the same submission twice at once.
        known = _find(public_id)
        if known is None:
            raise
        return _repeat(known, owner, environment, archive)


def _find(public_id: uuid.UUID | None) -> Submission | None:
    if public_id is None:
        return None
    return Submission.objects.filter(public_id=public_id).select_related("agent").first()


def _repeat(known: Submission, owner: User, environment: Environment, archive: UploadedFile[bytes]) -> Submission:
    try:
        if (known.agent.owner_id, known.agent.environment_id) != (owner.pk, environment.pk):
            raise Refused("It belongs to another account or another environment.")
        return submission_repeat(submission=known, archive=archive)
    except Refused as refusal:
        if refusal.code == ACCOUNT_CLOSED:
            raise
        upload_refused(CLIENT_ID_TAKEN)
        raise Refused(
            f"client_id {known.public_id} belongs to another submission. Choose a new one, or leave it out.",
            field="client_id",
            code=CLIENT_ID_TAKEN,
        ) from None


def _agent_name(environment: Environment, labels: Labels) -> str:
    """Return the algorithm's name with as much of the id as makes it unique."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", labels.algorithm).strip("-")[:ALGORITHM_CHARACTERS].rstrip("-") or "agent"
    digits = labels.public_id.hex if labels.public_id else ""
    short = f"{word}-{digits[:ID_CHARACTERS]}"
    is_taken = Agent.objects.filter(environment=environment, name__iexact=short).exists()
    return f"{word}-{digits}" if is_taken else short
