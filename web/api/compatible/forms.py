"""Requests of the compatible API: the fields, and the error sentences that clients know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.exceptions import APIException, ParseError
from rest_framework.request import Request

from arena_kit.upload.packing import base_name, pack_script
from core.courses.sight import Viewer
from core.environments.additions import addable_ids, may_be_added
from core.evaluations.board import environments_with_boards
from core.models import Environment
from core.monitoring.metrics import BAD_FORM
from core.monitoring.metrics import NO_FILE as NO_FILE_REASON
from core.submissions.client_selectors import scored_environment
from web.site.requests import viewer_of
from web.site.uploads import archive_upload, too_large

DEFAULT_ENVIRONMENT = "CartPole-v1"
BAD_CLIENT_ID = "client_id must be a valid UUID"
NO_FILE = "Please upload at least one Python file"
BAD_FILE = "Invalid file in upload"
NO_PYTHON = "At least one Python (.py) file is required when uploading multiple files"
NO_SUCH_MAIN_FILE = "main_file must match one of the uploaded file names"
NO_MAIN_FILE = "main_file is required when uploading multiple files"
MAIN_FILE_NOT_PYTHON = "main_file must be a Python (.py) file"
NOT_PYTHON = "Only Python scripts allowed"
NO_CONTENT = (
    "JSON needs the source of the script as content, because agent_file is only a name. Or send the file as "
    "multipart/form-data."
)
MOST_CONTENT_BYTES = 1 << 20
REASONS = {
    BAD_CLIENT_ID: "bad_client_id",
    NO_FILE: NO_FILE_REASON,
    BAD_FILE: "empty_filename",
    NO_PYTHON: "no_py",
    NO_SUCH_MAIN_FILE: "unknown_main",
    NO_MAIN_FILE: "missing_main",
    MAIN_FILE_NOT_PYTHON: "main_not_py",
    NOT_PYTHON: "not_py",
    NO_CONTENT: NO_FILE_REASON,
}
"""Labels of the errors in the metrics, mostly those of the older systems."""


class SubmitRequest(serializers.Serializer[Any]):
    """A script; or several files, of which `main_file` is run as submission.py; or a zip as on the site."""

    file = serializers.FileField(required=False, help_text="A Python script, or a zip with player.py or submission.py.")
    files = serializers.ListField(
        child=serializers.FileField(allow_empty_file=True), required=False, help_text="Several files."
    )
    main_file = serializers.CharField(required=False, help_text="The one of several files that is run.")
    env_id = serializers.CharField(required=False, default=DEFAULT_ENVIRONMENT)
    algorithm = serializers.CharField(required=False, default="Custom", max_length=100)
    user_id = serializers.CharField(
        required=False,
        default="anonymous",
        max_length=100,
        help_text="The name you go by; also as `name`. Ignored if you send a token.",
    )
    client_id = serializers.UUIDField(
        required=False, help_text="Your own id. Sending the same files again with it gives the same submission."
    )


class SubmitText(serializers.Serializer[Any]):
    """A script as a text."""

    content = serializers.CharField(help_text="The source of the script, at most 1 MiB.")
    agent_file = serializers.CharField(required=False, default="submission.py", help_text="Its file name.")
    env_id = serializers.CharField(required=False, default=DEFAULT_ENVIRONMENT)
    algorithm = serializers.CharField(required=False, default="Custom", max_length=100)
    user_id = serializers.CharField(required=False, default="anonymous", max_length=100)
    client_id = serializers.UUIDField(required=False)


class SubmitLabels(serializers.Serializer[Any]):
    """Validates the text fields of a submission."""

    env_id = serializers.CharField(default=DEFAULT_ENVIRONMENT, max_length=100)
    algorithm = serializers.CharField(default="Custom", max_length=100)
    user_id = serializers.CharField(default="anonymous", max_length=100)


@dataclass(frozen=True, slots=True)
class CompatibleSubmitForm:
    """A validated submission. is_script: the archive was packed from a client's files. mode: as in Labels.

    environment: None for one that this submission adds.
    """

    env_id: str
    environment: Environment | None
    archive: UploadedFile[bytes]
    is_script: bool
    mode: str
    algorithm: str
    user_id: str
    client_id: UUID | None


def read_submit(request: Request) -> CompatibleSubmitForm:
    """Validate a submission in the order that clients expect. Raises ParseError or ValidationError."""
    # Without a body, request.data is an empty dict.
    sent: Mapping[str, Any] = request.data if isinstance(request.data, Mapping) else {}
    client_id = _client_id(sent.get("client_id"))
    if (request.content_type or "").startswith("application/json"):
        # Django's own request closes them at its end; the framework's has none for JSON.
        archive, mode = _text_archive(sent, request._request.FILES), "single"
    else:
        archive, mode = _archive(sent, request.FILES)
    words = {name: sent[name] for name in ("env_id", "algorithm", "user_id") if sent.get(name)}
    if sent.get("name"):
        # A later version of the older system calls it so.
        words.setdefault("user_id", sent["name"])
    labels = SubmitLabels(data=words)
    labels.is_valid(raise_exception=True)
    data: dict[str, str] = labels.validated_data
    return CompatibleSubmitForm(
        env_id=data["env_id"],
        environment=_environment(data["env_id"], viewer_of(request)),
        archive=archive,
        is_script=mode != "zip",
        mode=mode,
        algorithm=data["algorithm"],
        user_id=data["user_id"],
        client_id=client_id,
    )


def reason_of(error: APIException) -> str:
    """Return the label in the metrics for the reason of a refused submission."""
    detail = error.detail
    return REASONS.get(str(detail), BAD_FORM) if isinstance(detail, str) else BAD_FORM


def environment_known(env_id: str, viewer: Viewer) -> Environment:
    """Return the environment with this board. Raises ParseError."""
    row = scored_environment(env_id, viewer) if env_id.isprintable() else None
    if row is None:
        is_open = settings.OPEN_ENVIRONMENTS != "false"
        known = [*(row.env_id for row in environments_with_boards(viewer)), *addable_ids()]
        names = {one.casefold(): one for one in known}
        near = get_close_matches(env_id[:100].casefold(), names, 1)
        meant = f" Do you mean {names[near[0]]!r}?" if near else ""
        more = "?all=true lists all ids" if is_open else " lists all boards"
        raise ParseError(f"There is no board of {env_id[:100]!r}.{meant} GET /api/leaderboard/environments{more}.")
    return row


def _environment(env_id: str, viewer: Viewer) -> Environment | None:
    """Return the environment with this board; None for one that this submission may add. Raises ParseError."""
    row = scored_environment(env_id, viewer)
    return None if row is None and may_be_added(env_id) else row or environment_known(env_id, viewer)


def _client_id(text: object) -> UUID | None:
    if not text:
        return None
    try:
        return UUID(str(text))
    except ValueError:
        raise ParseError(BAD_CLIENT_ID) from None


def _text_archive(sent: Mapping[str, Any], uploads: MultiValueDict[str, UploadedFile[bytes]]) -> UploadedFile[bytes]:
    """Return a zip packed from the script in a JSON object."""
    content, name = sent.get("content"), sent.get("agent_file") or "submission.py"
    if not isinstance(content, str) or not content.strip():
        raise ParseError(NO_CONTENT)
    if not isinstance(name, str) or not base_name(name).lower().endswith(".py"):
        raise ParseError(NOT_PYTHON)
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise ParseError("content has characters that UTF-8 cannot hold.") from None
    if len(data) > MOST_CONTENT_BYTES:
        raise ParseError(f"{too_large(MOST_CONTENT_BYTES)} Send larger ones as multipart/form-data.")
    file: UploadedFile[bytes] = SimpleUploadedFile(base_name(name), data)
    return archive_upload(pack_script([file], base_name(name)), uploads)


def _archive(
    sent: Mapping[str, Any], uploads: MultiValueDict[str, UploadedFile[bytes]]
) -> tuple[UploadedFile[bytes], str]:
    """Return the uploaded zip, or a zip packed from scripts, and the mode as in Labels."""
    many = uploads.getlist("files")
    files = many or uploads.getlist("file")[-1:]
    if not files:
        # Django reads a part without a file name as text.
        raise ParseError(BAD_FILE if {"file", "files"} & set(sent) else NO_FILE)
    if sum([file.size or 0 for file in files]) > settings.MAX_UPLOAD_BYTES:
        raise ParseError(too_large())
    if many:
        main_file = _main_file(files, str(sent.get("main_file", "")))
        return archive_upload(pack_script(files, main_file), uploads), "multi"
    name = base_name(files[0].name)
    if name.lower().endswith(".zip"):
        return files[0], "zip"
    if not name.lower().endswith(".py"):
        raise ParseError(NOT_PYTHON)
    return archive_upload(pack_script(files, name), uploads), "single"


def _main_file(files: list[UploadedFile[bytes]], wanted: str) -> str:
    names = [base_name(file.name) for file in files]
    wanted = base_name(wanted)
    if not any(name.lower().endswith(".py") for name in names):
        raise ParseError(NO_PYTHON)
    if not wanted:
        raise ParseError(NO_MAIN_FILE)
    if wanted not in names:
        raise ParseError(NO_SUCH_MAIN_FILE)
    if not wanted.lower().endswith(".py"):
        raise ParseError(MAIN_FILE_NOT_PYTHON)
    return wanted
