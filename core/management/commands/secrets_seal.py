"""Encrypt the secrets in rows with the present SECRET_KEY: after an upgrade, and after SECRET_KEY was changed."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from core.models import Webhook
from core.sealing import NotOpened, opened, seal

OF_FACTORS = ("secret", "seed")
"""The values of a second factor that are secret: of an app, and of recovery codes."""


class Command(BaseCommand):
    help = "Encrypt the secrets of second factors and webhooks with SECRET_KEY. It may run at any time, and again."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with transaction.atomic():
                count = sum(map(_factor_seal, Authenticator.objects.select_for_update().order_by("pk")))
                for webhook in Webhook.objects.select_for_update().order_by("pk"):
                    webhook.save(update_fields=["secret_url", "secret"])
                    count += 1
        except NotOpened as error:
            raise CommandError(str(error)) from None
        if count:
            self.stdout.write(f"{count} secret{' is' if count == 1 else 's are'} encrypted with SECRET_KEY.")


def _factor_seal(factor: Authenticator) -> bool:
    found = {name: seal(opened(factor.data[name])) for name in OF_FACTORS if name in factor.data}
    if found:
        factor.data |= found
        factor.save(update_fields=["data"])
    return bool(found)
