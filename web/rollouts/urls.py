"""Addresses of the pages of rollouts, and of their API."""

from __future__ import annotations

from django.urls import path
from django.views.generic import RedirectView

from web.api.routing import both, native
from web.rollouts import api, batch_api, board_api, compatible_api, rollout_api
from web.rollouts import batch_views as batches
from web.rollouts import rollout_views as rollouts
from web.rollouts import views as applications

pages = [
    path("environments/<slug:slug>/tasks/", applications.tasks, name="rollout_tasks"),
    path("environments/<slug:slug>/tasks/<str:key>/", applications.task, name="rollout_task"),
    path("environments/<slug:slug>/told/", applications.told, name="rollouts_told"),
    path("environments/<slug:slug>/batches/", batches.batches, name="batches"),
    path("environments/<slug:slug>/batches/new/", batches.batch_new, name="batch_new"),
    path("batches/compare/", batches.batches_compared, name="batches_compared"),
    path("batches/<uuid:public_id>/", batches.batch, name="batch"),
    path("batches/<uuid:public_id>/cancel/", batches.cancel, name="batch_cancel"),
    path("rollouts/compare/", rollouts.rollouts_compared, name="rollouts_compared"),
    path("rollouts/<uuid:public_id>/", rollouts.rollout, name="rollout"),
    path("rollouts/<uuid:public_id>/cancel/", rollouts.cancel, name="rollout_cancel"),
    path("rollouts/<uuid:public_id>/judge/", rollouts.judge, name="rollout_judge"),
    path("rollouts/<uuid:public_id>/video/", rollouts.video, name="rollout_video"),
    path("rollouts/<uuid:public_id>/pictures/<str:name>", rollouts.picture, name="rollout_picture"),
    path("models/", RedirectView.as_view(pattern_name="web:organise_models"), name="models"),
]

routes = [
    *both("api/tasks/upload", compatible_api.TasksUpload, "dashboard_upload"),
    *both("api/tasks", compatible_api.Tasks, "dashboard_tasks"),
    *both("api/tasks/<str:key>", compatible_api.TaskShown, "dashboard_task"),
    *both("api/tasks/<str:key>/jobs", compatible_api.TaskJobs, "dashboard_task_jobs"),
    *both("api/rollouts", compatible_api.Rollouts, "dashboard_rollouts"),
    *both("api/rollouts/<str:public_id>", compatible_api.DashboardRollout, "dashboard_rollout"),
    *both("api/jobs/<str:public_id>", compatible_api.DashboardJob, "dashboard_job"),
    *both("api/compute/stats", compatible_api.ComputeStats, "dashboard_stats"),
    *native("applications/", api.ApplicationList, "applications"),
    *native("applications/<slug:slug>/board/", board_api.ApplicationBoard, "application_board"),
    *native("applications/<slug:slug>/tasks/<str:key>/", board_api.ApplicationTask, "application_task"),
    *native("applications/<slug:slug>/analytics/", api.ApplicationAnalytics, "application_analytics"),
    *native("packages/", api.PackageList, "packages"),
    *native("tasks/", api.TaskList, "tasks"),
    *native("tasks/tests/", api.TaskTests, "task_tests"),
    *native("batches/", batch_api.BatchList, "batches"),
    *native("batches/<uuid:public_id>/", batch_api.BatchShown, "batch"),
    *native("batches/<uuid:public_id>/cancel/", batch_api.BatchCancel, "batch_cancel"),
    *native("batches/<uuid:public_id>/export/", batch_api.BatchTrajectories, "batch_trajectories"),
    *native("batches/<uuid:public_id>/events/", batch_api.BatchEvents, "batch_events"),
    *native("models/", api.ModelList, "models"),
    *native("rollouts/", rollout_api.RolloutList, "rollouts"),
    *native("rollouts/export.<str:kind>", rollout_api.RolloutsExport, "rollouts_export"),
    *native("rollouts/<uuid:public_id>/", rollout_api.RolloutShown, "rollout"),
    *native("rollouts/<uuid:public_id>/steps/", rollout_api.RolloutSteps, "rollout_steps"),
    *native("rollouts/<uuid:public_id>/verdicts/", rollout_api.RolloutVerdicts, "rollout_verdicts"),
    *native("rollouts/<uuid:public_id>/export/", rollout_api.RolloutExport, "rollout_export"),
    *native("rollouts/<uuid:public_id>/events/", rollout_api.RolloutEvents, "rollout_events"),
    *native("rollouts/<uuid:public_id>/files/<slug:name>/", rollout_api.RolloutFile, "rollout_file"),
]
