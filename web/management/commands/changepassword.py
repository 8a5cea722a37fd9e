"""Django's command that sets the password of an account, by the arena's rule for whatever changes who can log in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.db import transaction

from core.models import User
from core.people.access import access_changed


class Command(changepassword.Command):
    help = "Set the password of an account, by its e-mail address; its sessions end and its tokens are revoked."

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> str | None:
        said = super().handle(*args, **options)
        user = User.objects.get_by_natural_key(options["username"])
        access_changed(user=user, title="The operator of the site set your password")
        return str(said)
