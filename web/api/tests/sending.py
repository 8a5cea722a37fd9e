"""Requests that programs send in tests."""

from __future__ import annotations

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

SCRIPT = b'import json\nprint(json.dumps({"score": 12.5}))\n'
SUBMIT = "/api/submit/"


def file(name: str = "agent.py", content: bytes = SCRIPT) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def script(**fields: Any) -> dict[str, Any]:
    """Return the form with a single script."""
    return {"file": file(), **fields}


def files(*names: str, **fields: Any) -> dict[str, Any]:
    """Return the form with several files."""
    return {"files": [file(name) for name in names], **fields}
