"""Replays as files to download, and the page of a match that other sites embed."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from arena_kit.environment.replay_file.page import PageExtras
from core.duels.replays import embedded_page, replay_tag
from core.duels.selectors import NotStored, duel_get, match_get
from core.models import Duel
from core.tournaments.results import duel_check
from web.cards.drawing import card_png
from web.duels.match_parts import sharing
from web.site.embedding import embeddable, refusal
from web.site.played import get_duel, get_validation
from web.site.refusals import explained, status_of
from web.site.replays import form_of, match_response

EMBED_SECONDS = 300
"""How long browsers and caches keep an embedded match without asking again."""


@explained
def match_replay(request: HttpRequest, duel_id: int, number: int, form: str) -> HttpResponseBase:
    """Send a match of a duel as a file."""
    return match_response(request, get_duel(request, duel_id), number, form_of(form))


@explained
def validation_replay(request: HttpRequest, validation_id: int, number: int, form: str) -> HttpResponseBase:
    """Send a match of a submission against itself as a file, to people who may see its logs."""
    return match_response(request, get_validation(request, validation_id), number, form_of(form))


@require_safe
def embedded_match(request: HttpRequest, duel_id: int, number: int) -> HttpResponseBase:
    """Show a match in a page that other sites may embed, as visitors without an account see it."""

    def page(row: Duel) -> HttpResponse:
        record, count = match_get(row, number)
        shared = sharing(row, record, count)
        return HttpResponse(embedded_page(job=row, number=number, extras=PageExtras(shared.page, shared.tags)))

    return embedded(request, duel_id, number, "embed", page)


@require_safe
def match_card(request: HttpRequest, duel_id: int, number: int) -> HttpResponseBase:
    """Send the picture of a match's last position that other sites show for a link to it."""
    return embedded(
        request, duel_id, number, "card", lambda row: HttpResponse(card_png(row, number), content_type="image/png")
    )


def embedded(
    request: HttpRequest, duel_id: int, number: int, what: str, make: Callable[[Duel], HttpResponse]
) -> HttpResponseBase:
    """Answer with what other sites may show of a match, the same to everyone, or with a page that gives the reason."""
    try:
        row = duel_get(duel_id)
        duel_check(row, AnonymousUser())
        tag = replay_tag(row, number, what)
        response = get_conditional_response(request, etag=tag) or make(row)
        response["ETag"] = tag
        response["Cache-Control"] = f"public, max-age={EMBED_SECONDS}"
    except Duel.DoesNotExist:
        response = refusal("There is no such duel.", 404)
    except NotStored as missing:
        response = refusal(str(missing), status_of(missing))
    return embeddable(response)
