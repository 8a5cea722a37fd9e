"""Make the organiser that SUPERUSER_* describe, once."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.errors import Refused
from core.people.services import organiser_ensure


class Command(BaseCommand):
    help = "Make the organiser of SUPERUSER_EMAIL and SUPERUSER_PASSWORD, unless there is such an account already."

    def handle(self, *args: Any, **options: Any) -> None:
        email = settings.SUPERUSER_EMAIL
        username = email.partition("@")[0]
        if not settings.SUPERUSER_PASSWORD:
            self.stdout.write("SUPERUSER_PASSWORD is not set: no organiser is made.")
            return
        if not username:
            raise CommandError("SUPERUSER_PASSWORD is set. SUPERUSER_EMAIL is needed as well.")
        try:
            made = organiser_ensure(email=email, username=username, password=settings.SUPERUSER_PASSWORD)
        except Refused as refusal:
            raise CommandError(f"The organiser {username} of SUPERUSER_EMAIL is not made: {refusal}") from None
        self.stdout.write(
            f"The organiser {username} is made. Take SUPERUSER_PASSWORD out of the variables now."
            if made
            else f"There is an account {username} or {email} already: nothing is changed."
        )
