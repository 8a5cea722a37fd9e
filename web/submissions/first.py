"""The environment of a submission that is the first for it."""

from __future__ import annotations

from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from rest_framework.request import Request

from core.errors import QuotaExceeded
from core.models import Environment
from core.submissions.clients import client_environment
from web.site.accounts import account_of
from web.site.addresses import client_network
from web.site.throttling import EnvironmentThrottle


def environment_first(
    request: HttpRequest | Request,
    *,
    env_id: str,
    archive: UploadedFile[bytes],
    is_script: bool = False,
    public_id: UUID | None = None,
) -> Environment:
    """Add the environment that a submission is the first for; arguments as for `client_submit`. Raises Refused."""
    throttle = EnvironmentThrottle()
    if not throttle.allow(request):
        seconds = throttle.seconds_left()
        raise QuotaExceeded(throttle.sentence, code="too_many_requests", retry_after_seconds=seconds)
    return client_environment(
        owner=account_of(request),
        env_id=env_id,
        archive=archive,
        public_id=public_id,
        is_script=is_script,
        address=client_network(request) or "",
    )
