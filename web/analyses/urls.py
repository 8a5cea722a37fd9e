"""Addresses of the pages of analyses and playouts."""

from __future__ import annotations

from django.urls import path

from web.analyses import playout_views as playouts
from web.analyses import views as analyses

pages = [
    path("duels/<int:duel_id>/why/<int:player>/", analyses.why, name="duel_why"),
    path("duels/<int:duel_id>/matches/<int:number>/analysis/", analyses.analysis, name="match_analysis"),
    path("duels/<int:duel_id>/matches/<int:number>/analyse/", analyses.analyse, name="match_analyse"),
    path("duels/<int:duel_id>/matches/<int:number>/playouts/", playouts.part, name="match_playouts"),
    path("duels/<int:duel_id>/matches/<int:number>/playouts/new/", playouts.ask, name="match_playouts_ask"),
]
