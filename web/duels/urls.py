"""Addresses of the pages of duels, and of their API."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.duels import api, dataset_api, replay_api
from web.duels import download_views as downloads
from web.duels import replay_views as replays
from web.duels import views as duels

pages = [
    path("duels/<int:duel_id>/", duels.duel, name="duel"),
    path("duels/<int:duel_id>/matches/<int:number>/", duels.match, name="match"),
    path("duels/<int:duel_id>/matches/<int:number>/frames.json", duels.match_frames, name="match_frames"),
    path("duels/<int:duel_id>/matches/<int:number>/replay.<slug:form>", replays.match_replay, name="match_replay"),
    path("embed/duels/<int:duel_id>/matches/<int:number>/", replays.embedded_match, name="embedded_match"),
    path("embed/duels/<int:duel_id>/matches/<int:number>/card.png", replays.match_card, name="match_card"),
    path("duels/<int:duel_id>/results.json.gz", downloads.duel_results, name="duel_results"),
    path("duels/<int:duel_id>/records.zip", downloads.duel_records, name="duel_records"),
    path("duels/<int:duel_id>/logs/<slug:log>/", downloads.duel_log, name="duel_log"),
    path("validations/<int:validation_id>/matches/<int:number>/", duels.validation_match, name="validation_match"),
    path(
        "validations/<int:validation_id>/matches/<int:number>/frames.json",
        duels.validation_frames,
        name="validation_frames",
    ),
    path(
        "validations/<int:validation_id>/matches/<int:number>/replay.<slug:form>",
        replays.validation_replay,
        name="validation_replay",
    ),
]

routes = [
    *native("environments/<slug:slug>/matches.jsonl", dataset_api.EnvironmentMatches, "environment_matches"),
    *native("duels/", api.DuelList, "duels"),
    *native("duels/<int:pk>/", api.DuelShown, "duel"),
    *native("duels/<int:pk>/matches/", api.MatchList, "matches"),
    *native("duels/<int:pk>/matches/<int:number>/", api.MatchShown, "match"),
    *native("duels/<int:pk>/matches/<int:number>/replay/", replay_api.MatchReplay, "replay"),
    *native("validations/<int:pk>/matches/<int:number>/replay/", replay_api.ValidationReplay, "validation_replay"),
]
