"""Whatever goes wrong is answered in JSON: {"detail": a sentence}, or a list of sentences for each field."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import status
from rest_framework.exceptions import APIException, NotAuthenticated, NotFound, ParseError, PermissionDenied
from rest_framework.response import Response
from rest_framework.views import exception_handler

from core.duels.selectors import NotKept, NotPlayed, NotStored
from core.errors import QuotaExceeded, Refused
from core.tournaments.results import HeldBack
from web.api.authentication import HOW_TO_GET_ONE
from web.api.parsers import TOO_LARGE

NOTHING_HERE = "There is nothing here. /api/docs lists every address."


class Conflict(APIException):
    """It cannot be done as things are."""

    status_code = status.HTTP_409_CONFLICT
    default_detail = "This cannot be done at the moment."
    default_code = "conflict"


class QuotaReached(APIException):
    """An upload is more than its owner may use. 429 where waiting helps, 409 where something has to be deleted.

    An archive that is too large is a bad request, as it is where the site itself takes none so large.
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
    """What is asked for was there, and is not kept any longer."""

    status_code = status.HTTP_410_GONE
    default_code = "gone"


def to_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer to an error; None lets it through to the log and the answer of the site."""
    match error:
        case NotAuthenticated():
            # With the header that says how: it is the view that knows it.
            error.detail = type(error.detail)(HOW_TO_GET_ONE) if isinstance(error.detail, str) else error.detail
        case HeldBack():
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
    """For every address under /api/ that is none."""
    return JsonResponse({"detail": NOTHING_HERE}, status=404)
