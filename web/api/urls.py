"""Every address of the API. Each works with and without a final slash, so that no program is redirected."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, path, re_path, register_converter
from django.urls.converters import StringConverter
from rest_framework.views import APIView

from web.api.compatible import views as compatible
from web.api.docs_views import docs
from web.api.errors import not_found
from web.api.schema import schema
from web.comparisons import api as comparisons
from web.duels import api as duels
from web.duels import challenge_api as challenges
from web.duels import dataset_api as datasets
from web.duels import replay_api as replays
from web.environments import api as environments
from web.environments import folder_api as folders
from web.evaluations import api as evaluations
from web.evaluations import replay_api as recordings
from web.jobs import api as jobs
from web.kit import api as site
from web.notices import api as inbox
from web.people import account_api as accounts
from web.people import quota_api as quotas
from web.people import token_api as tokens
from web.ratings import lens_api as lenses
from web.rollouts import api as applications
from web.rollouts import batch_api as batches
from web.rollouts import compatible_api as dashboard
from web.rollouts import rollout_api as rollouts
from web.sittings import api as sittings
from web.submissions import api as agents
from web.submissions import validate_api as validation
from web.submissions import version_api as submissions
from web.tournaments import api as tournaments
from web.tournaments import registration_api as registrations
from web.tournaments import season_api as seasons
from web.tournaments import standing_api as standings


class EnvironmentId(StringConverter):
    """An id of Gymnasium; some have a namespace, like ALE/Pong-v5."""

    regex = "[^/]+(?:/[^/]+)*"


register_converter(EnvironmentId, "env_id")


def both(route: str, view: type[APIView], name: str) -> list[URLPattern]:
    """Return an address with and without a final slash; only the one given is in the schema."""
    twin = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    # drf-spectacular omits views without a schema.
    hidden: dict[str, Any] = {"schema": None}
    return [path(route, view.as_view(), name=name), path(twin, view.as_view(**hidden))]


def native(route: str, view: type[APIView], name: str) -> list[URLPattern]:
    return both(f"api/v1/{route}", view, name)


routes = [
    *both("api/submit/", compatible.Submit, "submit"),
    *both("api/results/<str:id>", compatible.Results, "results"),
    *both("api/leaderboard/", compatible.Leaderboard, "leaderboard"),
    *both("api/leaderboard/environments", compatible.LeaderboardEnvironments, "leaderboard_environments"),
    *both("leaderboard/<env_id:env_id>", compatible.LeaderboardOf, "leaderboard_of"),
    *both("submissions/", compatible.SubmissionsRoot, "submissions"),
    *both("submissions/<str:id>", compatible.SubmissionById, "submission_by_id"),
    *both("api/evaluation-metrics", compatible.EvaluationCounts, "evaluation_metrics"),
    *both("api/tasks/upload", dashboard.TasksUpload, "dashboard_upload"),
    *both("api/tasks", dashboard.Tasks, "dashboard_tasks"),
    *both("api/tasks/<str:key>", dashboard.TaskShown, "dashboard_task"),
    *both("api/tasks/<str:key>/jobs", dashboard.TaskJobs, "dashboard_task_jobs"),
    *both("api/rollouts", dashboard.Rollouts, "dashboard_rollouts"),
    *both("api/rollouts/<str:public_id>", dashboard.DashboardRollout, "dashboard_rollout"),
    *both("api/jobs/<str:public_id>", dashboard.DashboardJob, "dashboard_job"),
    *both("api/compute/stats", dashboard.ComputeStats, "dashboard_stats"),
    *both("health", compatible.HealthCheck, "health"),
    *native("", site.SiteShown, "site"),
    *native("accounts/", accounts.Accounts, "accounts"),
    *native("tokens/", tokens.TokenList, "tokens"),
    *native("tokens/<int:pk>/", tokens.TokenShown, "token"),
    *native("me/", tokens.Me, "me"),
    *native("me/quotas/", quotas.MyQuotas, "my_quotas"),
    *native("me/inbox/", inbox.Inbox, "my_inbox"),
    *native("me/inbox/<int:pk>/", inbox.NoticeRead, "my_notice"),
    *native("environments/", environments.EnvironmentList, "environments"),
    *native("environments/<slug:slug>/", environments.EnvironmentShown, "environment"),
    *native("environments/<slug:slug>/folder.zip", folders.EnvironmentFolder, "environment_folder"),
    *native("environments/<slug:slug>/matches.jsonl", datasets.EnvironmentMatches, "environment_matches"),
    *native("environments/<slug:slug>/board/", environments.EnvironmentBoard, "board"),
    *native("environments/<slug:slug>/leaderboard/", environments.EnvironmentLeaderboard, "environment_leaderboard"),
    *native("environments/<slug:slug>/seeds/", environments.EnvironmentSeeds, "seeds"),
    *native("environments/<slug:slug>/head-to-head/", lenses.EnvironmentHeadToHead, "head_to_head"),
    *native("environments/<slug:slug>/compare/", comparisons.EnvironmentComparison, "comparison"),
    *native("environments/<slug:slug>/lens/", lenses.EnvironmentLens, "lens"),
    *native("environments/<slug:slug>/calibration/", lenses.EnvironmentCalibration, "calibration"),
    *native("agents/", agents.AgentList, "agents"),
    *native("agents/<int:pk>/", agents.AgentShown, "agent"),
    *native("agents/<int:pk>/submissions/", agents.AgentVersions, "agent_submissions"),
    *native("agents/<int:pk>/opponents/", agents.AgentOpponents, "agent_opponents"),
    *native("agents/<int:pk>/rest/", agents.AgentRest, "agent_rest"),
    *native("validate/", validation.Validate, "validate"),
    *native("submissions/", submissions.SubmissionList, "native_submissions"),
    *native("submissions/<uuid:public_id>/", submissions.SubmissionShown, "native_submission"),
    *native("submissions/<uuid:public_id>/archive.zip", submissions.SubmissionArchive, "archive"),
    *native("tournaments/", tournaments.TournamentList, "tournaments"),
    *native("tournaments/<int:pk>/", tournaments.TournamentShown, "tournament"),
    *native("tournaments/<int:pk>/participants/", tournaments.ParticipantList, "participants"),
    *native("tournaments/<int:pk>/standing/", standings.TournamentStanding, "standing"),
    *native("tournaments/<int:pk>/registrations/", registrations.RegistrationList, "registrations"),
    *native("tournaments/<int:pk>/registrations/<int:agent_id>/", registrations.RegistrationShown, "registration"),
    *native("seasons/", seasons.SeasonList, "seasons"),
    *native("seasons/<int:pk>/", seasons.SeasonShown, "season"),
    *native("seasons/<int:pk>/table/", seasons.SeasonStanding, "season_table"),
    *native("ratings/", tournaments.RatingList, "ratings"),
    *native("challenges/", challenges.ChallengeList, "challenges"),
    *native("challenges/<int:pk>/", challenges.ChallengeShown, "challenge"),
    *native("challenges/<int:pk>/cancel/", challenges.ChallengeCancel, "challenge_cancel"),
    *native("sittings/", sittings.SittingList, "sittings"),
    *native("sittings/<uuid:public_id>/", sittings.SittingShown, "sitting"),
    *native("sittings/<uuid:public_id>/moves/", sittings.SittingMoves, "sitting_moves"),
    *native("sittings/<uuid:public_id>/resign/", sittings.SittingResign, "sitting_resign"),
    *native("duels/", duels.DuelList, "duels"),
    *native("duels/<int:pk>/", duels.DuelShown, "duel"),
    *native("duels/<int:pk>/matches/", duels.MatchList, "matches"),
    *native("duels/<int:pk>/matches/<int:number>/", duels.MatchShown, "match"),
    *native("duels/<int:pk>/matches/<int:number>/replay/", replays.MatchReplay, "replay"),
    *native("validations/<int:pk>/matches/<int:number>/replay/", replays.ValidationReplay, "validation_replay"),
    *native("evaluations/", evaluations.EvaluationList, "evaluations"),
    *native("evaluations/<int:pk>/", evaluations.EvaluationShown, "evaluation"),
    *native("evaluations/<int:pk>/episodes/", evaluations.EpisodeList, "episodes"),
    *native("evaluations/<int:pk>/episodes/<int:number>/", evaluations.EpisodeShown, "episode"),
    *native("evaluations/<int:pk>/recordings/<slug:choice>/replay/", recordings.RecordingReplay, "recording_replay"),
    *native("applications/", applications.ApplicationList, "applications"),
    *native("applications/<slug:slug>/board/", applications.ApplicationBoard, "application_board"),
    *native("applications/<slug:slug>/analytics/", applications.ApplicationAnalytics, "application_analytics"),
    *native("packages/", applications.PackageList, "packages"),
    *native("tasks/", applications.TaskList, "tasks"),
    *native("tasks/tests/", applications.TaskTests, "task_tests"),
    *native("batches/", batches.BatchList, "batches"),
    *native("batches/<uuid:public_id>/", batches.BatchShown, "batch"),
    *native("batches/<uuid:public_id>/cancel/", batches.BatchCancel, "batch_cancel"),
    *native("batches/<uuid:public_id>/export/", batches.BatchTrajectories, "batch_trajectories"),
    *native("batches/<uuid:public_id>/events/", batches.BatchEvents, "batch_events"),
    *native("models/", applications.ModelList, "models"),
    *native("rollouts/", rollouts.RolloutList, "rollouts"),
    *native("rollouts/export.<str:kind>", rollouts.RolloutsExport, "rollouts_export"),
    *native("rollouts/<uuid:public_id>/", rollouts.RolloutShown, "rollout"),
    *native("rollouts/<uuid:public_id>/steps/", rollouts.RolloutSteps, "rollout_steps"),
    *native("rollouts/<uuid:public_id>/verdicts/", rollouts.RolloutVerdicts, "rollout_verdicts"),
    *native("rollouts/<uuid:public_id>/export/", rollouts.RolloutExport, "rollout_export"),
    *native("rollouts/<uuid:public_id>/events/", rollouts.RolloutEvents, "rollout_events"),
    *native("rollouts/<uuid:public_id>/files/<slug:name>/", rollouts.RolloutFile, "rollout_file"),
    *native("jobs/", jobs.Queues, "jobs"),
    *native("jobs/<slug:kind>/", jobs.JobList, "jobs_of_kind"),
    *native("jobs/<slug:kind>/<int:pk>/", jobs.JobShown, "job"),
    *native("jobs/<slug:kind>/<int:pk>/log/", jobs.JobLog, "job_log"),
    *native("jobs/<slug:kind>/<int:pk>/cancel/", jobs.JobCancel, "job_cancel"),
    *native("jobs/<slug:kind>/<int:pk>/priority/", jobs.JobPriority, "job_priority"),
    path("api/docs", docs, name="docs"),
    path("api/docs/", docs),
    path("api/schema", schema, name="schema"),
    path("api/schema/", schema),
    # Unknown addresses, with line breaks as well, get JSON instead of a redirect to the same address with a slash.
    re_path(r"^api(?:/[\s\S]*)?$", not_found),
]
