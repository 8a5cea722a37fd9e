"""Requests to addresses that organisers have typed, which reach only the public internet.

The name is resolved once, all its addresses are checked, and the connection is made to one of them, so DNS rebinding
fails. Redirects and proxies are not used, little is read, and everything takes at most DEADLINE_SECONDS, plus the time
of a slow name server.
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
"""Maximum number of a name's addresses that are tried, one after the other."""
LONGEST_WAIT_SECONDS = 24 * 3600
"""Maximum wait that a receiver may ask for with Retry-After."""
READ_BYTES = 4096
"""Maximum length of an answer that is read: only the status counts, and the text helps to find a mistake."""


class CannotReach(Exception):
    """The request was not answered. The message is a sentence without the secret parts of the address."""


@dataclass(frozen=True, slots=True)
class ReceiverAnswer:
    status: int
    text: str
    retry_after_seconds: int


def address_problem(url: str) -> str:
    """Return what is wrong with an address as it is written; empty when nothing is."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "This is not an address."
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
        return "Enter an address that begins with https://."
    if parts.scheme == "http" and not settings.WEBHOOKS_OVER_HTTP:
        return "Use https, because plain http can be read and changed on its way (WEBHOOKS_TO_PRIVATE allows it)."
    if parts.username is not None or parts.password is not None:
        return "Leave out the user name and password."
    if any(not 33 <= ord(character) <= 126 for character in url):
        return "An address may contain only plain letters, digits and signs."
    return ""


def private_problem(url: str) -> str:
    """Return why no webhook may go to an address that names a machine of a private network; empty when it may.

    A name is resolved only when something is sent, because it may lead elsewhere by then.
    """
    host = (urlsplit(url).hostname or "").rstrip(".")
    with suppress(OSError):
        # Systems also read 127.1 and 2130706433 as addresses.
        host = socket.inet_ntoa(socket.inet_aton(host))
    try:
        is_private = host == "localhost" or host.endswith(".localhost") or not is_public(host)
    except ValueError:
        is_private = False
    if settings.WEBHOOKS_TO_PRIVATE or not is_private:
        return ""
    return "This address is not on the public internet (WEBHOOKS_TO_PRIVATE allows it)."


def model_address_problem(url: str, *, has_key: bool, is_named: bool) -> str:
    """Return why the address of a language model must not be asked; empty if it may.

    is_named: whether the operator has named its host. A key is sent over TLS, or to this machine.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "this is not an address."
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0 or parts.username is not None:
        return "it has to begin with https:// and a host."
    if any(not 33 <= ord(character) <= 126 for character in url):
        return "it may contain only plain letters, digits and signs."
    is_here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "http" and not (is_named and (is_here or not has_key)):
        return "plain http can be read on its way; use https."
    return ""


def post(url: str, *, body: bytes, headers: Mapping[str, str]) -> ReceiverAnswer:
    """Send a body to an address. Raises CannotReach."""
    if problem := address_problem(url):
        raise CannotReach(problem)
    parts = urlsplit(url)
    sockets: list[socket.socket] = []
    began, ends_at = time.time(), time.monotonic() + DEADLINE_SECONDS
    connection = _connection(parts, sockets, ends_at)
    # A socket's own timeout starts again with every byte.
    guard = threading.Timer(DEADLINE_SECONDS, _shut, [sockets])
    guard.daemon = True
    guard.start()
    try:
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        connection.request("POST", target, body=body, headers=dict(headers))
        response = connection.getresponse()
        text = response.read(READ_BYTES).decode("utf-8", "replace")
        # The wait counts from when the request began.
        return ReceiverAnswer(response.status, text, wait_seconds(response.headers.get("Retry-After", ""), began))
    except ssl.SSLCertVerificationError as error:
        raise CannotReach(f"Its certificate is not valid: {error.verify_message}.") from None
    except TimeoutError:
        raise CannotReach("It took too long.") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        # Checked by the clock, because the guard may still be closing sockets when the error arrives here.
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
    """Return whether an IP address is public; IPv6 forms that contain an IPv4 address are checked by that one."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if inner is None and parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        # Only allocated addresses: tables of reserved ones have gaps and differ between versions of Python.
        if parsed not in _UNICAST or parsed in _DOCUMENTATION:
            return False
    return parsed.is_global and not parsed.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST = ipaddress.IPv6Network("2000::/3")
_DOCUMENTATION = ipaddress.IPv6Network("3fff::/20")
"""The documentation prefix of RFC 9637."""


def wait_seconds(header: str, now: float) -> int:
    """Return the seconds from `now` that Retry-After asks for, as number or date (RFC 9110, 10.2.3); 0 for nonsense."""
    if not (header.isascii() and header.isdecimal()):
        try:
            until = parsedate_to_datetime(header)
            # A date without a zone is UTC, as everywhere in HTTP.
            seconds = (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - now
        except (ValueError, OverflowError):
            return 0
        return min(max(0, math.ceil(seconds)), LONGEST_WAIT_SECONDS)
    # Python refuses to convert very long numbers, and timedelta refuses very large ones.
    return min(int(header), LONGEST_WAIT_SECONDS) if len(header) <= 9 else LONGEST_WAIT_SECONDS


def _connection(parts: SplitResult, sockets: list[socket.socket], ends_at: float) -> http.client.HTTPConnection:
    """Return a connection that is not open yet and adds its socket to `sockets`. ends_at: by the monotonic clock."""
    assert parts.hostname is not None
    connection: http.client.HTTPConnection
    # Without a port http.client would take the last group of an IPv6 address for one.
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(parts.hostname, port, timeout=CONNECT_SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(parts.hostname, port, timeout=CONNECT_SECONDS)

    def connect(address: tuple[str, int], timeout: float, _: object) -> socket.socket:
        made = public_socket(*address, timeout, ends_at=ends_at, allows_private=settings.WEBHOOKS_TO_PRIVATE)
        # A separate handle: TLS takes over the first one, and the answer may outlive its connection.
        sockets.append(made.dup())
        # Checked last: either the guard finds the handle, or it has already run and the time is over.
        if time.monotonic() >= ends_at:
            made.close()
            raise TimeoutError
        return made

    # http.client opens sockets only here; it still checks the name in the certificate.
    connection._create_connection = connect  # type: ignore[attr-defined]
    return connection


def public_socket(
    host: str, port: int, timeout: float, *, allows_private: bool, ends_at: float = math.inf
) -> socket.socket:
    """Connect to a host name if all its addresses are public. Raises CannotReach, OSError.

    timeout: seconds for each address, bounded by ends_at, a time of the monotonic clock.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise CannotReach(f"There is no host {host}.") from None
    addresses = [(family, address) for family, _, _, _, address in found]
    if not allows_private and not all(is_public(str(address[0])) for _, address in addresses):
        raise CannotReach(f"{host} is not on the public internet.")
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
