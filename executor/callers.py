"""Who calls: the account of a token, or the account that a client's certificate names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from core.models import TokenScope, User
from core.people.second_factor_selectors import has_second_factor
from core.people.tokens import token_find
from executor.statuses import CallEnded, Code

HOW = "Create one for the executor on your profile page."
UNNAMED = f"Send a token in the metadata: authorization: Bearer TOKEN. {HOW}"
WRONG = f"This token is wrong, revoked, expired or of another scope. {HOW}"
NO_SECOND_FACTOR = "Organisers need a second factor, and this account has none. Set it up on your profile page."
NOT_NAMED = "Your certificate names no account: one of its alternative names (DNS) has to be the name of an account."


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity that a call shows. names: those of the certificate, if it has shown one. address: of the caller."""

    authorization: str = ""
    names: tuple[str, ...] = ()
    address: str = ""


def identity_of(
    metadata: Iterable[tuple[str, str | bytes]], peer: Mapping[str, Iterable[bytes]], address: str = ""
) -> Identity:
    """Return what a call shows. peer: gRPC's auth context, where the certificate of a client has its names.

    address: as gRPC writes it, such as `ipv4:192.0.2.1`.
    """
    sent = next((value for key, value in metadata if key == "authorization"), "")
    is_shown = "x509_pem_cert" in peer
    names = peer.get("x509_subject_alternative_name", ()) if is_shown else ()
    decoded = tuple(name.decode("utf-8", "replace") for name in names)
    return Identity(sent if isinstance(sent, str) else "", decoded, address.partition(":")[2].strip("[]"))


def caller_find(identity: Identity, *, by_certificate: bool, without_token: str = "") -> User:
    """Return the account that calls. Raises CallEnded.

    by_certificate: whether clients show certificates; then tokens are not read. without_token: the name of the account
    that calls without a token act for, on a developer's own machine.
    """
    if by_certificate:
        found = User.objects.filter(username__in=identity.names, is_active=True)[:2]
        if len(found) != 1:
            raise CallEnded(Code.UNAUTHENTICATED, NOT_NAMED)
        return _allowed(found[0])
    scheme, _, token = identity.authorization.partition(" ")
    if not identity.authorization and without_token:
        user = User.objects.filter(username=without_token, is_active=True).first()
        if user is None:
            raise CallEnded(Code.UNAUTHENTICATED, f"There is no account {without_token!r}.")
        return user
    if scheme.lower() != "bearer" or not token:
        raise CallEnded(Code.UNAUTHENTICATED, UNNAMED)
    row = token_find(token, now=timezone.now(), scope=TokenScope.EXECUTOR, address=identity.address)
    if row is None:
        raise CallEnded(Code.UNAUTHENTICATED, WRONG)
    _allowed(row.owner)
    return row.account


def _allowed(user: User) -> User:
    if user.is_staff and settings.REQUIRE_STAFF_TOTP and not has_second_factor(user):
        raise CallEnded(Code.UNAUTHENTICATED, NO_SECOND_FACTOR)
    return user
