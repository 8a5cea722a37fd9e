"""Addresses of the pages of submissions, and of their API."""

from __future__ import annotations

from django.urls import path

from web.api.routing import native
from web.site.urls import AGENT
from web.submissions import api, blunder_api, validate_api, version_api
from web.submissions import blunder_views as positions
from web.submissions import download_views as downloads
from web.submissions import source_views as sources
from web.submissions import status_views as status
from web.submissions import submit_views as submitting
from web.submissions import views as agents

pages = [
    path("submit/", submitting.submit, name="submit"),
    path("status/", status.status, name="status"),
    path(AGENT, agents.agent, name="agent"),
    path(AGENT + "rest/", agents.agent_rest, {"is_resting": True}, name="agent_rest"),
    path(AGENT + "play/", agents.agent_rest, {"is_resting": False}, name="agent_play"),
    path(AGENT + "delete/", agents.agent_delete, name="agent_delete"),
    path(AGENT + "name/", agents.agent_rename, name="agent_rename"),
    path(AGENT + "description/", agents.agent_describe, name="agent_describe"),
    path(AGENT + "blunders/", positions.blunders, name="agent_blunders"),
    path(AGENT + "versions/", agents.submission_create, name="submission_create"),
    path(AGENT + "versions/<int:number>/delete/", agents.submission_delete, name="submission_delete"),
    path(AGENT + "versions/<int:number>/cancel/", agents.submission_cancel, name="submission_cancel"),
    path(AGENT + "versions/<int:number>/activate/", agents.submission_activate, name="submission_activate"),
    path(AGENT + "versions/<int:number>/bench/", agents.submission_bench, name="submission_bench"),
    path("submissions/<int:submission_id>/source/", sources.source, name="submission_source"),
    path("submissions/<int:submission_id>/archive.zip", downloads.submission_archive, name="submission_archive"),
    path("submissions/<int:submission_id>/sbom.json", downloads.submission_sbom, name="submission_sbom"),
    path("submissions/<int:submission_id>/logs/<slug:log>/", downloads.submission_log, name="submission_log"),
]

routes = [
    *native("agents/", api.AgentList, "agents"),
    *native("agents/<int:pk>/", api.AgentShown, "agent"),
    *native("agents/<int:pk>/submissions/", api.AgentVersions, "agent_submissions"),
    *native("agents/<int:pk>/opponents/", api.AgentOpponents, "agent_opponents"),
    *native("agents/<int:pk>/blunders/", blunder_api.AgentBlunders, "agent_blunders"),
    *native("agents/<int:pk>/rest/", api.AgentRest, "agent_rest"),
    *native("validate/", validate_api.Validate, "validate"),
    *native("submissions/", version_api.SubmissionList, "native_submissions"),
    *native("submissions/<uuid:public_id>/", version_api.SubmissionShown, "native_submission"),
    *native("submissions/<uuid:public_id>/archive.zip", version_api.SubmissionArchive, "archive"),
]
