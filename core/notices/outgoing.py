"""Requests to addresses that organisers have typed: they reach the public internet and nothing else.

The name is resolved once, every address behind it is looked at, and the connection is made to one of those: a name
that leads elsewhere a moment later (DNS rebinding) gains nothing. No redirect is followed, no proxy asked, little is
read, and all of it takes DEADLINE_SECONDS at most; only a name server that is slower may take its own time before.
"""

from __future__ import annotations

import http.client
import ipaddress
import math
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

CONNECT_SECONDS = 5.0
DEADLINE_SECONDS = 15.0
MOST_ADDRESSES = 4
"""Of one name that are tried, one after the other."""
LONGEST_WAIT_SECONDS = 24 * 3600
"""Of what a receiver may ask for by Retry-After."""
READ_BYTES = 4096
"""Of an answer: only its status counts, the rest helps whoever looks for a mistake."""


class CannotReach(Exception):
    """The request was not answered; the message is a sentence, without the secret parts of the address."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str
    retry_after_seconds: int


def address_problem(url: str) -> str:
    """What is wrong with an address, as far as it can be seen without asking anybody; empty: nothing."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "This is no address."
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
        return "Enter an address that begins with https://."
    if parts.scheme == "http" and not settings.WEBHOOKS_OVER_HTTP:
        return "Use https: what is sent could be read and changed on its way otherwise (WEBHOOKS_TO_PRIVATE)."
    if parts.username is not None or parts.password is not None:
        return "Leave out user name and password."
    if any(not 33 <= ord(letter) <= 126 for letter in url):
        return "Only plain letters, digits and signs may stand in an address."
    return ""


def post(url: str, *, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send a body to an address. Raises CannotReach."""
    if problem := address_problem(url):
        raise CannotReach(problem)
    parts = urlsplit(url)
    sockets: list[socket.socket] = []
    began, ends_at = time.time(), time.monotonic() + DEADLINE_SECONDS
    connection = _connection(parts, sockets, ends_at)
    # A socket's own time limit holds for every byte anew.
    guard = threading.Timer(DEADLINE_SECONDS, _shut, [sockets])
    guard.daemon = True
    guard.start()
    try:
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        connection.request("POST", target, body=body, headers=dict(headers))
        response = connection.getresponse()
        text = response.read(READ_BYTES).decode("utf-8", "replace")
        # Whoever asked counts from when it began, too.
        return Answer(response.status, text, wait_seconds(response.headers.get("Retry-After", ""), began))
    except ssl.SSLCertVerificationError as error:
        raise CannotReach(f"Its certificate is not good: {error.verify_message}.") from None
    except TimeoutError:
        raise CannotReach("It took too long.") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        # By the clock: the guard is still at work when what it has shut is noticed here.
        if time.monotonic() >= ends_at:
            raise CannotReach("It took too long.") from None
        said = (error.strerror if isinstance(error, OSError) else "") or type(error).__name__
        raise CannotReach(f"It cannot be reached: {said}.") from None
    finally:
        guard.cancel()
        connection.close()
        for one in sockets:
            one.close()


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet at large, also behind the forms that lead from IPv6 to IPv4."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if inner is None and parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        # All that is given out so far; tables of what is reserved leave gaps, and differ between versions of Python.
        if parsed not in _UNICAST or parsed in _DOCUMENTATION:
            return False
    return parsed.is_global and not parsed.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST = ipaddress.IPv6Network("2000::/3")
_DOCUMENTATION = ipaddress.IPv6Network("3fff::/20")
"""RFC 9637."""


def wait_seconds(header: str, now: float) -> int:
    """What Retry-After asks for in seconds from `now`: a number or a date (RFC 9110, 10.2.3); 0 for nonsense."""
    if not (header.isascii() and header.isdecimal()):
        try:
            until = parsedate_to_datetime(header)
            # Without a zone it is UTC, as everywhere in HTTP.
            seconds = (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - now
        except (ValueError, OverflowError):
            return 0
        return min(max(0, math.ceil(seconds)), LONGEST_WAIT_SECONDS)
    # Python makes no number of very many digits, and no duration of a very large number.
    return min(int(header), LONGEST_WAIT_SECONDS) if len(header) <= 9 else LONGEST_WAIT_SECONDS


def _connection(parts: SplitResult, sockets: list[socket.socket], ends_at: float) -> http.client.HTTPConnection:
    """A connection that is not made yet; what it opens goes into `sockets`. ends_at: by the monotonic clock."""
    assert parts.hostname is not None
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=CONNECT_SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=CONNECT_SECONDS)

    def connect(address: tuple[str, int], timeout: float, _: object) -> socket.socket:
        made = _connect(address[0], address[1], timeout, ends_at)
        # A handle of our own: TLS takes over the first, and the answer may outlive its connection.
        sockets.append(made.dup())
        # Afterwards: the guard either finds the handle, or has been here before it and the time is over.
        if time.monotonic() >= ends_at:
            made.close()
            raise TimeoutError
        return made

    # The one place at which http.client opens a socket; the name in the certificate is checked as ever.
    connection._create_connection = connect  # type: ignore[attr-defined]
    return connection


def _connect(host: str, port: int, timeout: float, ends_at: float) -> socket.socket:
    """Connect to what a name stands for, if all of it is public. Raises CannotReach, OSError.

    timeout: seconds for each address, of those that are left until ends_at.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise CannotReach(f"There is no host {host}.") from None
    addresses = [(family, address) for family, _, _, _, address in found]
    if not settings.WEBHOOKS_TO_PRIVATE and not all(is_public(str(address[0])) for _, address in addresses):
        raise CannotReach(f"{host} is not on the public internet; WEBHOOKS_TO_PRIVATE would allow it.")
    last: OSError = OSError("no address")
    for family, address in addresses[:MOST_ADDRESSES]:
        seconds_left = ends_at - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError
        made = socket.socket(family, socket.SOCK_STREAM)
        made.settimeout(min(timeout, seconds_left))
        try:
            made.connect(address)
        except OSError as error:
            made.close()
            last = error
        else:
            return made
    raise last


def _shut(sockets: list[socket.socket]) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
