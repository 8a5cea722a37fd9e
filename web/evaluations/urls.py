"""Addresses of the pages of evaluations, and of their API."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.evaluations import api
from web.evaluations import views as evaluations

pages = [
    path("evaluations/<int:evaluation_id>/", evaluations.evaluation, name="evaluation"),
    path("evaluations/<int:evaluation_id>/records.zip", evaluations.records, name="evaluation_records"),
    path("evaluations/<int:evaluation_id>/logs/<slug:log>/", evaluations.log, name="evaluation_log"),
    path("evaluations/<int:evaluation_id>/episodes/<slug:choice>/", evaluations.episode, name="episode"),
    path(
        "evaluations/<int:evaluation_id>/episodes/<slug:choice>/frames.json",
        evaluations.episode_states,
        name="episode_frames",
    ),
    path(
        "evaluations/<int:evaluation_id>/episodes/<slug:choice>/replay.<slug:form>",
        evaluations.replay_file,
        name="recording_replay",
    ),
    path(
        "evaluations/<int:evaluation_id>/episodes/<slug:choice>/<slug:name>",
        evaluations.recording_file,
        name="recording_file",
    ),
]

routes = [
    *native("evaluations/", api.EvaluationList, "evaluations"),
    *native("evaluations/<int:pk>/", api.EvaluationShown, "evaluation"),
    *native("evaluations/<int:pk>/episodes/", api.EpisodeList, "episodes"),
    *native("evaluations/<int:pk>/episodes/<int:number>/", api.EpisodeShown, "episode"),
    *native("evaluations/<int:pk>/recordings/<slug:choice>/replay/", api.RecordingReplay, "recording_replay"),
]
