"""Errors in the terms of gRPC: a status code, a sentence, and when to try again."""

from __future__ import annotations

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status

from core.duels.run_requests import KEY_TAKEN, NOT_READY, NOT_YOURS, UNKNOWN
from core.errors import QuotaExceeded, Refused
from core.people.quotas import ACCOUNT_CLOSED

Code = grpc.StatusCode
CODES = {
    UNKNOWN: Code.NOT_FOUND,
    NOT_READY: Code.FAILED_PRECONDITION,
    NOT_YOURS: Code.PERMISSION_DENIED,
    KEY_TAKEN: Code.ALREADY_EXISTS,
    ACCOUNT_CLOSED: Code.PERMISSION_DENIED,
}
"""The statuses of refusals, by their code; every other one is an invalid argument."""
DETAILS = "grpc-status-details-bin"
UNAVAILABLE_SECONDS = 5
"""After which a client may try again when the database or the executor is away."""


class CallEnded(Exception):
    """A call ends with this status. field: of the request; the message begins with it, for simple clients.

    retry_seconds: when to try again, if that makes sense.
    """

    def __init__(
        self, code: grpc.StatusCode, message: str, *, field: str = "", retry_seconds: int | None = None
    ) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.code, self.field, self.retry_seconds = code, field, retry_seconds

    def metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """Return the trailing metadata with google.rpc's details."""
        status = Status(code=self.code.value[0], message=str(self))
        if self.field:
            violation = BadRequest.FieldViolation(field=self.field, description=str(self))
            _add(status, BadRequest(field_violations=[violation]))
        if self.retry_seconds is not None:
            _add(status, RetryInfo(retry_delay=Duration(seconds=self.retry_seconds)))
        return ((DETAILS, status.SerializeToString()),) if status.details else ()


def proto_field(field: str) -> str:
    """Return the name that a field of a run has in the proto file."""
    place, _, part = field.partition(".")
    inner = {"name": ".agent_id", "version": ".docker_image"}.get(part, f".{part}" if part else "")
    names = {"key": "match_id", "seconds": "timeout_sec"}
    return names.get(place, place.replace("players", "agents")) + inner


def ended_by(refusal: Refused) -> CallEnded:
    """Return the status of a refusal."""
    if isinstance(refusal, QuotaExceeded):
        return CallEnded(Code.RESOURCE_EXHAUSTED, str(refusal), retry_seconds=refusal.retry_after_seconds)
    code = CODES.get(refusal.code, Code.INVALID_ARGUMENT)
    return CallEnded(code, str(refusal), field=proto_field(refusal.field or ""))


def unavailable(message: str) -> CallEnded:
    """Return the status of what is away for some seconds."""
    return CallEnded(Code.UNAVAILABLE, message, retry_seconds=UNAVAILABLE_SECONDS)


def _add(status: Status, detail: BadRequest | RetryInfo) -> None:
    packed = Any()
    packed.Pack(detail)
    status.details.append(packed)
