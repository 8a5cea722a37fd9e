"""The two accounts of the demo: an organiser, and the owner of the example agents."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.utils import timezone

from core.models import User

ORGANISER, OWNER = "organiser", "demo"
PASSWORD_BYTES = 12


def account(folder: Path, name: str) -> User:
    """Return an account of the demo. At first it is created, with its password in a file for the owner of `folder`."""
    email, path = f"{name}@arena.example", folder / f"{name}-password"
    user = User.objects.filter(email=email).first()
    if user is not None and path.exists():
        return user
    is_organiser = name == ORGANISER
    user = user or User(email=email, username=name, is_staff=is_organiser, is_superuser=is_organiser)
    user.set_password(password := secrets.token_urlsafe(PASSWORD_BYTES))
    # The demo sends no mail, so no address can be confirmed.
    user.email_confirmed_at = timezone.now()
    # The examples belong to one account, and all of them play.
    user.is_quota_exempt = name == OWNER
    # The file comes first: an account with an unknown password would be useless.
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{password}\n")
    user.save()
    return user
