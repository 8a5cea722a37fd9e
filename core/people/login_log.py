"""Records logins, including failed ones, and the providers that are added to accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.http import HttpRequest

from core.models import AccountEvent, User
from core.people.access import account_lock
from core.people.audit_log import account_log, account_record
from core.people.sessions import session_begin

METHOD_LIMIT = AccountEvent._meta.get_field("method").max_length


@receiver(user_logged_in)
def _on_login(request: HttpRequest, user: User, **_: object) -> None:
    session_begin(request, user)
    account_record(request, user, "log_in", method=_shown(request, user))


@receiver(user_logged_out)
def _on_logout(request: HttpRequest | None, user: User | None, **_: object) -> None:
    if request is not None and user is not None:
        account_log(request, user, "log_out")


# Before the row is saved: a login that cannot be written down is not added.
@receiver(pre_save, sender=SocialAccount)
def _on_provider(instance: SocialAccount, **_: object) -> None:
    request = context.request
    if instance._state.adding and request is not None and request.user == instance.user:
        with transaction.atomic():
            # A session that another request has ended meanwhile adds no login.
            account_lock(user=instance.user)
            account_record(request, instance.user, "add_login", note=f"{instance.provider}: {instance.uid}")


@receiver(user_login_failed)
def _on_failure(credentials: Mapping[str, Any], request: HttpRequest | None = None, **_: object) -> None:
    if request is None or _is_refused_unseen(request):
        return
    user = User.objects.filter(email__iexact=credentials.get("username") or "").first()
    note = "Wrong password, or a closed account."
    account_record(request, user, "log_in_failed", note=note, method="password", is_known=False)


def _shown(request: HttpRequest, user: User) -> str:
    """Return how a session has shown whose it is, such as `password, totp`."""
    records = get_authentication_records(request, user)
    return ", ".join(str(one.get("provider") or one.get("type") or one["method"]) for one in records)[:METHOD_LIMIT]


def _is_refused_unseen(request: HttpRequest) -> bool:
    """Return whether a lock stopped the login before a password was checked, so that the log does not grow with it.

    django-axes marks such a request, and also the one that starts the lock; it has counted the latter.
    """
    is_counted = getattr(request, "axes_failures_since_start", None) is not None
    return getattr(request, "axes_locked_out", False) and not is_counted
