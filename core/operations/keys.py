"""Workers have the SECRET_KEY of the site: its fingerprint is in the database, and others are refused.

It is looked at when workers start and every minute. With another key a worker drops messages and signs links that the
site refuses, without a sign of it.
"""

from __future__ import annotations

import logging

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from core.models import Duty
from core.notices.alarms import alarm_raise, alarm_settle

logger = logging.getLogger(__name__)
NAME = "secret-key"
"""The name of the row: the fingerprint stands in the place of a worker."""


def fingerprint(key: str) -> str:
    """Return a text that shows whether two keys are the same, and nothing else of them."""
    return salted_hmac("core.operations.keys", "fingerprint", secret=key, algorithm="sha256").hexdigest()[:32]


def key_note() -> None:
    """Store the fingerprint of SECRET_KEY as that of the site."""
    found = {"since": Now(), "done_at": Now(), "worker": fingerprint(settings.SECRET_KEY)}
    Duty.objects.update_or_create(name=NAME, defaults=found)


def site_key_note() -> None:
    """Store the fingerprint as the site starts, where it stands for no key or for one of SECRET_KEY_FALLBACKS.

    Another key that is there stays: this process may be an old one that was started again. Without an answer of the
    database nothing is stored.
    """
    try:
        row = Duty.objects.filter(name=NAME).first()
        if row is None or row.worker in map(fingerprint, settings.SECRET_KEY_FALLBACKS):
            key_note()
    except Error:
        logger.warning("The fingerprint of SECRET_KEY was not stored.", exc_info=True)
    finally:
        # The process may fork, and its children must not share a connection.
        connections[DEFAULT_DB_ALIAS].close()


def key_watch(*, host: str) -> str:
    """Raise an alarm if no key of this process is that of the site, else settle it; return its sentence, empty without.

    While the key is being changed, the old one is among SECRET_KEY_FALLBACKS. host: of the workers.
    """
    row = Duty.objects.filter(name=NAME).first()
    alarm = f"{NAME}-{host}"[:100]
    if row is None or row.worker in map(fingerprint, (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)):
        alarm_settle(key=alarm)
        return ""
    sentence = (
        f"The workers of {host} cannot work: their SECRET_KEY is not that of the site. Start them with the site's, or, "
        "if it was changed on purpose, run `manage.py secrets_seal` with the new one."
    )
    alarm_raise(key=alarm, message=sentence)
    return sentence


def refuse_other_key(*, host: str) -> None:
    """Raise ImproperlyConfigured, and an alarm, if workers have another key, as `key_watch`."""
    try:
        sentence = key_watch(host=host)
    except Error:
        # The database does not answer: the workers wait for it, and are watched as they run.
        return
    finally:
        # The process may fork, and its children must not share a connection.
        connections[DEFAULT_DB_ALIAS].close()
    if sentence:
        raise ImproperlyConfigured(sentence)
