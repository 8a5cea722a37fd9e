"""Makes a HAR file (HTTP Archive 1.2) of the requests that the browser has reported. It holds no bodies of answers."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from arena_kit.errors import PlatformFault
from arena_kit.text import plain_text

CREATOR = {"name": "RL Arena", "version": "1"}
MOST_PARAMETERS = 500


def har_bytes(requests: Sequence[Mapping[str, Any]], *, lost: int = 0) -> bytes:
    """Return the file. lost: how many requests were not kept. Raises PlatformFault for what the browser made up."""
    try:
        ordered = sorted(requests, key=lambda each: int(each["number"]))
        log: dict[str, Any] = {"version": "1.2", "creator": CREATOR, "entries": [_entry(each) for each in ordered]}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PlatformFault(
            f"The browser's requests cannot be read: {type(error).__name__}.", code="browser_failed"
        ) from None
    if lost:
        log["comment"] = f"{lost} requests are left out."
    return json.dumps({"log": log}, separators=(",", ":")).encode()


def _entry(told: Mapping[str, Any]) -> dict[str, Any]:
    at = datetime.datetime.fromtimestamp(float(told["at"]), datetime.UTC).isoformat(timespec="milliseconds")
    url, ms = plain_text(str(told["url"])), max(0, int(told["ms"]))
    asked: dict[str, Any] = {
        "method": str(told["method"])[:20], "url": url, "httpVersion": "HTTP/1.1", "cookies": [],
        "headers": _headers(told["headers"]), "queryString": _parameters(url), "headersSize": -1,
        "bodySize": len(str(told["body"])),
    }  # fmt: skip
    if told["body"]:
        asked["postData"] = {"mimeType": str(told["mime"]), "text": plain_text(str(told["body"])), "params": []}
    answered = told["answered"]
    return {
        "startedDateTime": at, "time": ms, "request": asked,
        "response": {
            "status": int(told["status"]), "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [],
            "headers": _headers(answered), "redirectURL": str(answered.get("location", "")), "headersSize": -1,
            "bodySize": -1, "content": {"size": 0, "mimeType": str(answered.get("content-type", ""))},
        },
        "cache": {}, "timings": {"send": 0, "wait": ms, "receive": 0}, "_resourceType": str(told["kind"]),
    }  # fmt: skip


def _headers(headers: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"name": str(name), "value": plain_text(str(value))} for name, value in headers.items()]


def _parameters(url: str) -> list[dict[str, str]]:
    try:
        found = parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError:
        return []
    return [{"name": name, "value": value} for name, value in found]
