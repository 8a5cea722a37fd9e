"""Sessions: when and from where each was last used, how long it lasts, and how it ends.

django-allauth has the table. What changes who can
log in ends all of them in `core.people.access`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from allauth.usersessions.models import UserSession
from django.contrib.auth import logout
from django.contrib.auth.signals import user_logged_out
from django.contrib.sessions.models import Session
from django.db.models import Max, QuerySet
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from core.models import User

LONGEST = timedelta(days=14)
"""A session ends this long after its login, however much it is used."""
MOST = 50
"""An account has at most so many sessions; a login beyond them ends the one that was used last the longest ago."""
STAFF_IDLE = timedelta(hours=12)
"""An organiser's session ends when it was not used for this long."""
NOTED_AGAIN = timedelta(minutes=5)
"""The use of a session is noted this often at most."""
LOGGED_OUT = "_arena_logged_out"
"""The mark of a request that has logged its sender out."""
SEEN = "seen_at"
"""The place in a session for the Unix time of the last noted use."""
BEFORE = "visited_before_at"
"""The place in a session for the Unix time at which the visit before this one ended."""
VISIT_ENDS = timedelta(hours=2)
"""A visit ends when the session was not used for this long."""


def session_begin(request: HttpRequest, user: User) -> None:
    """Give a session that has just logged in its end, which no later use moves, and end the oldest of too many."""
    request.session.set_expiry(timezone.now() + LONGEST)
    last = UserSession.objects.filter(user=user).aggregate(last=Max("last_seen_at"))["last"]
    if last is not None:
        request.session[BEFORE] = int(last.timestamp())
    session_note(request, user)
    for row in session_list(user, now=timezone.now())[MOST:]:
        row.end()


@receiver(user_logged_out)
def _on_logout(request: HttpRequest | None, **_: object) -> None:
    if request is not None:
        UserSession.objects.filter(session_key=request.session.session_key).delete()
        setattr(request, LOGGED_OUT, True)


def is_logged_out(request: HttpRequest) -> bool:
    """Return whether this request has logged its sender out, whatever page did it."""
    return hasattr(request, LOGGED_OUT)


def session_use(request: HttpRequest, *, now: datetime) -> None:
    """Note the use of a logged-in session from time to time; end an organiser's that was idle for too long."""
    assert isinstance(request.user, User)
    idle = now.timestamp() - request.session.get(SEEN, 0)
    if SEEN in request.session and request.user.is_staff and idle > STAFF_IDLE.total_seconds():
        UserSession.objects.filter(session_key=request.session.session_key).delete()
        logout(request)
    elif idle > NOTED_AGAIN.total_seconds():
        if SEEN in request.session and idle > VISIT_ENDS.total_seconds():
            request.session[BEFORE] = request.session[SEEN]
        session_note(request, request.user)


def visited_before(request: HttpRequest) -> datetime | None:
    """Return when the visit before this one ended; None if that is not known."""
    found = request.session.get(BEFORE)
    return None if found is None else datetime.fromtimestamp(found, UTC)


def session_note(request: HttpRequest, user: User) -> None:
    """Note when and from where an account's session is used."""
    request.session[SEEN] = int(timezone.now().timestamp())
    UserSession.objects.create_from_request(request, user=user)


def session_list(user: User, *, now: datetime) -> QuerySet[UserSession]:
    """Return the open sessions of an account, the one that was used last first."""
    is_open = Session.objects.filter(expire_date__gt=now).values("session_key")
    rows: QuerySet[UserSession] = UserSession.objects.filter(user=user, session_key__in=is_open).order_by(
        "-last_seen_at", "-pk"
    )
    return rows.filter(last_seen_at__gt=now - STAFF_IDLE) if user.is_staff else rows


def session_end(*, user: User, session_id: int) -> bool:
    """End one session of an account; return False when the account has no such session."""
    row = UserSession.objects.filter(user=user, pk=session_id).first()
    if row is not None:
        row.end()
    return row is not None
