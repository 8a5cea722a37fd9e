"""Remove all second factors of an account, for people who have lost them and whom no organiser can help."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from core.models import User


class Command(BaseCommand):
    help = "Remove the passkeys, the app and the recovery codes of an account, and end its sessions and tokens."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="e-mail address of the account")

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        with transaction.atomic():
            user = User.objects.select_for_update().filter(email__iexact=email).first()
            if user is None:
                raise CommandError(f"No account has the e-mail address {email}.")
            Authenticator.objects.filter(user=user).delete()
        self.stdout.write(f"The password alone opens the account {user.username} now.")
