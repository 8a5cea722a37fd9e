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
class Login:
    """How a person logs in. `is_new`: the account was made just now."""

    email: str
    password: str
    is_new: bool


def organiser_create(folder: Path) -> Login:
    """Make sure the organiser exists; its random password is kept in `folder` for the owner's eyes only."""
    return _account(folder / "organiser-password", ORGANISER_EMAIL, "organiser", is_organiser=True)


def owner_create(folder: Path) -> User:
    """Make sure the owner of the example agents exists."""
    _account(folder / "demo-password", OWNER_EMAIL, "demo", is_organiser=False)
    return User.objects.get(email=OWNER_EMAIL)


def secret_key_path(folder: Path) -> Path:
    """The file with this arena's own secret key, written on the first start."""
    path = folder / "secret-key"
    if not path.exists():
        write_private(path, secrets.token_urlsafe(48))
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{text}\n")


def _account(path: Path, email: str, username: str, *, is_organiser: bool) -> Login:
    existing = User.objects.filter(email=email).first()
    if existing is not None and path.exists():
        return Login(email, path.read_text().strip(), is_new=False)
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    user = existing or User(email=email, username=username, is_staff=is_organiser, is_superuser=is_organiser)
    user.set_password(password)
    # The demo mails nothing, so there is no address to confirm.
    user.email_confirmed_at = timezone.now()
    # The file first: an account whose password nobody knows would be of no use.
    write_private(path, password)
    user.save()
    return Login(email, password, is_new=existing is None)
