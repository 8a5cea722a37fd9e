"""The mail server, configured by one address, EMAIL_URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
"""The usual port of each scheme: without TLS, with STARTTLS, and with TLS from the first byte."""
FORM = (
    "EMAIL_URL must be smtp://, smtp+tls:// or smtps://, then USER:PASSWORD@HOST:PORT, perhaps ?from=ADDRESS; "
    "or file:///FOLDER."
)


@dataclass(frozen=True, slots=True)
class MailServer:
    """The values of Django's EMAIL_* settings. Without host and folder mails are written to the log."""

    host: str = ""
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    starts_tls: bool = False
    is_tls: bool = False
    sender: str = ""
    """The address that mails come from; empty for the arena's own choice."""
    folder: str = ""
    """The folder in which each mail becomes a file, as in the demo; the page /demo/mail/ shows them."""

    @property
    def backend(self) -> str:
        kind = "smtp" if self.host else "filebased" if self.folder else "console"
        return f"django.core.mail.backends.{kind}.EmailBackend"


def mail_server(url: str) -> MailServer:
    """Parse an address such as smtp+tls://user:password@mail.example.org:587?from=arena@example.org; empty: the log.

    file:///FOLDER keeps mails as files. Special characters in the user's name and password are percent-encoded, such
    as %40. Raises ImproperlyConfigured with a message that leaves out the address, since it may contain a password.
    """
    if not url:
        return MailServer()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ImproperlyConfigured(FORM) from None
    if parts.scheme == "file" and parts.path != "/" and not (parts.netloc or parts.query or parts.fragment):
        return MailServer(folder=unquote(parts.path))
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
