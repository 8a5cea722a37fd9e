"""Notices to people and events for webhooks: rows that `core.notices.mails` and `core.notices.deliveries` send.

Rows are written in the caller's transaction, so they exist exactly if the event happened, even when the mail server or
a receiver is down.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from core.jobs.messages import DELIVERIES_TASK, MAIL_TASK, task_request
from core.models import (
    Agent,
    Course,
    Delivery,
    Environment,
    EventKind,
    Member,
    Notice,
    NoticeChoice,
    NoticeKind,
    SeenBy,
    User,
    Webhook,
)
from core.notices.payloads import Event, body_of
from core.notices.selectors import choices

MAIL_PAUSE = timedelta(days=1)
"""Time between two mails about the same recurring subject."""
NAMED = 3
"""Number of names that a sentence lists."""
TITLE_LIMIT = Notice._meta.get_field("title").max_length or 0


@dataclass(frozen=True, slots=True)
class Message:
    """The content of a notice to one person. address: path of the page that shows more.

    agent, rival: an agent of that person, and one that it may challenge at once.
    """

    user: User
    title: str
    text: str
    address: str = ""
    about: str = ""
    """The subject of a recurring notice: a new notice replaces an unread one, and a mail is sent at most once a day."""
    agent: Agent | None = None
    rival: Agent | None = None


def notify(*, user: User, kind: NoticeKind, title: str, text: str, address: str = "", about: str = "") -> None:
    """Tell one person, as they have chosen. `Message` describes the arguments."""
    notify_each(kind=kind, messages=[Message(user, title, text, address, about)])


def notify_each(*, kind: NoticeKind, messages: Sequence[Message]) -> list[Notice]:
    """Tell many people at once, except closed accounts and that of anonymous clients."""
    heard = [one for one in _to_people(messages) if one.user.is_active and not one.user.is_system]
    chosen = choices(one.user for one in heard)
    now = timezone.now()
    rows: list[Notice] = []
    with transaction.atomic():
        mailed = _make_room([one for one in heard if one.about], kind, now)
        for one in heard:
            choice = chosen[one.user.pk, kind]
            is_mailed = choice.by_mail and one.user.email_confirmed_at is not None
            if not (choice.in_inbox or is_mailed):
                continue
            last = mailed.get((one.user.pk, one.about))
            mail_next_at = (max(now, last + MAIL_PAUSE) if last else now) if is_mailed else None
            rows.append(
                Notice(
                    user=one.user,
                    kind=kind,
                    title=" ".join(one.title.split())[:TITLE_LIMIT],
                    text=one.text,
                    address=one.address,
                    about=one.about,
                    agent=one.agent,
                    rival=one.rival,
                    in_inbox=choice.in_inbox,
                    created_at=now,
                    mail_next_at=mail_next_at,
                )
            )
        Notice.objects.bulk_create(rows, batch_size=500)
        if any(row.mail_next_at is not None and row.mail_next_at <= now for row in rows):
            task_request("publish", MAIL_TASK)
    return rows


def _to_people(messages: Sequence[Message]) -> Sequence[Message]:
    """Replace messages to a team by messages to its people, to each once."""
    teams = {one.user.pk for one in messages if one.user.is_team and one.user.is_active}
    if not teams:
        return messages
    people: dict[int, list[User]] = defaultdict(list)
    for account, member in _people(teams):
        people[account].append(member)
    told: dict[tuple[int, str, str], Message] = {}
    for one in messages:
        for user in people[one.user.pk] if one.user.is_team else [one.user]:
            # A person alone cannot challenge with an agent of the team.
            rival = None if one.user.is_team else one.rival
            told.setdefault((user.pk, one.title, one.text), replace(one, user=user, rival=rival))
    return list(told.values())


def _people(teams: Collection[int]) -> Iterator[tuple[int, User]]:
    """Yield the people of teams, each with the key of the team's account."""
    for row in Member.objects.filter(team__account__in=teams).select_related("user", "team").order_by("pk"):
        assert row.team is not None
        yield row.team.account_id, row.user


