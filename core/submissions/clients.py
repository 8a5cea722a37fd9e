"""Submissions of clients that name an environment and their own id instead of an agent: each creates an agent."""

from __future__ import annotations

import re
import uuid

from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from core.environments.additions import environment_add, environment_candidate
from core.errors import QuotaExceeded, Refused
from core.models import Agent, Environment, Submission, User
from core.monitoring.metrics import refusals_counted, upload_refused
from core.people.quotas import ACCOUNT_CLOSED, address_digest, quota_check
from core.people.services import anonymous_ensure
from core.submissions.services import Labels, agent_create, submission_repeat
from core.submissions.uploads import upload_compile, upload_look

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
    owner = _sender(owner)
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


def client_environment(
    *,
    owner: User | None,
    env_id: str,
    archive: UploadedFile[bytes],
    public_id: uuid.UUID | None,
    is_script: bool,
    address: str = "",
) -> Environment:
    """Add the environment that a submission is the first for; arguments as for `client_submit`.

    Everything that may refuse the submission comes before the environment is tried, and a refused one leaves no row.
    Raises Refused.
    """
    sender, now = _sender(owner), timezone.now()
    if _find(public_id) is not None:
        raise _taken(public_id)
    digest = "" if owner else address_digest(address, now=now)
    with refusals_counted():
        candidate = environment_candidate(env_id=env_id)
        upload = upload_look(archive=archive, environment=candidate, is_script=is_script)
        # Without a lock: it is checked again, under one, when the submission is made.
        quota_check(
            owner=sender,
            environment=candidate,
            archive_bytes=upload.size,
            makes_agent=True,
            address_digest=digest,
            now=now,
        )
        upload_compile(upload=upload, sender=f"{sender.pk} {digest}", tell=lambda _: None)
        return environment_add(env_id=env_id)


def _sender(owner: User | None) -> User:
    """Return the account that a submission will belong to. Raises Refused when it is closed."""
    found = anonymous_ensure() if owner is None else owner
    if not found.is_active:
        raise Refused("Anonymous submissions are closed at the moment.")
    return found


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
        raise _taken(known.public_id) from None


def _taken(public_id: uuid.UUID | None) -> Refused:
    upload_refused(CLIENT_ID_TAKEN)
    return Refused(
        f"client_id {public_id} belongs to another submission. Choose a new one, or leave it out.",
        field="client_id",
        code=CLIENT_ID_TAKEN,
    )


def _agent_name(environment: Environment, labels: Labels) -> str:
    """Return the algorithm's name with as much of the id as makes it unique."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", labels.algorithm).strip("-")[:ALGORITHM_CHARACTERS].rstrip("-") or "agent"
    digits = labels.public_id.hex if labels.public_id else ""
    short = f"{word}-{digits[:ID_CHARACTERS]}"
    is_taken = Agent.objects.filter(environment=environment, name__iexact=short).exists()
    return f"{word}-{digits}" if is_taken else short
