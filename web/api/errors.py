"""Errors as JSON: {"detail": a sentence}, or a list of sentences for each field."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import status
from rest_framework.exceptions import (
    APIException,
    ErrorDetail,
    NotAuthenticated,
    NotFound,
    ParseError,
    PermissionDenied,
    Throttled,
)
from rest_framework.response import Response
from rest_framework.views import exception_handler

from core.duels.selectors import NotKept, NotPlayed, NotStored
from core.errors import QuotaExceeded, Refused
from core.tournaments.results import Withheld
from web.api.authentication import HOW_TO_GET_ONE
from web.api.parsers import TOO_LARGE
from web.site.throttling import Throttle

NOTHING_HERE = "This address does not exist. /api/docs lists every address."


class Conflict(APIException):
    """The current state does not allow the request."""

    status_code = status.HTTP_409_CONFLICT
    default_detail = "This is not possible at the moment."
    default_code = "conflict"


class QuotaReached(APIException):
    """An upload exceeds a quota: 429 if waiting helps, 409 if the owner has to delete something first.

    An archive above the quota's size is a 400, like one above the site's own limit.
    """

    def __init__(self, refusal: QuotaExceeded) -> None:
        super().__init__({"detail": str(refusal), "code": refusal.code})
        self.wait = refusal.retry_after_seconds
        if self.wait is not None:
            self.status_code = status.HTTP_429_TOO_MANY_REQUESTS
        elif refusal.code == "quota_upload_bytes":
            self.status_code = status.HTTP_400_BAD_REQUEST
        else:
            self.status_code = status.HTTP_409_CONFLICT


class Gone(APIException):
    """The data existed but is no longer stored."""

    status_code = status.HTTP_410_GONE
    default_code = "gone"


def to_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the answer to an error; None passes it on to the site's own handling, which logs it."""
    match error:
        case NotAuthenticated():
            # The original exception is kept because the view has put the WWW-Authenticate header into it.
            error.detail = type(error.detail)(HOW_TO_GET_ONE) if isinstance(error.detail, str) else error.detail
        case Throttled() if (limit := Throttle.refused(context["request"]._request)) is not None:
            error.detail = {"detail": ErrorDetail(limit.refusal()), "code": ErrorDetail("too_many_requests")}
        case Withheld():
            error = PermissionDenied(str(error))
        case NotPlayed():
            error = Conflict(str(error))
        case NotKept():
            error = Gone(str(error))
        case NotStored():
            error = NotFound(str(error))
        case QuotaExceeded():
            error = QuotaReached(error)
        case Refused():
            error = ParseError(str(error))
        case TooManyFilesSent() | TooManyFieldsSent():
            error = ParseError("The form has too many parts. Send fewer files, or a zip of them.")
        case RequestDataTooBig():
            error = ParseError(TOO_LARGE)
        case SuspiciousOperation():
            error = ParseError("The request is malformed.")
    return exception_handler(error, context)


@csrf_exempt
def not_found(request: HttpRequest) -> JsonResponse:
    """Answer 404 in JSON for every unknown address under /api/."""
    return JsonResponse({"detail": NOTHING_HERE}, status=404)
