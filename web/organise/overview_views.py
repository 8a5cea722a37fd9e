"""The organisers' first page: what runs, waits, fails and rings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from core.courses.sight import listed
from core.environments.availability import environment_missing_list
from core.models import Alarm, Audience, Tournament, TournamentState
from core.operations.queue_status import failed_list
from core.operations.status import running_list, watchdog_runs
from core.people.rights import may
from core.tournaments.calendar import tournament_past_list, tournament_planned_list, tournament_running_list
from web.operations.parts import queue_figures
from web.organise.alarms import advised
from web.site.organisers import organisers
from web.site.requests import viewer_of

ALARMS_SHOWN, RUNNING_SHOWN = 20, 20
FAILURES = timedelta(days=1)


@organisers()
def overview(request: HttpRequest) -> HttpResponse:
    """Show what an organiser should look at, as far as they may see it."""
    context: dict[str, Any] = {"tab": "organise", "now": timezone.now()}
    if may(request.user, "core.view_alarm"):
        context["alarms"] = advised(Alarm.objects.filter(settled_at=None)[:ALARMS_SHOWN])
    if may(request.user, "core.view_environment"):
        context["missing"] = environment_missing_list()
    if may(request.user, "core.view_worker"):
        context |= {
            **queue_figures(),
            **_running(),
            "watchdog_runs": watchdog_runs(),
            "failed": failed_list(timezone.now() - FAILURES),
        }
    if may(request.user, "core.view_tournament"):
        viewer = viewer_of(request)
        held = listed(Tournament.objects.filter(state=TournamentState.FINISHED), viewer)
        held = held.exclude(results=Audience.PUBLIC)
        context |= {
            "planned": tournament_planned_list(None, now=timezone.now(), viewer=viewer),
            "running_tournaments": tournament_running_list(None, viewer),
            "held": tournament_past_list(held.select_related("environment").order_by("-ended_at")),
        }
    return render(request, "web/organise/overview.html", context)


def _running() -> dict[str, Any]:
    """Return the running jobs, and their number from the same look at the rows, so that the two agree."""
    jobs = running_list()
    return {"running": len(jobs), "jobs": jobs[:RUNNING_SHOWN], "more_jobs": len(jobs[RUNNING_SHOWN:])}
