"""Accounts."""

from __future__ import annotations

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction

from core.errors import Refused
from core.models import User


def user_create(*, email: str, username: str, password: str, team: str = "", github: str = "") -> User:
    """Create an account. Raises Refused when the e-mail or the name is taken, also by somebody a moment ago."""
    user = User(
        email=User.objects.normalize_email(email), username=User.normalize_username(username), team=team, github=github
    )
    user.password = make_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        if User.objects.filter(email__iexact=email).exists():
            raise Refused("There is an account with this e-mail already.", field="email") from None
        raise Refused("This user name is taken. Please try a different one.", field="username") from None
    return user


def user_update(*, user: User, github: str, team: str | None = None) -> None:
    """Change what a person may change; team None keeps the team."""
    user.github = github
    if team is not None:
        user.team = team
    user.save(update_fields=["github", "team"])