def _make_room(messages: Sequence[Message], kind: NoticeKind, now: datetime) -> dict[tuple[int, str], datetime]:
    """Delete unread notices that these replace; return the time of the last mail, by person and subject.

    A notice that was mailed is marked as read instead, because it records the time of its mail.
    """
    if not messages:
        return {}
    same = Notice.objects.filter(
        user__in={one.user.pk for one in messages}, kind=kind, about__in={one.about for one in messages}
    )
    found = same.exclude(mailed_at=None).order_by().values_list("user", "about").annotate(last=Max("mailed_at"))
    last = {(user, about): at for user, about, at in found}
    same.filter(read_at=None, mailed_at=None).delete()
    same.filter(read_at=None).update(read_at=now)
    return last


def was_told_since(user: User, kind: NoticeKind, about: str, since: datetime) -> bool:
    """Return whether a person, or one of a team, has been told of this subject after a moment."""
    people = [one for _, one in _people([user.pk])] if user.is_team else [user]
    return Notice.objects.filter(user__in=people, kind=kind, about=about, created_at__gt=since).exists()


def notices_read(*, user: User, notice_id: int | None = None, now: datetime | None = None) -> int:
    """Mark one notice of a person's inbox, or all, as read; return how many were unread."""
    rows = Notice.objects.filter(user=user, in_inbox=True, read_at=None)
    if notice_id is not None:
        rows = rows.filter(pk=notice_id)
    return rows.update(read_at=now or timezone.now())


def choices_save(*, user: User, wanted: Mapping[NoticeKind, tuple[bool, bool]]) -> None:
    """Store how a person wants to get notices of these kinds: (in the inbox, by mail)."""
    with transaction.atomic():
        for kind, (in_inbox, by_mail) in wanted.items():
            NoticeChoice.objects.update_or_create(
                user=user, kind=kind, defaults={"in_inbox": in_inbox, "by_mail": by_mail}
            )
        unwanted = [kind for kind, (_, by_mail) in wanted.items() if not by_mail]
        Notice.objects.filter(user=user, kind__in=unwanted).update(mail_next_at=None)


def mail_stop(*, user: User, kinds: Iterable[NoticeKind]) -> None:
    """Stop a person's mails of these kinds; the choices for the inbox stay."""
    chosen = choices([user])
    choices_save(user=user, wanted={kind: (chosen[user.pk, kind].in_inbox, False) for kind in kinds})


def announce(
    *,
    kind: EventKind,
    title: str,
    text: str,
    environment: Environment | None = None,
    course: Course | None = None,
    address: str = "",
    data: Mapping[str, Any] | None = None,
) -> list[Delivery]:
    """Send an event to the webhooks that want it. data: plain values by kind, see docs/reference/notifications.md.

    course: to which it belongs, if its environment does not. Of a course that is not for everyone webhooks get
    it only if they are about an environment of the course.
    """
    wanting = webhooks_wanting(kind, environment)
    own = course or (environment.course if environment is not None else None)
    if own is not None and own.seen_by != SeenBy.EVERYONE:
        wanting = [hook for hook in wanting if hook.environment is not None and hook.environment.course_id == own.pk]
    if not wanting:
        return []
    event = Event(uuid.uuid4(), kind, timezone.now(), title, text, address, environment, dict(data or {}))
    return [delivery_create(webhook=hook, event=event) for hook in wanting]


def webhooks_wanting(kind: EventKind, environment: Environment | None = None) -> list[Webhook]:
    """Return the webhooks that get events of a kind about an environment, or about none."""
    hooks = Webhook.objects.filter(Q(environment=None) | Q(environment=environment), is_active=True)
    return [hook for hook in hooks if kind.value in hook.kinds]


def delivery_create(*, webhook: Webhook, event: Event) -> Delivery:
    """Create a delivery and wake a worker."""
    row = Delivery.objects.create(
        webhook=webhook,
        event_id=event.id,
        kind=event.kind,
        body=body_of(event, webhook.format),
        next_at=event.at,
        created_at=event.at,
    )
    task_request("publish", DELIVERIES_TASK)
    return row


def listed(names: Iterable[str]) -> str:
    """Join the first few names, and the number of further ones, to a phrase."""
    found = list(names)
    more = len(found) - NAMED
    if more > 0:
        return f"{', '.join(found[:NAMED])} and {more} more"
    return " and ".join([", ".join(found[:-1]), found[-1]]) if len(found) > 1 else "".join(found)
