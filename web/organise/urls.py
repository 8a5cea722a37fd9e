"""The addresses of the organisers' pages."""

from __future__ import annotations

from django.urls import path

from web.organise import action_views as actions
from web.organise import agent_views as agents
from web.organise import audit_views as audits
from web.organise import environment_views as environments
from web.organise import overview_views as overview
from web.organise import people_views as people
from web.organise import tournament_views as tournaments
from web.organise import webhook_views as webhooks
from web.organise import worker_views as workers

pages = [
    path("organise/", overview.overview, name="organise"),
    path("organise/tournaments/", tournaments.tournaments, name="organise_tournaments"),
    path("organise/tournaments/plan/", tournaments.plan, name="organise_plan"),
    path("organise/tournaments/<int:tournament_id>/", tournaments.replan, name="organise_replan"),
    path("organise/people/", people.people, name="organise_people"),
    path("organise/people/links/", people.links, name="organise_links"),
    path("organise/people/class/", people.class_list, name="organise_class"),
    path("organise/people/<int:user_id>/", people.person, name="organise_person"),
    path("organise/agents/", agents.agents, name="organise_agents"),
    path("organise/environments/", environments.environments, name="organise_environments"),
    path("organise/workers/", workers.workers, name="organise_workers"),
    path("organise/webhooks/", webhooks.webhooks, name="organise_webhooks"),
    path("organise/webhooks/add/", webhooks.webhook_add, name="organise_webhook_add"),
    path("organise/webhooks/<int:webhook_id>/", webhooks.webhook_change, name="organise_webhook"),
    path("organise/audit/", audits.audit, name="organise_audit"),
    path("organise/do/<slug:kind>/<int:row_id>/<slug:name>/", actions.action, name="organise_action"),
]
