"""Addresses of the pages of sittings, and of their API."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.site.urls import AGENT
from web.sittings import api
from web.sittings import branch_views as branches
from web.sittings import finished_views as finished
from web.sittings import views as sittings

pages = [
    path(AGENT + "sit/", sittings.begin, name="sit"),
    path(AGENT + "opponents/", sittings.opponents, name="agent_opponents"),
    path("play/", sittings.play, name="play"),
    path("play/<str:name>/", sittings.invitation, name="invitation"),
    path("sittings/<uuid:public_id>/", sittings.sitting, name="sitting"),
    path("sittings/<uuid:public_id>/move/", sittings.move, name="sitting_move"),
    path("sittings/<uuid:public_id>/help/", sittings.assist, name="sitting_help"),
    path("sittings/<uuid:public_id>/resign/", sittings.resign, name="sitting_resign"),
    path("sittings/<uuid:public_id>/analysis/", finished.sitting_analysis, name="sitting_analysis"),
    path("sittings/<uuid:public_id>/analyse/", finished.sitting_analyse, name="sitting_analyse"),
    path("sittings/<uuid:public_id>/from/<int:ply>/", branches.go_on_sitting, name="go_on_sitting"),
    path("sittings/<uuid:public_id>/from/<int:ply>/sit/", branches.sit_down_again, name="go_on_sitting_sit"),
    path("sittings/<uuid:public_id>/card.png", finished.sitting_card, name="sitting_card"),
    path("sittings/<uuid:public_id>/frames.json", finished.sitting_frames, name="sitting_frames"),
    path("sittings/<uuid:public_id>/replay.<slug:form>", finished.sitting_replay, name="sitting_replay"),
    path("duels/<int:duel_id>/matches/<int:number>/from/<int:ply>/", branches.go_on, name="go_on"),
    path("duels/<int:duel_id>/matches/<int:number>/from/<int:ply>/sit/", branches.sit_down, name="go_on_sit"),
    path("duels/<int:duel_id>/matches/<int:number>/from/<int:ply>/play/", branches.let_play, name="go_on_play"),
]

routes = [
    *native("sittings/", api.SittingList, "sittings"),
    *native("sittings/<uuid:public_id>/", api.SittingShown, "sitting"),
    *native("sittings/<uuid:public_id>/moves/", api.SittingMoves, "sitting_moves"),
    *native("sittings/<uuid:public_id>/resign/", api.SittingResign, "sitting_resign"),
]
