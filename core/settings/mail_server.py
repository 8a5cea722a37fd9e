"""The mail server, configured by one address, EMAIL_URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
"""The usual port of each scheme: without TLS, with STARTTLS, and with TLS from the first byte."""
FORM = "EMAIL_URL must be smtp://, smtp+tls:// or smtps://, then USER:PASSWORD@HOST:PORT, perhaps ?from=ADDRESS."


@dataclass(frozen=True, slots=True)
class MailServer:
    """The values of Django's EMAIL_* settings. Without a host mails are written to the log."""

    host: str = ""
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    starts_tls: bool = False
    is_tls: bool = False
    sender: str = ""
    """The address that mails come from; empty for the arena's own choice."""

    @property
    def backend(self) -> str:
        return f"django.core.mail.backends.{'smtp' if self.host else 'console'}.EmailBackend"


def mail_server(url: str) -> MailServer:
    """Parse an address such as smtp+tls://user:password@mail.example.org:587?from=arena@example.org; empty: the log.

    Special characters in the user's name and password are percent-encoded, such as %40. Raises ImproperlyConfigured
    with a message that leaves out the address, since it may contain a password.
    """
    if not url:
        return MailServer()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ImproperlyConfigured(FORM) from None
    if parts.scheme not in PORTS or not parts.hostname or parts.path not in ("", "/") or parts.fragment:
        raise ImproperlyConfigured(FORM)
    sender = unquote(parts.query.removeprefix("from="))
    if parts.query and not (parts.query.startswith("from=") and "@" in sender and sender.isprintable()):
        raise ImproperlyConfigured(FORM)
    return MailServer(
        host=parts.hostname,
        port=port or PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starts_tls=parts.scheme == "smtp+tls",
        is_tls=parts.scheme == "smtps",
        sender=sender,
    )
