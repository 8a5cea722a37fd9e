"""Addresses of the pages of tournaments, and of their API."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.site.urls import EDITION
from web.tournaments import api, plan_api, registration_api, screen_views, season_api, standing_api
from web.tournaments import calendar_views as calendar
from web.tournaments import registration_views as registrations
from web.tournaments import views as tournaments

pages = [
    path("tournaments/", calendar.calendar, name="tournament_calendar"),
    path("environments/<slug:slug>/tournaments/", calendar.tournament_list, name="tournaments"),
    path(EDITION + "register/", registrations.register, name="register"),
    path(EDITION + "withdraw/", registrations.withdraw, name="withdraw"),
    path(EDITION + "exchange/", registrations.exchange, name="exchange"),
    path(EDITION + "screen/", screen_views.screen, name="screen"),
    path(EDITION + "picture/<uuid:picture>/", tournaments.picture, name="tournament_picture"),
    path(EDITION + "agents/<str:name>/", tournaments.participant, name="participant"),
    path("environments/<slug:slug>/seasons/<int:season_id>/", calendar.season, name="season"),
    path(EDITION + "agents/<str:name>/withdraw/", tournaments.participant_withdraw, name="participant_withdraw"),
]

routes = [
    *native("tournaments/", plan_api.TournamentsPlanned, "tournaments"),
    *native("tournaments/<int:pk>/", api.TournamentShown, "tournament"),
    *native("tournaments/<int:pk>/participants/", api.ParticipantList, "participants"),
    *native("tournaments/<int:pk>/standing/", standing_api.TournamentStanding, "standing"),
    *native("tournaments/<int:pk>/registrations/", registration_api.RegistrationList, "registrations"),
    *native("tournaments/<int:pk>/registrations/<int:agent_id>/", registration_api.RegistrationShown, "registration"),
    *native("seasons/", season_api.SeasonList, "seasons"),
    *native("seasons/<int:pk>/", season_api.SeasonShown, "season"),
    *native("seasons/<int:pk>/table/", season_api.SeasonStanding, "season_table"),
    *native("ratings/", api.RatingList, "ratings"),
]
