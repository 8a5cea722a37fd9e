"""The mail server as one address, EMAIL_URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
"""The usual port of each scheme: no TLS, TLS from STARTTLS on, and TLS from the first byte."""
FORM = "EMAIL_URL must be smtp://, smtp+tls:// or smtps://, then USER:PASSWORD@HOST:PORT."


@dataclass(frozen=True, slots=True)
class MailServer:
    """What Django's EMAIL_* settings want to know. Without a host mails are written to the log."""

    host: str = ""
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    starts_tls: bool = False
    is_tls: bool = False

    @property
    def backend(self) -> str:
        return f"django.core.mail.backends.{'smtp' if self.host else 'console'}.EmailBackend"


def mail_server(url: str) -> MailServer:
    """Read an address such as smtp+tls://user:password@mail.example.org:587; an empty one means the log.

    Letters of the user's name and password that mean something in an address are written as %40 and so on. Raises
    ImproperlyConfigured, without the address: it may hold a password.
    """
    if not url:
        return MailServer()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ImproperlyConfigured(FORM) from None
    if parts.scheme not in PORTS or not parts.hostname or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ImproperlyConfigured(FORM)
    return MailServer(
        host=parts.hostname,
        port=port or PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starts_tls=parts.scheme == "smtp+tls",
        is_tls=parts.scheme == "smtps",
    )
