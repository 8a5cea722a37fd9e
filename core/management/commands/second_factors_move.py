"""Take the second factors of a database from before django-allauth over: apps and recovery codes of django-otp."""

from __future__ import annotations

from base64 import b32encode
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core.management.base import BaseCommand
from django.db import connection, transaction

from core.models import User

APPS = "SELECT user_id, key FROM otp_totp_totpdevice WHERE confirmed ORDER BY id"
CODES = (
    "SELECT device.user_id, token.token FROM otp_static_statictoken token "
    "JOIN otp_static_staticdevice device ON device.id = token.device_id WHERE device.confirmed ORDER BY token.id"
)


class Command(BaseCommand):
    help = "Take over the apps and recovery codes that django-otp kept, and note which e-mail addresses are confirmed."

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic():
            moved = self._factors() if "otp_totp_totpdevice" in connection.introspection.table_names() else 0
            for user in User.objects.exclude(email_confirmed_at=None):
                EmailAddress.objects.get_or_create(
                    user=user, email=user.email.lower(), defaults={"primary": True, "verified": True}
                )
        self.stdout.write(f"{moved} second factors were taken over.")

    def _factors(self) -> int:
        codes: dict[int, list[str]] = {}
        for user_id, code in self._rows(CODES):
            codes.setdefault(user_id, []).append(code.lower())
        moved = 0
        for user_id, key in self._rows(APPS):
            secret = b32encode(bytes.fromhex(key)).decode()
            kinds = Authenticator.objects.filter(user_id=user_id)
            if kinds.filter(type=Authenticator.Type.TOTP).exists():
                continue
            Authenticator.objects.create(user_id=user_id, type=Authenticator.Type.TOTP, data={"secret": secret})
            # Without a seed of its own: only these codes exist.
            data = {"migrated_codes": codes.get(user_id, []), "used_mask": 0}
            Authenticator.objects.update_or_create(
                user_id=user_id, type=Authenticator.Type.RECOVERY_CODES, defaults={"data": data}
            )
            moved += 1
        return moved

    def _rows(self, query: str) -> list[tuple[int, str]]:
        with connection.cursor() as cursor:
            cursor.execute(query)
            return [(user_id, text) for user_id, text in cursor.fetchall()]
