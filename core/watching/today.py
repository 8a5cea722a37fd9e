"""Two figures about today: matches played, and people who were here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from allauth.usersessions.models import UserSession
from django.db.models import Exists, F, OuterRef, Q, Sum

from core.cache.answers import cached
from core.models import Duel, JobState, User

KEPT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Today:
    """Matches played since midnight, UTC, and people who used the site logged in since then."""

    match_count: int
    people_count: int


def today_get(now: datetime) -> Today:
    """Return the figures of today, at most five seconds old."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return cached(f"today:{midnight:%Y-%m-%d}", Today, lambda: _today(midnight), seconds=KEPT_SECONDS)


def _today(midnight: datetime) -> Today:
    ended = Duel.objects.filter(state=JobState.SUCCEEDED, ended_at__gte=midnight)
    counts = F("player_1_wins") + F("player_2_wins") + F("draws") + F("player_1_errors") + F("player_2_errors")
    found = ended.aggregate(matches=Sum(counts))["matches"]
    seen = UserSession.objects.filter(user=OuterRef("pk"), last_seen_at__gte=midnight)
    people = User.objects.filter(Exists(seen) | Q(last_login__gte=midnight), is_active=True)
    return Today(found or 0, people.count())
