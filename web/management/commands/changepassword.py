"""Django's command that sets the password of an account, by the arena's rule for whatever changes who can log in."""

from __future__ import annotations

import getpass
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.management.commands import changepassword
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction

from core.models import User
from core.people.access import access_changed


class Command(changepassword.Command):
    help = "Set the password of an account, by its e-mail address; its sessions end and its tokens are revoked."
    MAX_TRIES = 3

    def handle(self, *args: Any, **options: Any) -> str:
        """Ask for the password, then write that alone: Django's own would undo a ban made while it was typed."""
        try:
            user = User.objects.get_by_natural_key(options["username"])
        except User.DoesNotExist:
            raise CommandError(f"No account has the e-mail address {options['username']}.") from None
        self.stdout.write(f"Changing the password of {user}.")
        hashed = make_password(self._password(user))
        with transaction.atomic():
            User.objects.filter(pk=user.pk).update(password=hashed)
            access_changed(user=user, title="The operator of the site set your password")
        return f"The password of {user} is changed."

    def _password(self, user: User) -> str:
        """Return the password that the operator has typed twice. Raises CommandError after the third try."""
        for _ in range(self.MAX_TRIES):
            password = getpass.getpass(prompt="Password: ")
            if password != getpass.getpass(prompt="Password (again): "):
                self.stderr.write("The two passwords differ. Try again.")
                continue
            try:
                validate_password(password, user)
            except ValidationError as error:
                self.stderr.write("\n".join(error.messages))
                continue
            return password
        raise CommandError(f"The password of {user} is not changed, after {self.MAX_TRIES} tries.")
