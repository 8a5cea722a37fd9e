"""Sends requests and reads answers within limits. A token goes to the site that it was given for and nowhere else."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPMessage, HTTPResponse
from typing import IO, Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

from arena_kit.client.errors import SiteError, Trouble, network_error, status_error
from arena_kit.text import plain_line
from arena_kit.version import kit_version

MAX_JSON_BYTES = 64 << 20
MAX_ERROR_BYTES = 1 << 20
MAX_FILE_BYTES = 1 << 30
READ_BYTES = 64 * 1024
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


def site_address(text: str) -> str:
    """Return a site's address as scheme, host and port, with the path if the site has one. Raises SiteError.

    Without a scheme it is https, or http for this machine itself.
    """
    given = text.strip()
    if "://" not in given:
        first = given.partition("/")[0].rpartition("@")[2]
        is_local = (first.rpartition(":")[0] or first).strip("[]") in LOCAL_HOSTS
        given = f"{'http' if is_local else 'https'}://{given}"
    parts, host, port = urlsplit(""), "", None
    with contextlib.suppress(ValueError):
        parts = urlsplit(given)
        host, port = parts.hostname or "", parts.port
    if parts.scheme not in ("http", "https") or not host or not given.isascii() or not given.isprintable():
        raise SiteError(
            f"{plain_line(text)} is not a web address. Write it like https://arena.example.org.",
            trouble=Trouble.BAD_ADDRESS,
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SiteError(
            "Give the address of the site alone, without a name, a password or a question in it.",
            trouble=Trouble.BAD_ADDRESS,
        )
    name = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}[parts.scheme]
    where = name if port in (None, default) else f"{name}:{port}"
    return urlunsplit((parts.scheme, where, parts.path.rstrip("/"), "", ""))


def is_encrypted(site: str) -> bool:
    """Return whether no one on the way to the site can read a token: it uses TLS, or it is this machine."""
    parts = urlsplit(site)
    return parts.scheme == "https" or parts.hostname in LOCAL_HOSTS


class _SameSite(urllib.request.HTTPRedirectHandler):
    """Follows redirects within the site, for reading only."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(urljoin(req.full_url, newurl))
        is_same = (old.scheme, old.hostname, old.port) == (new.scheme, new.hostname, new.port)
        if not is_same or req.get_method() not in ("GET", "HEAD"):
            fp.close()
            where = plain_line(urlunsplit((new.scheme, new.netloc.rpartition("@")[2], "", "", "")))[:200]
            raise SiteError(
                f"The site sends on to {where or 'another address'}. Your token is not sent there. If that is the "
                f"arena, run: arena login {where}",
                trouble=Trouble.REDIRECTED,
                status=code,
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Readable(Protocol):
    """Something that is read from its beginning to its end."""

    def read(self, size: int = -1, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request. content: bytes, or something that is read while it is sent. size: in bytes."""

    content: bytes | Readable
    size: int
    content_type: str


class Transport:
    """Requests to one site.

    site: as `site_address` returns it. token: sent with every request; may be empty. timeout_seconds: the longest
    silence of the site.
    """

    def __init__(self, site: str, token: str = "", *, timeout_seconds: float = 30.0) -> None:
        self.site, self._token, self._timeout = site, token, timeout_seconds
        self._opener = urllib.request.build_opener(_SameSite)

    def __repr__(self) -> str:
        """Without the token, which must be in no log."""
        return f"Transport({self.site!r})"

    def json(
        self, path: str, query: Mapping[str, object] | None = None, *, sent: Mapping[str, object] | None = None
    ) -> Any:
        """Return the JSON of an address; `sent`, if any, is posted as JSON. Raises SiteError."""
        body = None
        if sent is not None:
            content = json.dumps(sent).encode()
            body = Body(content, len(content), "application/json")
        return self.read_json(self.request("POST" if body else "GET", path, query=query, body=body), path)

    def read_json(self, response: contextlib.AbstractContextManager[HTTPResponse], path: str) -> Any:
        """Return the JSON of a response and close it. Raises SiteError."""
        with response as answer, self._network():
            data = answer.read(MAX_JSON_BYTES + 1)
            kind, length = answer.headers.get_content_type(), answer.headers.get("Content-Length", "")
        if len(data) > MAX_JSON_BYTES:
            raise SiteError(f"The answer of {self.site} is too large.", trouble=Trouble.TOO_LONG)
        if length.isdigit() and int(length) > len(data):
            raise SiteError(f"The answer of {self.site} is not complete. Try again.", trouble=Trouble.CUT)
        found = _parsed(data)
        if found is None:
            what = "a web page" if kind == "text/html" else "something that is not JSON"
            raise SiteError(
                f"{self.site} answers {plain_line(path)} with {what}, so it is not an arena, or something stands "
                "before it. Check the address.",
                trouble=Trouble.NO_ARENA,
                status=200,
            )
        return found

    def download(self, path: str, target: IO[bytes], query: Mapping[str, object] | None = None) -> str:
        """Write a file of the site to `target`; return its name as the site gives it, or "". Raises SiteError."""
        with self.request("GET", path, query=query) as answer, self._network():
            left = MAX_FILE_BYTES
            while data := answer.read(READ_BYTES):
                left -= len(data)
                if left < 0:
                    raise SiteError(f"The file from {self.site} is too large.", trouble=Trouble.TOO_LONG)
                target.write(data)
            length = answer.headers.get("Content-Length", "")
            if length.isdigit() and int(length) != MAX_FILE_BYTES - left:
                raise SiteError(f"The file from {self.site} is not complete. Try again.", trouble=Trouble.CUT)
            return plain_line(answer.headers.get_filename() or "")

    @contextlib.contextmanager
    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Body | None = None,
        at_least_seconds: float = 0.0,
    ) -> Iterator[HTTPResponse]:
        """Yield the answer to a request. Raises SiteError, also for every answer of 400 or more.

        at_least_seconds: waited for an answer even if the timeout is shorter.
        """
        known = {name: str(value) for name, value in (query or {}).items() if value not in (None, "")}
        address = f"{self.site}/{path}" + (f"?{urlencode(known)}" if known else "")
        headers = {"Accept": "application/json, */*;q=0.5", "User-Agent": f"arena-kit/{kit_version()}"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers |= {"Content-Type": body.content_type, "Content-Length": str(body.size)}
        timeout = max(self._timeout, at_least_seconds)
        with contextlib.ExitStack() as stack:
            try:
                with self._network():
                    asked = urllib.request.Request(  # noqa: S310  (`site_address` lets http and https through)
                        address, data=None if body is None else body.content, headers=headers, method=method
                    )
                    answer = stack.enter_context(self._opener.open(asked, timeout=timeout))
            except HTTPError as error:
                raise self._refusal(error) from None
            yield answer

    def _refusal(self, error: HTTPError) -> SiteError:
        with error, self._network():
            data = error.read(MAX_ERROR_BYTES)
        return status_error(
            error.code, error.headers.get("Retry-After"), _parsed(data), self.site, has_token=bool(self._token)
        )

    @contextlib.contextmanager
    def _network(self) -> Iterator[None]:
        """Turn every exception of the network into a SiteError, but answers of 400 and more."""
        try:
            yield
        except HTTPError:
            raise
        except (URLError, OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
            raise network_error(error, self.site) from None


def multipart(fields: Mapping[str, str], file: IO[bytes], name: str) -> tuple[bytes, bytes, str]:
    """Return what comes before and after a file in a form, and the form's content type."""
    boundary = f"arena-{os.urandom(16).hex()}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
        for field, value in fields.items()
    ]
    parts.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="archive"; filename="{name}"\r\n'
        "Content-Type: application/zip\r\n\r\n"
    )
    return "".join(parts).encode(), f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def _parsed(data: bytes) -> Any:
    """Return the JSON of an answer, or None if it is not JSON; the API never answers with a bare null."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
