"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from web.api.urls import routes
from web.challenges import views as challenges
from web.comparisons import views as comparisons
from web.docs import views as docs
from web.duels import analysis_views as analyses
from web.duels import downloads
from web.duels import playout_views as playouts
from web.duels import replay_views as replays
from web.duels import views as duels
from web.environments import export_views as exports
from web.environments import kit_views as kits
from web.environments import static_views as statics
from web.environments import tab_views as tabs
from web.environments import upload_views as random_example
from web.environments import views as environments
from web.evaluations import replay_views as recordings
from web.evaluations import views as evaluations
from web.kit import views as kit
from web.notices import views as inbox
from web.operations import day_views as day
from web.operations import views as operations
from web.organise.urls import organise
from web.people import leaving_views as leaving
from web.people import user_views as users
from web.people import views as accounts
from web.people.urls import routes as account_routes
from web.ratings import lens_views as lenses
from web.rollouts import batch_views as batches
from web.rollouts import rollout_views as rollouts
from web.rollouts import views as applications
from web.site import errors, home
from web.site.old_addresses import old_addresses
from web.sittings import branch_views as branches
from web.sittings import views as sittings
from web.submissions import source_views as sources
from web.submissions import status_views as status
from web.submissions import submit_views as submitting
from web.submissions import views as agents
from web.tournaments import bracket_views as brackets
from web.tournaments import calendar_views as calendar
from web.tournaments import registration_views as registrations
from web.tournaments import season_views as seasons
from web.tournaments import views as tournaments
from web.watching import views as watching

agent = "environments/<slug:slug>/agents/<str:name>/"
edition = "environments/<slug:slug>/editions/<int:edition>/"

