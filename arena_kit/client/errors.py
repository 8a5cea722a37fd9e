"""The errors between this machine and a site, each with a code and a sentence that says what to do."""

from __future__ import annotations

import http.client
import socket
import ssl
from typing import Any
from urllib.error import URLError

from arena_kit.older import StrEnum
from arena_kit.text import plain_line

MOST_SENTENCES = 10
"""At most this many sentences of a form's answer are shown."""
SENTENCE_CHARACTERS = 500


class Trouble(StrEnum):
    """The kinds of trouble."""

    BAD_ADDRESS = "bad_address"
    UNKNOWN_HOST = "unknown_host"
    REFUSED_CONNECTION = "connection_refused"
    UNTRUSTED = "tls_failed"
    TIMED_OUT = "timed_out"
    CUT = "connection_lost"
    REDIRECTED = "redirected_elsewhere"
    NO_ARENA = "not_an_arena"
    TOO_LONG = "answer_too_large"
    NOT_UNDERSTOOD = "answer_not_understood"
    OTHER_API = "other_api_version"
    FAILED = "site_failed"
    BUSY = "too_many_requests"
    LOGIN_NEEDED = "login_needed"
    NOT_ALLOWED = "not_allowed"
    MISSING = "not_found"
    CONFLICT = "conflict"
    GONE = "gone"
    TOO_LARGE = "upload_too_large"
    REFUSED = "refused"


LATER = frozenset(
    {
        Trouble.UNKNOWN_HOST,
        Trouble.REFUSED_CONNECTION,
        Trouble.UNTRUSTED,
        Trouble.TIMED_OUT,
        Trouble.CUT,
        Trouble.REDIRECTED,
        Trouble.NO_ARENA,
        Trouble.TOO_LONG,
        Trouble.NOT_UNDERSTOOD,
        Trouble.OTHER_API,
        Trouble.FAILED,
        Trouble.BUSY,
    }
)
"""Trouble of the network or the site: nothing is wrong with what was asked."""


class SiteError(Exception):
    """A request had no answer, or the site refused it. The message is a sentence.

    trouble: its kind. code: the site's own typed reason, or that of `trouble`. status: of HTTP, 0 without an answer.
    retry_after_seconds: when it is worth asking again, if the site sends it.
    """

    def __init__(
        self,
        message: str,
        *,
        trouble: Trouble,
        code: str = "",
        status: int = 0,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.trouble, self.code, self.status = trouble, code or trouble.value, status
        self.retry_after_seconds = retry_after_seconds


def network_error(error: Exception, site: str) -> SiteError:
    """Return what an exception of the network means. site: the address as the user knows it."""
    cause: object = error.reason if isinstance(error, URLError) else error
    match cause:
        case socket.gaierror():
            sentence = f"The host of {site} is not known. Check the address and your connection to the network."
            trouble = Trouble.UNKNOWN_HOST
        case ConnectionRefusedError():
            sentence = f"{site} refuses connections: nothing is running there. Check the address and the port."
            trouble = Trouble.REFUSED_CONNECTION
        case ssl.SSLCertVerificationError():
            why = plain_line(cause.verify_message)
            sentence = (
                f"The certificate of {site} is not trusted ({why}). If the site has one of its own, name the file of "
                "its authority in SSL_CERT_FILE."
            )
            trouble = Trouble.UNTRUSTED
        case ssl.SSLError():
            sentence = f"{site} speaks no TLS that this machine understands. Perhaps its address begins with http://."
            trouble = Trouble.UNTRUSTED
        case TimeoutError():
            sentence = f"{site} did not answer in time. Try again later."
            trouble = Trouble.TIMED_OUT
        case http.client.BadStatusLine() if not isinstance(cause, http.client.RemoteDisconnected):
            sentence = f"What answers at {site} does not speak HTTP. Check the address and the port."
            trouble = Trouble.NO_ARENA
        case http.client.InvalidURL() | UnicodeError():
            sentence, trouble = f"{site} is not a web address.", Trouble.BAD_ADDRESS
        case _:
            name = getattr(cause, "strerror", None) or type(cause).__name__
            sentence = f"The connection to {site} was lost ({plain_line(str(name))}). Try again."
            trouble = Trouble.CUT
    return SiteError(sentence, trouble=trouble)


def status_error(status: int, retry_after: str | None, answer: Any, site: str, *, has_token: bool = True) -> SiteError:
    """Return what an answer of 400 or more means. answer: its JSON, or None if it is something else.

    retry_after: the header of this name, if any. has_token: whether a token was sent.
    """
    said = sentences(answer)
    code = answer.get("code") if isinstance(answer, dict) else None
    reason = plain_line(code)[:60] if isinstance(code, str) else ""
    seconds = _seconds(retry_after)
    trouble, sentence = _meaning(status, site)
    if answer is None and status in (400, 403, 404, 405, 410, 415):
        # A proxy or another site speaks in this way; every error of the API is JSON.
        return SiteError(
            f"{site} answers with status {status} and no JSON, so it is not an arena, or something stands before it. "
            "Check the address.",
            trouble=Trouble.NO_ARENA,
            status=status,
        )
    if 300 <= status < 400:
        return SiteError(
            f"{site} sends from one address to the next without an end (status {status}). Check the address.",
            trouble=Trouble.REDIRECTED,
            status=status,
        )
    if status in (429, 503) and seconds is not None:
        sentence = said or (sentence if status == 429 else f"{site} is busy or closed for the moment.")
        sentence, said = f"{sentence} Ask again in {seconds} seconds.", ""
    if status == 401 and said and has_token:
        said += " `arena login` saves a new token."
    return SiteError(said or sentence, trouble=trouble, code=reason, status=status, retry_after_seconds=seconds)


def sentences(answer: Any) -> str:
    """Return the sentences of an error's answer: its `detail`, or those of a form with the names of the fields."""
    if not isinstance(answer, dict):
        return ""
    found: list[str] = []
    for name, value in answer.items():
        # `code` is a typed reason, except as the field of a form.
        if name == "code" and isinstance(value, str):
            continue
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                line = plain_line(text)[:SENTENCE_CHARACTERS]
                plain = name in ("detail", "archive", "error", "non_field_errors")
                found.append(line if plain else f"{plain_line(str(name))[:60]}: {line}")
    return " ".join(found[:MOST_SENTENCES])


def _meaning(status: int, site: str) -> tuple[Trouble, str]:
    """Return the kind of an error, and a sentence for an answer that has none of its own."""
    match status:
        case 401:
            return Trouble.LOGIN_NEEDED, f"{site} asks for a login. Run: arena login {site}"
        case 403:
            return Trouble.NOT_ALLOWED, f"{site} does not let you see or change this."
        case 404:
            return Trouble.MISSING, f"{site} has nothing of this name."
        case 409:
            return Trouble.CONFLICT, "This is not possible at the moment."
        case 410:
            return Trouble.GONE, f"{site} had this, but does not keep it any longer."
        case 413:
            return Trouble.TOO_LARGE, f"{site} takes no files of this size. Leave out what the agent does not need."
        case 429:
            return Trouble.BUSY, f"{site} was asked too often."
        case _ if status >= 500:
            return Trouble.FAILED, f"{site} failed (status {status}). Try again later."
        case _:
            return Trouble.REFUSED, f"{site} refused this (status {status})."


def _seconds(text: str | None) -> int | None:
    """Return Retry-After as seconds; dates, which the arena does not send, are left out."""
    return min(int(text), 7 * 86_400) if text and text.isascii() and text.isdigit() and len(text) < 9 else None
