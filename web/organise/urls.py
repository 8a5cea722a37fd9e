"""The addresses of the organisers' pages."""

from __future__ import annotations

from django.urls import path

from web.organise import action_views as actions
from web.organise import overview_views as overview
from web.organise import tournament_views as tournaments

organise = [
    path("organise/", overview.overview, name="organise"),
    path("organise/tournaments/", tournaments.tournaments, name="organise_tournaments"),
    path("organise/tournaments/plan/", tournaments.plan, name="organise_plan"),
    path("organise/tournaments/<int:tournament_id>/", tournaments.replan, name="organise_replan"),
    path("organise/do/<slug:kind>/<int:row_id>/<slug:name>/", actions.action, name="organise_action"),
]
