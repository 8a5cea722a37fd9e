"""Accounts: created, changed and authenticated."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping

from allauth.account.models import EmailAddress
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpRequest

from arena_kit.text import plain_line
from core.errors import Refused
from core.models import LetterKind, User
from core.models.quota import QUOTA_FIELDS
from core.models.user import ANONYMOUS_EMAIL, ANONYMOUS_NAME, NO_MAILBOX, OF_TEAM, email_problem
from core.notices.letters import letter_write
from core.people.emails import email_changed_by_organiser, email_confirmed

MAIL_TAKEN = "There is already an account with this e-mail."
AS_LOGIN = "Without an e-mail, the user name is typed to log in, and may have no @."
NAME_TAKEN = "This user name is taken. Please try a different one."


def username_problem(name: str) -> str:
    """Return what is wrong with a user name that Django accepts; empty when nothing is."""
    # The name is part of addresses, where a leading dot has a special meaning.
    if not name[:1].isalnum():
        return "The name must begin with a letter or a digit."
    if plain_line(name) != name:
        return "The name contains characters that cannot be shown. Use plain letters and digits."
    return NAME_TAKEN if name.casefold() == ANONYMOUS_NAME else ""


def user_create(*, email: str, username: str, password: str | None, team: str = "", github: str = "") -> User:
    """Create an account, and mail it a link that confirms its e-mail address.

    password: None for people who log in with a provider. Raises Refused when the address or the name is taken, even at
    the same moment, or the address is not usable.
    """
    user = User(email=email, username=username, team=team, github=github, password=make_password(password))
    return _create(user, LetterKind.CONFIRM_EMAIL)


def user_invite(*, email: str, username: str, team: str = "", name: str = "") -> User:
    """Create an account for a person, and mail them a link to choose a password. Raises Refused as `user_create`.

    email: empty for a person without one, who gets a code (`core.people.codes`) instead.
    """
    user = User(email=email, username=username, team=team, first_name=name)
    user.set_unusable_password()
    return _create(user, LetterKind.INVITATION)


def team_account_create(*, username: str, team: str = "") -> User:
    """Create the account of a team, which owns agents and is never logged in to. Raises Refused as `user_create`.

    team: its name in class lists, by which it may take part in tournaments.
    """
    user = User(username=User.normalize_username(username), email=f"{secrets.token_hex(8)}{OF_TEAM}", team=team)
    user.set_unusable_password()
    try:
        User._meta.get_field("username").run_validators(user.username)
    except ValidationError:
        problem = "A team's name has up to 150 letters, digits and @ . + - _, and no spaces."
        raise Refused(problem, field="name") from None
    if problem := username_problem(user.username):
        raise Refused(problem, field="name")
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise Refused(NAME_TAKEN, field="name") from None
    return user


def _create(user: User, letter: LetterKind) -> User:
    """Save a new account and write it a letter."""
    email = user.email
    # Normalised first, because different characters can become the same name.
    user.username = User.normalize_username(user.username)
    if not email:
        if "@" in user.username:
            raise Refused(AS_LOGIN, field="username")
        email = f"{secrets.token_hex(8)}@none{NO_MAILBOX}"
    elif problem := email_problem(email):
        raise Refused(problem, field="email")
    if problem := username_problem(user.username):
        raise Refused(problem, field="username")
    user.email = User.objects.normalize_email(email)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            if user.has_usable_password():
                # Before the login and the worker that mails the letter, which would both make it, and one in vain: the
                # database's log would have the address. A provider's login makes its own.
                EmailAddress.objects.create(user=user, email=user.email.lower(), primary=True)
            letter_write(kind=letter, email=user.email)
    except IntegrityError:
        if User.objects.filter(email__iexact=email).exists():
            raise Refused(MAIL_TAKEN, field="email") from None
        raise Refused(NAME_TAKEN, field="username") from None
    return user


def organiser_ensure(*, email: str, username: str, password: str) -> User | None:
    """Create an organiser with all rights; None when an account has the address or the name, which stays as it is.

    The address counts as confirmed, because who configures the arena chose it. Raises Refused, also for a weak
    password.
    """
    username = User.normalize_username(username)
    if User.objects.filter(Q(email__iexact=email) | Q(username__iexact=username)).exists():
        return None
    try:
        validate_password(password, User(email=email, username=username))
        User._meta.get_field("username").run_validators(username)
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from None
    with transaction.atomic():
        user = user_create(email=email, username=username, password=password)
        user.is_staff = user.is_superuser = True
        user.save(update_fields=["is_staff", "is_superuser"])
        email_confirmed(user=user, email=user.email)
    return user


def user_update(*, user: User, **fields: str) -> None:
    """Change what a person may change: first_name, github and team."""
    for name, value in fields.items():
        setattr(user, name, value)
    user.save(update_fields=fields)


def profile_save(*, user: User, fields: Collection[str]) -> None:
    """Save what an organiser has changed about a person; a new address has to be confirmed. Raises Refused."""
    if "username" in fields and (problem := username_problem(user.username)):
        raise Refused(problem, field="username")
    before = User.objects.get(pk=user.pk)
    with transaction.atomic():
        user.save(update_fields=fields)
        if "email" in fields:
            email_changed_by_organiser(user=user, before=before)


def quotas_save(*, user: User, is_exempt: bool, quotas: Mapping[str, int | None]) -> None:
    """Set a person's own quotas, by the names of their columns; None defers to the environment."""
    user.is_quota_exempt = is_exempt
    for name in QUOTA_FIELDS:
        setattr(user, name, quotas[name])
    user.save(update_fields=["is_quota_exempt", *QUOTA_FIELDS])


def user_authenticate(*, request: HttpRequest, email: str, password: str) -> User | None:
    """Return the account of an e-mail (in any case) and password; None when they are wrong or the account is closed.

    request: identifies the sender for counting wrong passwords; None is also the answer after too many of them.
    """
    user = authenticate(request, username=email_stored(email), password=password)
    return user if isinstance(user, User) else None


def email_stored(email: str) -> str:
    """Return an account's e-mail as it is stored; without such an account, the e-mail as given.

    email: the user name for an account that has no e-mail.
    """
    found = User.objects.filter(email__iexact=email)
    if "@" not in email:
        found = User.objects.filter(username__iexact=email, email__endswith=NO_MAILBOX)
    return found.values_list("email", flat=True).first() or email


def anonymous_ensure() -> User:
    """Return the account that owns anonymous submissions, created when first needed; it has no login."""
    existing = User.objects.filter(email=ANONYMOUS_EMAIL).first()
    # A person may have taken the name before it was reserved.
    for name in (ANONYMOUS_NAME, f"{ANONYMOUS_NAME}-{secrets.token_hex(4)}"):
        if existing is not None:
            break
        user = User(email=ANONYMOUS_EMAIL, username=name)
        user.set_unusable_password()
        try:
            with transaction.atomic():
                user.save(force_insert=True)
            existing = user
        except IntegrityError:
            existing = User.objects.filter(email=ANONYMOUS_EMAIL).first()
    assert existing is not None, "a random name is free"
    return existing
