"""Duels and their matches."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from core.models import Duel, PlayedJob, User, Validation
from core.selectors.agents import agent_source_visible
from core.selectors.duels import NotStored, duel_get, records_open, validation_get
from environments.archive_format import DuelArchive, MatchSummary
from environments.classic import match_result
from environments.records import Fault, MatchRecord, Outcome
from environments.registry import get_spec
from environments.replay import ReplayMismatch, replay

GROUPS = (
    ("player_1", "Won by {0}"),
    ("player_2", "Won by {1}"),
    ("draw", "Draws"),
    ("player_1_error", "Forfeited by {0}"),
    ("player_2_error", "Forfeited by {1}"),
)


def duel(request: HttpRequest, duel_id: int) -> HttpResponse:
    """A duel with all its matches by result."""
    row = get_duel(duel_id)
    names = (str(row.player_1), str(row.player_2))
    context: dict[str, Any] = {"duel": row, "environment": row.tournament.environment, "names": names}
    context["can_see_logs"] = [source_visible(request, player.agent) for player in (row.player_1, row.player_2)]
    if row.records:
        try:
            with records_open(row) as archive:
                context["groups"] = groups(archive, names)
        except NotStored as missing:
            context["missing"] = str(missing)
    if request.headers.get("HX-Target") == "duel":
        return render(request, "web/duel/body.html", context)
    return render(request, "web/duel/duel.html", context)


def match(request: HttpRequest, duel_id: int, number: int) -> HttpResponse:
    """The viewer on one match of a duel."""
    row = get_duel(duel_id)
    context = {
        "duel": row,
        "back": reverse("web:duel", args=[duel_id]),
        "names": (str(row.player_1), str(row.player_2)),
    }
    return viewer(request, row, number, "web:match", "web:match_frames", context)


def match_frames(request: HttpRequest, duel_id: int, number: int) -> HttpResponse:
    row = get_duel(duel_id)
    return frames(row, number, (str(row.player_1), str(row.player_2)))


def validation_match(request: HttpRequest, validation_id: int, number: int) -> HttpResponse:
    """The viewer on one match of a submission against itself, for those who may see its logs."""
    row = get_validation(request, validation_id)
    agent = row.submission.agent
    back = reverse("web:agent", args=[agent.environment.slug, agent.name])
    context = {"back": back, "names": validation_names(row)}
    return viewer(request, row, number, "web:validation_match", "web:validation_frames", context)


def validation_frames(request: HttpRequest, validation_id: int, number: int) -> HttpResponse:
    row = get_validation(request, validation_id)
    return frames(row, number, validation_names(row))


def viewer(
    request: HttpRequest, job: PlayedJob, number: int, page: str, data: str, context: dict[str, Any]
) -> HttpResponse:
    record, count = read_match(job, number)
    spec = get_spec(job.environment_version)
    context |= {
        "match": record,
        "environment": spec,
        "result": match_result(record),
        "first": context["names"][record.seats[0]],
        "second": context["names"][record.seats[-1]],
        "winner": {Outcome.PLAYER_1: context["names"][0], Outcome.PLAYER_2: context["names"][1]}.get(record.outcome),
        "error": record.error.partition("\n"),
        "match_count": count,
        "frames_url": reverse(data, args=[job.pk, number]),
        "previous_url": reverse(page, args=[job.pk, number - 1]) if number > 1 else "",
        "next_url": reverse(page, args=[job.pk, number + 1]) if number < count else "",
    }
    return render(request, "web/duel/match.html", context)


def frames(job: PlayedJob, number: int, names: tuple[str, str]) -> JsonResponse:
    """Every frame as a picture, a text and a caption."""
    record, _ = read_match(job, number)
    spec = get_spec(job.environment_version)
    states = []
    try:
        for position, step in enumerate(replay(spec, record)):
            moves = "; ".join(f"{names[record.seats[seat]]} played {action}" for seat, action in step.moves)
            caption = moves or f"{names[record.seats[0]]} begins"
            states.append({"svg": spec.render(step.frame), "text": step.text, "caption": f"{position}. {caption}"})
    except ReplayMismatch as mismatch:
        return JsonResponse({"error": str(mismatch)}, status=409)
    return JsonResponse({"frames": states})


def read_match(job: PlayedJob, number: int) -> tuple[MatchRecord, int]:
    """A match and how many there are. Raises Http404 with a sentence."""
    try:
        with records_open(job) as archive:
            return archive.match(number), archive.match_count
    except (NotStored, LookupError) as missing:
        raise Http404(str(missing)) from None


def groups(archive: DuelArchive, names: tuple[str, str]) -> list[tuple[str, str, list[MatchSummary]]]:
    """(key, title, matches) of every kind of result that occurred."""
    found: dict[str, list[MatchSummary]] = {}
    for summary in archive.index:
        found.setdefault(group_of(summary), []).append(summary)
    return [(key, title.format(*names), found[key]) for key, title in GROUPS if key in found]


def group_of(summary: MatchSummary) -> str:
    if summary.fault is Fault.PLAYER and summary.faulty_player is not None:
        return f"player_{summary.faulty_player + 1}_error"
    return summary.outcome.value.lower()


def validation_names(row: Validation) -> tuple[str, str]:
    return f"{row.submission} (1)", f"{row.submission} (2)"


def source_visible(request: HttpRequest, agent: Any) -> bool:
    assert request.user.is_anonymous or isinstance(request.user, User)
    return agent_source_visible(agent, request.user)


def get_duel(duel_id: int) -> Duel:
    try:
        return duel_get(duel_id)
    except Duel.DoesNotExist:
        raise Http404("There is no such duel.") from None


def get_validation(request: HttpRequest, validation_id: int) -> Validation:
    try:
        row = validation_get(validation_id)
    except Validation.DoesNotExist:
        raise Http404("There is no such validation.") from None
    if not source_visible(request, row.submission.agent):
        raise Http404("There is no such validation.")
    return row
