"""The certificate of the site's own address: an alarm while visitors get one that has expired, or soon will."""

from __future__ import annotations

import logging
import socket
import ssl
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from core.notices.alarms import alarm_raise, alarm_settle

logger = logging.getLogger(__name__)

ALARM = "certificate-expires"
NOTICE = timedelta(days=7)
"""An authority's certificate is renewed weeks earlier, so by then the renewal has failed for long."""
SECONDS = 10.0
"""Time limit for the site's address to answer."""
NOT_YET_VALID, EXPIRED, SELF_SIGNED = 9, 10, 18
"""OpenSSL's numbers for what is wrong; nginx begins with a self-signed one."""


def certificate_check(_: int | str = 0) -> None:
    """Look at the certificate that visitors of SITE_URL get, and raise or settle the alarm about it."""
    site = urlsplit(settings.SITE_URL)
    if site.scheme != "https" or not site.hostname:
        alarm_settle(key=ALARM)
        return
    try:
        trouble = certificate_trouble(site.hostname, site.port or 443, now=timezone.now())
    except OSError as error:
        # From inside, the address may lead nowhere; that the site is away is for others to see.
        logger.info("The certificate of %s could not be looked at: %s", site.hostname, error)
        return
    if trouble:
        alarm_raise(key=ALARM, message=f"The certificate of {site.hostname} {trouble}")
    else:
        alarm_settle(key=ALARM)


def certificate_trouble(host: str, port: int, *, now: datetime) -> str:
    """Return what is wrong with a certificate, as the end of a sentence; empty if nothing is.

    One of an authority that this machine does not know says nothing. Raises OSError if the address does not answer.
    """
    context = ssl.create_default_context()
    try:
        with (
            socket.create_connection((host, port), SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=host) as tls,
        ):
            found = tls.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in (NOT_YET_VALID, EXPIRED):
            return f"is refused by browsers: {error.verify_message}."
        if error.verify_code == SELF_SIGNED:
            return "is refused by browsers: it is not from an authority, but the one that nginx begins with."
        logger.info("The certificate of %s says nothing here: %s", host, error.verify_message)
        return ""
    ends_at = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(found["notAfter"])), UTC)
    if ends_at - now > NOTICE:
        return ""
    return f"expires on {ends_at:%d %b %Y, %H:%M} UTC and has not been renewed."
