"""The two accounts of the demo: an organiser, and the owner of the example agents."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.utils import timezone

from core.models import User

ORGANISER_EMAIL = "organiser@arena.example"
OWNER_EMAIL = "demo@arena.example"
PASSWORD_BYTES = 12


@dataclass(frozen=True, slots=True)
class DemoLogin:
    """A person's login. is_new: the account was created just now."""

    email: str
    password: str
    is_new: bool


def organiser_create(folder: Path) -> DemoLogin:
    """Make sure the organiser exists; the random password is kept in a file in `folder` for its owner only."""
    return _account(folder / "organiser-password", ORGANISER_EMAIL, "organiser", is_organiser=True)


def owner_create(folder: Path) -> User:
    """Make sure the owner of the example agents exists."""
    _account(folder / "demo-password", OWNER_EMAIL, "demo", is_organiser=False)
    return User.objects.get(email=OWNER_EMAIL)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{text}\n")


def _account(path: Path, email: str, username: str, *, is_organiser: bool) -> DemoLogin:
    existing = User.objects.filter(email=email).first()
    if existing is not None and path.exists():
        return DemoLogin(email, path.read_text().strip(), is_new=False)
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    user = existing or User(email=email, username=username, is_staff=is_organiser, is_superuser=is_organiser)
    user.set_password(password)
    # The demo sends no mail, so no address can be confirmed.
    user.email_confirmed_at = timezone.now()
    # The password file comes first: an account with an unknown password would be useless.
    write_private(path, password)
    user.save()
    return DemoLogin(email, password, is_new=existing is None)
