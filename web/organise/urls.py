"""The addresses of the organisers' pages."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.organise import action_views as actions
from web.organise import agent_views as agents
from web.organise import api
from web.organise import audit_views as audits
from web.organise import edit_views as edit
from web.organise import environment_views as environments
from web.organise import overview_views as overview
from web.organise import people_views as people
from web.organise import sheet_views as sheets
from web.organise import tournament_views as tournaments
from web.organise import webhook_views as webhooks
from web.organise import worker_views as workers
from web.organise.sheets import SHEETS

pages = [
    path("organise/", overview.overview, name="organise"),
    path("organise/tournaments/", tournaments.tournaments, name="organise_tournaments"),
    path("organise/tournaments/plan/", tournaments.plan, name="organise_plan"),
    path("organise/tournaments/<int:tournament_id>/", tournaments.replan, name="organise_replan"),
    path("organise/people/", people.people, name="organise_people"),
    path("organise/people/links/", people.links, name="organise_links"),
    path("organise/people/class/", people.class_list, name="organise_class"),
    path("organise/people/<int:user_id>/", people.person, name="organise_person"),
    path("organise/people/<int:user_id>/code/", people.person_code, name="organise_person_code"),
    path("organise/people/<int:row_id>/profile/", edit.change, {"kind": "user"}, name="organise_change_user"),
    path("organise/agents/", agents.agents, name="organise_agents"),
    path("organise/agents/<int:row_id>/", edit.change, {"kind": "agent"}, name="organise_change_agent"),
    path("organise/environments/", environments.environments, name="organise_environments"),
    path(
        "organise/environments/<int:row_id>/", edit.change, {"kind": "environment"}, name="organise_change_environment"
    ),
    path("organise/workers/", workers.workers, name="organise_workers"),
    path("organise/webhooks/", webhooks.webhooks, name="organise_webhooks"),
    path("organise/applications/", sheets.first, {"tab": "organise_applications"}, name="organise_applications"),
    path("organise/jobs/", sheets.first, {"tab": "organise_jobs"}, name="organise_jobs"),
    *(path(f"organise/{sheet.slug}/", sheets.rows, {"kind": sheet.kind}, name=sheet.name) for sheet in SHEETS),
    path("organise/folders/add/", edit.add, {"kind": "environmenttrial"}, name="organise_add_environmenttrial"),
    path("organise/jobs/<slug:kind>/<int:job_id>/", sheets.job, name="organise_job"),
    *(
        route
        for slug, kind in (
            ("webhooks", "webhook"),
            ("seasons", "season"),
            ("schedules", "tournamentschedule"),
            ("packages", "package"),
            ("models", "languagemodel"),
        )
        for route in (
            path(f"organise/{slug}/add/", edit.add, {"kind": kind}, name=f"organise_add_{kind}"),
            path(f"organise/{slug}/<int:row_id>/", edit.change, {"kind": kind}, name=f"organise_change_{kind}"),
        )
    ),
    path("organise/audit/", audits.audit, name="organise_audit"),
    path("organise/do/<slug:kind>/<int:row_id>/<slug:name>/", actions.action, name="organise_action"),
    path("organise/do/<slug:kind>/<slug:name>/", actions.action, name="organise_actions"),
]

routes = [
    *native("tournaments/<int:pk>/acts/picture/", api.TournamentPicture, "tournament_picture"),
    *native("tournaments/<int:pk>/acts/<slug:name>/", api.TournamentAct, "tournament_act"),
]
