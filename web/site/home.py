"""The home page, and the icon and robots.txt that browsers and crawlers request."""

from collections.abc import Sequence
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import mark_safe

from core.cache.answers import cached
from core.courses.teams import teams_of
from core.duels.featured import featured_get
from core.models import Environment, User
from core.notices.selectors import inbox
from core.people.audit_log import sender_of
from core.people.sessions import visited_before
from core.ratings.board import DAY
from core.submissions.examples import takes_example
from core.submissions.overview import own_overview
from core.tournaments.calendar import tournament_planned_list, tournament_running_list
from core.tournaments.cards import environment_cards
from core.tournaments.registration_selectors import invited_to
from core.watching.today import today_get
from core.watching.wall import running_duels
from web.site.requests import viewer_of

EASIEST = ("tic-tac-toe", "cart-pole")
"""The environments that the first steps of new people name."""
RUNNING_SHOWN, PLANNED_SHOWN, PLAYING_SHOWN, NOTICES_SHOWN = 4, 4, 3, 4
WATCHED_SECONDS = 5.0
"""How long what home shows of duels and the film of /live/ are kept, which are the same for everyone."""


class Watched(NamedTuple):
    """The duels that everyone may see, as HTML, and the key of one that can be watched, 0 without one."""

    cards: str
    film: str
    duel: int


def home(request: HttpRequest) -> HttpResponse:
    """Show what can be watched, and all environments: games, tasks for one agent, and whole applications."""
    viewer = viewer_of(request)
    cards = environment_cards(viewer)
    tasks = [card for card in cards if card.environment.is_scored and not card.environment.is_app]
    waiting = (
        [card for card in tasks if not card.figures.agent_count]
        if any(card.figures.agent_count for card in tasks)
        else []
    )
    planned = tournament_planned_list(None, now=timezone.now(), viewer=viewer)[:PLANNED_SHOWN]
    own = _own(request)
    is_new = isinstance(request.user, User) and not own["own"]
    context = {
        "today": today_get(timezone.now()),
        **own,
        "cards": cards,
        "planned": planned,
        "invited": invited_to(request.user) if planned and isinstance(request.user, User) else (),
        "games": [card for card in cards if not card.environment.is_scored],
        # Tasks without a ranked agent are a short list of names below those with some.
        "tasks": [card for card in tasks if card.figures.agent_count] or tasks,
        "waiting_tasks": [card for card in waiting if card.environment.is_available],
        "missing_tasks": [card for card in waiting if not card.environment.is_available],
        "watched": watched(),
        "running": tournament_running_list(None, viewer)[:RUNNING_SHOWN],
        "example": _example_environment([card.environment for card in cards]) if is_new else None,
        "applications": [card for card in cards if card.environment.is_app],
    }
    return render(request, "web/site/home.html", context)


def watched() -> Watched:
    """Return what everyone may watch, up to WATCHED_SECONDS old."""
    found = cached("home:watched", Watched, _watched_now, seconds=WATCHED_SECONDS)
    return found._replace(cards=mark_safe(found.cards), film=mark_safe(found.film))  # noqa: S308  (templates, which escape)


def _watched_now() -> Watched:
    found = featured_get()
    shown = {"playing": running_duels()[:PLAYING_SHOWN], "featured": found.duels, "films": found.films}
    film = render_to_string("web/site/parts/film.html", shown).strip() if found.films else ""
    cards = render_to_string("web/site/parts/watched.html", shown).strip()
    return Watched(cards, film, found.duels[0].duel.pk if found.duels else 0)


def _own(request: HttpRequest) -> dict[str, object]:
    """Return the viewer's agents and news; for strangers nothing."""
    if not isinstance(request.user, User):
        return {"own": (), "own_notices": ()}
    person = sender_of(request)
    assert isinstance(person, User)
    unread = inbox(person).filter(read_at=None).select_related("agent__environment", "rival")
    since = visited_before(request)
    own = own_overview(request.user, since=since or timezone.now() - DAY)
    teams = () if request.user.is_team else teams_of(request.user)
    return {"own": own, "own_since": since, "own_notices": unread[:NOTICES_SHOWN], "own_teams": teams}


def _example_environment(environments: Sequence[Environment]) -> Environment | None:
    """Return the easiest environment that takes the random example; None without one."""
    easiest = sorted(environments, key=lambda row: EASIEST.index(row.slug) if row.slug in EASIEST else len(EASIEST))
    return next((row for row in easiest if takes_example(row)), None)


def icon(request: HttpRequest) -> HttpResponse:
    """Redirect /favicon.ico, which browsers request for pages that name no icon, to the icon."""
    return redirect(static("web/icon.svg"))


def robots(request: HttpRequest) -> HttpResponse:
    """Ask crawlers to skip pages that only people with an account use, the API, and logs."""
    own = ("account_login", "account_signup", "web:inbox", "web:profile", "web:organise")
    closed = [reverse(name) for name in own]
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in (*closed, reverse("admin:index"), "/api/", "/*/logs/"))]
    lines.append(f"Sitemap: {request.build_absolute_uri(reverse('web:sitemap'))}")
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")