site = [
    path("", home.home, name="home"),
    path("favicon.ico", home.icon, name="icon"),
    path("robots.txt", home.robots, name="robots"),
    path("profile/", accounts.profile, name="profile"),
    path("profile/tokens/", accounts.token_create, name="token_create"),
    path("profile/tokens/<int:token_id>/revoke/", accounts.token_revoke, name="token_revoke"),
    path("profile/export/", leaving.export, name="account_export"),
    path("profile/delete/", leaving.delete, name="account_delete"),
    path("profile/notices/", inbox.choices, name="notice_choices"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/read/", inbox.read_all, name="inbox_read"),
    path("inbox/<int:notice_id>/read/", inbox.read, name="notice_read"),
    path("unsubscribe/<str:token>/", inbox.unsubscribe, name="unsubscribe"),
    path("docs/", docs.doc, name="docs"),
    path("docs/<path:name>/", docs.doc, name="doc"),
    path("search/", docs.search, name="search"),
    path("live/", watching.watch, name="watch"),
    path("tournaments/", calendar.calendar, name="tournament_calendar"),
    path("users/<str:username>/", users.user, name="user"),
    path("submit/", submitting.submit, name="submit"),
    path("status/", status.status, name="status"),
    re_path(r"^health/live/?$", operations.live, name="live"),
    path("operations/", day.operations, name="operations"),
    re_path(r"^metrics/?$", operations.metrics, name="metrics"),
    re_path(r"^api/alertmanager/webhook/?$", operations.alerts, name="alerts"),
    path("kit/", kit.kit, name="kit"),
    path("kit/simple/", kit.index, name="kit_index"),
    path("kit/simple/<str:name>/", kit.project, name="kit_project"),
    path("kit/files/<str:sha256>/<str:filename>", kit.file, name="kit_file"),
    path("kit/<str:filename>.whl", kit.latest, name="kit_latest"),
    path("starter-kit/<slug:name>.zip", tabs.starter_kit, name="starter_kit"),
    path("static/environments/<slug:slug>/<str:name>", statics.environment_file, name="environment_file"),
    path("static/environment-<slug:slug>/<str:name>", statics.environment_file, name="environment_file_before"),
    path("environments/", RedirectView.as_view(url="/#environments"), name="environments"),
    path("environments/<slug:slug>/", environments.environment, name="environment"),
    path("environments/<slug:slug>/kits/<slug:name>.zip", kits.kit, name="starter"),
    path("environments/<slug:slug>/rules/", tabs.rules, name="environment_rules"),
    path("environments/<slug:slug>/rules.zip", tabs.rules_zip, name="rules"),
    path("environments/<slug:slug>/write/", tabs.write, name="environment_write"),
    path("environments/<slug:slug>/leaderboard.<slug:kind>", exports.leaderboard, name="leaderboard_file"),
    path("environments/<slug:slug>/head-to-head/", lenses.head_to_head, name="head_to_head"),
    path("environments/<slug:slug>/lens/", lenses.lens, name="lens"),
    path("environments/<slug:slug>/calibration/", lenses.calibration, name="calibration"),
    path("environments/<slug:slug>/compare/", comparisons.comparison, name="compare"),
    path("environments/<slug:slug>/agents/", agents.agent_create, name="agent_create"),
    path("environments/<slug:slug>/random-example/", random_example.agent_random, name="agent_random"),
    path(agent, agents.agent, name="agent"),
    path(agent + "rest/", agents.agent_rest, {"is_resting": True}, name="agent_rest"),
    path(agent + "play/", agents.agent_rest, {"is_resting": False}, name="agent_play"),
    path(agent + "test/", challenges.test, name="version_test"),
    path(agent + "sit/", sittings.begin, name="sit"),
    path(agent + "opponents/", sittings.opponents, name="agent_opponents"),
    path(agent + "description/", agents.agent_describe, name="agent_describe"),
    path(agent + "versions/", agents.submission_create, name="submission_create"),
    path(agent + "versions/<int:number>/delete/", agents.submission_delete, name="submission_delete"),
    path(agent + "versions/<int:number>/cancel/", agents.submission_cancel, name="submission_cancel"),
    path(agent + "versions/<int:number>/activate/", agents.submission_activate, name="submission_activate"),
    path(agent + "versions/<int:number>/bench/", agents.submission_bench, name="submission_bench"),
    path("environments/<slug:slug>/tournaments/", brackets.tournament_list, name="tournaments"),
    path(edition, environments.edition, name="edition"),
    path(edition + "register/", registrations.register, name="register"),
    path(edition + "withdraw/", registrations.withdraw, name="withdraw"),
    path(edition + "agents/<str:name>/", tournaments.participant, name="participant"),
    path("environments/<slug:slug>/seasons/<int:season_id>/", seasons.season, name="season"),
    path(edition + "agents/<str:name>/withdraw/", tournaments.participant_withdraw, name="participant_withdraw"),
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
    path("models/", applications.models, name="models"),
    path("environments/<slug:slug>/challenges/", challenges.create, name="challenge_create"),
    path("challenges/<int:challenge_id>/", challenges.challenge, name="challenge"),
    path("challenges/<int:challenge_id>/cancel/", challenges.cancel, name="challenge_cancel"),
    path("play/", sittings.play, name="play"),
    path("sittings/<uuid:public_id>/", sittings.sitting, name="sitting"),
    path("sittings/<uuid:public_id>/move/", sittings.move, name="sitting_move"),
    path("sittings/<uuid:public_id>/resign/", sittings.resign, name="sitting_resign"),
    path("sittings/<uuid:public_id>/frames.json", sittings.sitting_frames, name="sitting_frames"),
    path("sittings/<uuid:public_id>/replay.<slug:form>", sittings.sitting_replay, name="sitting_replay"),
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
        recordings.replay_file,
        name="recording_replay",
    ),
    path(
        "evaluations/<int:evaluation_id>/episodes/<slug:choice>/<slug:name>",
        evaluations.recording_file,
        name="recording_file",
    ),
    path("duels/<int:duel_id>/", duels.duel, name="duel"),
    path("duels/<int:duel_id>/matches/<int:number>/", duels.match, name="match"),
    path("duels/<int:duel_id>/matches/<int:number>/frames.json", duels.match_frames, name="match_frames"),
    path("duels/<int:duel_id>/matches/<int:number>/analysis/", analyses.analysis, name="match_analysis"),
    path("duels/<int:duel_id>/matches/<int:number>/analyse/", analyses.analyse, name="match_analyse"),
    path("duels/<int:duel_id>/matches/<int:number>/playouts/", playouts.part, name="match_playouts"),
    path("duels/<int:duel_id>/matches/<int:number>/playouts/new/", playouts.ask, name="match_playouts_ask"),
    path("duels/<int:duel_id>/matches/<int:number>/replay.<slug:form>", replays.match_replay, name="match_replay"),
    path("duels/<int:duel_id>/matches/<int:number>/from/<int:ply>/", branches.go_on, name="go_on"),
    path("duels/<int:duel_id>/matches/<int:number>/from/<int:ply>/sit/", branches.sit_down, name="go_on_sit"),
    path("duels/<int:duel_id>/matches/<int:number>/from/<int:ply>/play/", branches.let_play, name="go_on_play"),
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
    path("submissions/<int:submission_id>/source/", sources.source, name="submission_source"),
    path("submissions/<int:submission_id>/archive.zip", downloads.submission_archive, name="submission_archive"),
    path("submissions/<int:submission_id>/sbom.json", downloads.submission_sbom, name="submission_sbom"),
    path("submissions/<int:submission_id>/logs/<slug:log>/", downloads.submission_log, name="submission_log"),
    *organise,
]

urlpatterns = [
    path("", include((site, "web"))),
    path("", include(account_routes)),
    path("", include((routes, "api"))),
    path("admin/", admin.site.urls),
    *old_addresses,
    # Only addresses with a slash at their end: others are first tried with one.
    re_path(r"^.*/$", errors.not_found),
]

handler500 = "web.site.errors.failed"
