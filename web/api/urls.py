"""Addresses of the API that belong to no noun: those of older systems, its description, and the end of the table."""

from __future__ import annotations

from django.urls import path, re_path

from web.api.compatible import views as compatible
from web.api.docs_views import docs
from web.api.errors import not_found
from web.api.routing import both
from web.api.schema import schema

routes = [
    *both("api/submit/", compatible.Submit, "submit"),
    *both("api/results/<str:id>", compatible.Results, "results"),
    *both("api/leaderboard/", compatible.Leaderboard, "leaderboard"),
    *both("api/leaderboard/environments", compatible.LeaderboardEnvironments, "leaderboard_environments"),
    *both("leaderboard/<env_id:env_id>", compatible.LeaderboardOf, "leaderboard_of"),
    *both("submissions/", compatible.SubmissionsRoot, "submissions"),
    *both("submissions/<str:id>", compatible.SubmissionById, "submission_by_id"),
    *both("api/evaluation-metrics", compatible.EvaluationCountsView, "evaluation_metrics"),
    *both("health", compatible.HealthCheck, "health"),
    path("api/docs", docs, name="docs"),
    path("api/docs/", docs),
    path("api/schema", schema, name="schema"),
    path("api/schema/", schema),
    # Unknown addresses, with line breaks as well, get JSON instead of a redirect to the same address with a slash.
    re_path(r"^api(?:/[\s\S]*)?$", not_found),
]
