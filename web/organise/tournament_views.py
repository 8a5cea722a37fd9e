"""The organisers' pages of tournaments: the list, and the plan of one with its preview."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from core.courses.sight import listed, seen
from core.errors import Refused
from core.models import Audience, Course, Environment, Tournament, TournamentState
from core.people.rights import may
from core.tournaments.calendar import (
    tournament_past_list,
    tournament_past_rows,
    tournament_planned_list,
    tournament_running_list,
)
from core.tournaments.planning import tournament_plan, tournament_relabel, tournament_replan
from core.tournaments.preview import plan_preview
from web.organise.acting import record
from web.organise.audits import form_changes
from web.organise.forms import zoned
from web.organise.plan_forms import played_environments
from web.organise.presets import PRESETS, preset_values
from web.organise.tournament_forms import RelabelForm, TournamentForm
from web.site.forms import refuse
from web.site.organisers import check, organiser, organisers, sent
from web.site.requests import page_number, viewer_of, whole_number

PAST_A_PAGE = 25


@organisers("core.view_tournament")
def tournaments(request: HttpRequest) -> HttpResponse:
    """Show tournaments with what can be done with them, and the ways to plan one."""
    viewer = viewer_of(request)
    page = Paginator(tournament_past_rows(None, viewer), PAST_A_PAGE).get_page(page_number(request.GET))
    held = listed(Tournament.objects.filter(state=TournamentState.FINISHED), viewer)
    held = held.exclude(results=Audience.PUBLIC)
    context = {
        "tab": "organise_tournaments",
        "presets": PRESETS,
        "planned": tournament_planned_list(None, now=timezone.now(), viewer=viewer),
        "running": tournament_running_list(None, viewer),
        "held": tournament_past_list(held.select_related("environment").order_by("-ended_at")),
        "past": tournament_past_list(page.object_list),
        "page": page,
    }
    return render(request, "web/organise/tournaments.html", context)


@login_required
def plan(request: HttpRequest) -> HttpResponse:
    """Plan a tournament, from a preset; with `preview`, only show what it would mean. course: of which it is."""
    chosen, course = request.GET.get("preset", ""), _course(request)
    check(request, "core.add_tournament", course.pk if course else None)
    environment = _environment(request, course, chosen)
    initial = preset_values(chosen, timezone.now(), environment) | {"environment": environment}
    if course is not None:
        initial["time_zone"] = course.time_zone
    with zoned(request, course):
        form = TournamentForm(sent(request), initial=initial, of=course)
        if _is_sent(request) and form.is_valid():
            form.instance.created_by = organiser(request)
            if _saved(request, form):
                return redirect("web:edition", form.instance.environment.slug, form.instance.edition)
        return _page(request, form, chosen=chosen)


@login_required
def replan(request: HttpRequest, tournament_id: int) -> HttpResponse:
    """Change a planned tournament, or what may still change about one that has begun."""
    row = Tournament.objects.select_related("environment", "season", "course").filter(pk=tournament_id).first()
    check(request, "core.change_tournament", row.course_id if row else None)
    if row is None:
        raise Http404("There is no such tournament.")
    of = None if may(request.user, "core.change_tournament") else row.course
    if row.state != TournamentState.PLANNED:
        return _relabel(request, row, of)
    with zoned(request, row):
        form = TournamentForm(sent(request), instance=row, of=of)
        if _is_sent(request) and form.is_valid() and _saved(request, form):
            return redirect("web:edition", row.environment.slug, row.edition)
        return _page(request, form)


def _course(request: HttpRequest) -> Course | None:
    """Return the course that `?course=` names. Raises Http404."""
    slug = request.GET.get("course", "")
    return get_object_or_404(seen(Course.objects.all(), viewer_of(request)), slug=slug) if slug else None


def _environment(request: HttpRequest, course: Course | None, chosen: str) -> Environment | None:
    """Return the environment with which a plan begins. chosen: the name of a preset."""
    known = played_environments().filter(is_active=True)
    named = known.filter(pk=whole_number(request.GET.get("environment", "")) or 0)
    free, scored = known.filter(course=None), [one.name for one in PRESETS if one.is_scored]
    fitting = free.filter(seats=1) if chosen in scored else free
    return named.first() or (known.filter(course=course).first() if course else None) or fitting.first() or free.first()


def _back(request: HttpRequest, course: Course | None) -> str:
    """Return the address of the page that leads to a plan."""
    if course is not None and not may(request.user, "core.view_tournament"):
        return reverse("web:course", args=[course.slug])
    return reverse("web:organise_tournaments")


def _relabel(request: HttpRequest, row: Tournament, of: Course | None) -> HttpResponse:
    """Change the name, the season and the audience of a tournament that has begun."""
    if row.state == TournamentState.CANCELLED:
        messages.error(request, "The tournament was cancelled, so nothing about it changes any more.")
        return redirect("web:edition", row.environment.slug, row.edition)
    form = RelabelForm(sent(request), instance=row, of=of)
    if form.is_valid() and _relabelled(request, form):
        return redirect("web:edition", row.environment.slug, row.edition)
    context = {
        "tab": "organise_tournaments",
        "form": form,
        "title": f"Change {row}",
        "back_address": _back(request, row.course),
    }
    return render(request, "web/organise/change.html", context, status=422 if form.errors else 200)


def _relabelled(request: HttpRequest, form: RelabelForm) -> bool:
    """Save a valid form; return False for a refusal, which the form shows."""
    row, data = form.instance, form.cleaned_data
    try:
        with transaction.atomic():
            tournament_relabel(
                tournament=row,
                name=data["name"],
                season=data["season"],
                about=data["about"],
                results=data.get("results", row.results),
            )
            record(request, "change", row, changes=form_changes(form, ()))
    except Refused as refusal:
        refuse(form, refusal)
        return False
    messages.success(request, f"{row} is changed.")
    return True


def _saved(request: HttpRequest, form: TournamentForm) -> bool:
    """Save the plan of a valid form; a plan that has become impossible meanwhile is refused at its field."""
    row, is_new = form.instance, form.instance.pk is None
    try:
        with transaction.atomic():
            data, now = form.cleaned_data, timezone.now()
            who = {name: data[name] for name in ("invited", "baselines")}
            if is_new:
                tournament_plan(tournament=row, **who, now=now)
            else:
                tournament_replan(tournament=row, **who, seeds=data.get("seeds"), now=now)
            record(request, "add" if is_new else "change", row, changes=form_changes(form, ()))
    except Refused as refusal:
        form.refuse(refusal)
        return False
    messages.success(request, f"{row} is {'planned' if is_new else 'changed'}.")
    return True


def _is_preview(request: HttpRequest) -> bool:
    """Return whether htmx sends the form for its preview, after each change."""
    return request.headers.get("HX-Target") == "preview"


def _is_sent(request: HttpRequest) -> bool:
    """Return whether the form is to be saved; a preview carries the button as well if it was just clicked."""
    return "save" in request.POST and not _is_preview(request)


def _page(request: HttpRequest, form: TournamentForm, chosen: str = "") -> HttpResponse:
    """Render the form; for htmx, which asks after every change, only the preview."""
    is_part = _is_preview(request)
    planned = form.planned() if form.is_bound and form.is_valid() else None
    data = form.cleaned_data if planned else {}
    context: dict[str, Any] = {
        "tab": "organise_tournaments",
        "form": form,
        "back_address": _back(request, form.of),
        "presets": PRESETS,
        "chosen": chosen,
        "plays_alone": planned is not None and planned.plays_alone,
        "preview": plan_preview(planned, data["invited"], data["baselines"]) if planned else None,
        "is_new": form.instance.pk is None,
    }
    template = "web/organise/preview.html" if is_part else "web/organise/plan.html"
    return render(request, template, context, status=422 if form.errors and not is_part else 200)
