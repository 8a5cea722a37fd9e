"""Records what organisers do in the audit log, and what happens to every account in the site's log, for its owner."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from arena_kit.log_context import bound_fields
from core.addresses import client_address
from core.models import AccountEvent, ApiToken, AuditEntry, User

logger = logging.getLogger("arena.accounts")
Changes = dict[str, list[Any]]
SECRET_WORDS = ("password", "token", "secret", "digest", "key")
HIDDEN = "(not shown)"
# `data` of a second factor holds its secret.
LONG = frozenset({"log", "episodes", "metrics", "seeds", "result", "args", "kwargs", "data", "extra_data"})
TEXT_LIMIT = 500
LENGTHS = {field.name: field.max_length for field in AuditEntry._meta.concrete_fields}
DEVICE_LIMIT = AccountEvent._meta.get_field("device").max_length


@dataclass(frozen=True, slots=True)
class Operator:
    """The person who does something, and the channel and address that it comes from."""

    channel: AuditEntry.Channel
    name: str
    user_id: int | None = None
    address: str = ""
    request_id: str = ""


def sender_of(request: HttpRequest) -> User | AnonymousUser:
    """Return the person who sends a request, who may work as a team: then `request.user` is the account of the team."""
    token = getattr(request, "auth", None)
    person: User | AnonymousUser = getattr(request, "person", request.user)
    return token.owner if isinstance(token, ApiToken) else person


def operator_of(
    request: HttpRequest, channel: AuditEntry.Channel, user: User | AnonymousUser | None = None
) -> Operator:
    """Return the sender of a request. user: the sender, if the request does not know it yet."""
    user = sender_of(request) if user is None else user
    return Operator(
        channel=channel,
        name=user.username if isinstance(user, User) else "unknown",
        user_id=user.pk,
        address=client_address(request.META),
        request_id=str(bound_fields().get("request_id", "")),
    )


def account_record(
    request: HttpRequest,
    user: User | None,
    action: str,
    *,
    row: Model | None = None,
    note: str = "",
    method: str = "",
    channel: AuditEntry.Channel = AuditEntry.Channel.SITE,
    is_known: bool = True,
) -> None:
    """Record what a person does, or a stranger tries, with an account, and for an organiser's account in the audit log.

    user: None when no account has the name that was typed. row: the object, if it is not the account itself. method:
    the proof of the login, such as `password`. is_known: False when the person is not authenticated.
    """
    account_note(request, user, action, method=method, is_known=is_known)
    if user is not None and user.is_staff:
        operator = operator_of(request, channel, user if is_known else AnonymousUser())
        audit_record(operator=operator, action=action, row=row or user, note=note)


def account_note(
    request: HttpRequest, user: User | None, action: str, *, method: str = "", is_known: bool = True
) -> None:
    """Note what happens to an account in the site's log and for its owner. Arguments as of `account_record`."""
    account_log(request, user, action, method=method, is_known=is_known)
    if user is not None:
        address, device = client_address(request.META), storable(request.META.get("HTTP_USER_AGENT", ""))[:DEVICE_LIMIT]
        AccountEvent.objects.create(
            user=user, action=action, method=method, is_refused=not is_known, address=address, device=device
        )


def account_log(
    request: HttpRequest, user: User | None, action: str, *, method: str = "", is_known: bool = True
) -> None:
    """Write a line about an account into the site's log. Arguments as of `account_record`."""
    about = {"account": user.pk if user else None, "login_by": method, "outcome": "done" if is_known else "refused"}
    logger.info("Account: %s", action, extra={**about, "address": client_address(request.META)})


def audit_record(
    *, operator: Operator, action: str, row: Model | None = None, note: str = "", changes: Changes | None = None
) -> AuditEntry:
    """Record one action, or attempt, on one row (None: on the whole arena)."""
    values = {
        "operator": operator.name,
        "address": operator.address,
        "request_id": operator.request_id,
        "action": action,
        "model": row._meta.label_lower if row is not None else "",
        "object_id": str(row.pk) if row is not None else "",
        "object_name": str(row) if row is not None else "",
    }
    return AuditEntry.objects.create(
        channel=operator.channel,
        operator_id=operator.user_id,
        note=storable(note),
        changes=changes or {},
        # Values that are too long are cut, because a long name must not keep an action out of the log.
        **{name: storable(value)[: LENGTHS[name]] for name, value in values.items()},
    )


def row_values(row: Model) -> dict[str, Any]:
    """Return the loaded fields of a row as the log shows them, without secrets and long values."""
    loaded = row.get_deferred_fields()
    return {
        field.attname: shown(field.attname, field.value_from_object(row))
        for field in row._meta.concrete_fields
        if field.attname not in loaded and field.name not in LONG
    }


def row_changes(row: Model, before: Mapping[str, Any]) -> Changes:
    """Return what has changed in the database since `before` was taken from a row."""
    found = type(row)._base_manager.filter(pk=row.pk).only(*before).first() if row.pk is not None else None
    if found is None:
        return {name: [value, None] for name, value in before.items()}
    after = row_values(found)
    return {name: [value, after[name]] for name, value in before.items() if name in after and after[name] != value}


def shown(name: str, value: Any) -> Any:
    """Return a value as the log shows it: for a secret, only whether it is set."""
    if any(word in name.lower() for word in SECRET_WORDS):
        return HIDDEN if value else ""
    match value:
        case None | bool() | int() | float():
            return value
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case datetime() | date():
            return value.isoformat()
        case Model():
            return value.pk
        case QuerySet() | list() | tuple() | set():
            return [shown(name, one) for one in value]
    return storable(str(value))[:TEXT_LIMIT]


def names_of(rows: Iterable[Model]) -> list[str]:
    """Return rows by kind and name."""
    return [f"{row._meta.verbose_name} {row}" for row in rows]


def storable(text: str) -> str:
    """Return text without characters that a database cannot store."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
