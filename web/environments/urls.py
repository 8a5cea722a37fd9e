"""Addresses of the pages of environments, and of their API."""

from __future__ import annotations

from django.urls import path
from django.views.generic import RedirectView

from web.api.routing import native
from web.environments import api, folder_api, upload_api
from web.environments import cite_views as cites
from web.environments import download_views as downloads
from web.environments import export_views as exports
from web.environments import static_views as statics
from web.environments import tab_views as tabs
from web.environments import upload_views as uploads
from web.environments import views as environments
from web.site.urls import EDITION

pages = [
    path("starter-kit/<slug:name>.zip", downloads.starter_kit, name="starter_kit"),
    path("static/environments/<slug:slug>/<str:name>", statics.environment_file, name="environment_file"),
    path("static/environment-<slug:slug>/<str:name>", statics.environment_file, name="environment_file_before"),
    path("environments/", RedirectView.as_view(url="/#environments"), name="environments"),
    path("environments/<slug:slug>/", environments.environment, name="environment"),
    path("environments/<slug:slug>/kits/<slug:name>.zip", downloads.kit, name="starter"),
    path("environments/<slug:slug>/players/<slug:name>.zip", downloads.own_player, name="own_player"),
    path("environments/<slug:slug>/notebook.ipynb", downloads.notebook, name="notebook"),
    path("environments/<slug:slug>/rules/", tabs.rules, name="environment_rules"),
    path("environments/<slug:slug>/rules.zip", downloads.rules_zip, name="rules"),
    path("environments/<slug:slug>/write/", tabs.write, name="environment_write"),
    path("environments/<slug:slug>/leaderboard.<slug:kind>", exports.leaderboard, name="leaderboard_file"),
    path("environments/<slug:slug>/cite/", cites.cite, name="cite"),
    path("environments/<slug:slug>/cite/results.csv", cites.cite_results, name="cite_results"),
    path("environments/<slug:slug>/agents/", uploads.agent_create, name="agent_create"),
    path("environments/<slug:slug>/check/", uploads.agent_check, name="agent_check"),
    path("environments/<slug:slug>/check/<uuid:public_id>/", uploads.agent_check_matches, name="agent_check_matches"),
    path("environments/<slug:slug>/random-example/", uploads.agent_random, name="agent_random"),
    path(EDITION, environments.edition, name="edition"),
]

routes = [
    *native("environments/", api.EnvironmentList, "environments"),
    *native("environments/<slug:slug>/", api.EnvironmentShown, "environment"),
    *native("environment-folders/", upload_api.FolderList, "environment_folders"),
    *native("environment-folders/<int:pk>/", upload_api.FolderShown, "environment_folder_shown"),
    *native("environments/<slug:slug>/folder.zip", folder_api.EnvironmentFolder, "environment_folder"),
    *native("environments/<slug:slug>/board/", api.EnvironmentBoard, "board"),
    *native("environments/<slug:slug>/leaderboard/", api.EnvironmentLeaderboard, "environment_leaderboard"),
    *native("environments/<slug:slug>/seeds/", api.EnvironmentSeeds, "seeds"),
]
