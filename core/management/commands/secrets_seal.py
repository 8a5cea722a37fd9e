"""Encrypt the secrets in rows with the present SECRET_KEY: after an upgrade, and after SECRET_KEY was changed."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.management.base import BaseCommand
from django.db import transaction

from core.models import Webhook
from core.operations.keys import key_note
from core.sealing import NotOpened, Unreadable, opened, seal

OF_FACTORS = ("secret", "seed")
"""The values of a second factor that are secret: of an app, and of recovery codes."""


class Command(BaseCommand):
    help = "Encrypt the secrets of second factors and webhooks with SECRET_KEY, and note that key as the site's."

    def handle(self, *args: Any, **options: Any) -> None:
        lost, count = [], 0
        with transaction.atomic():
            for factor in Authenticator.objects.select_for_update().order_by("pk"):
                try:
                    count += _factor_seal(factor)
                except NotOpened:
                    lost.append(f"the {factor.get_type_display()} of {factor.user}")
            for webhook in Webhook.objects.select_for_update().order_by("pk"):
                if isinstance(webhook.secret_url, Unreadable):
                    lost.append(f"the webhook {webhook}")
                    continue
                webhook.save(update_fields=["secret_url", "secret"])
                count += 1
        key_note()
        if count:
            self.stdout.write(f"{count} secret{' is' if count == 1 else 's are'} encrypted with SECRET_KEY.")
        if lost:
            # The arena starts all the same: everything else works.
            self.stderr.write(
                f"Stored with another SECRET_KEY, which SECRET_KEY_FALLBACKS does not name: {', '.join(lost)}. "
                "Name that key there, or have these set up anew."
            )


def _factor_seal(factor: Authenticator) -> bool:
    found = {name: seal(opened(factor.data[name])) for name in OF_FACTORS if name in factor.data}
    if found:
        factor.data |= found
        factor.save(update_fields=["data"])
    return bool(found)
