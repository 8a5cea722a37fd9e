"""A longer list costs no more queries: every page, every list of the API, our own of the admin."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.jobs.kinds import JOB_MODELS
from core.models import SeedList, User
from web.organise.editors import EDITORS
from web.organise.sheets import SHEETS
from web.tests.crowd import Crowd, crowd, grow
from web.urls import pages, routes

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
FEW, MORE = 2, 12
MANY = 200
"""More than any page shows."""

ONE_ROW = {
    "api": ("token", "environment", "agent", "native_submission", "tournament", "tournament_act", "tournament_picture",
            "duel",
            "evaluation", "job", "results", "environment_folder_shown",
            "submission_by_id", "registration", "season", "my_notice", "challenge", "site", "batch", "rollout",
            "application_board", "application_analytics", "application_task", "dashboard_task",
            "course_marks", "assignment_board", "dashboard_task_jobs", "dashboard_rollout", "dashboard_job"),
    "web": ("unsubscribe", "organise_action", "organise_class", "organise_person", "organise_person_code",
            "course_code", "organise_plan",
             "organise_replan", "organise_actions", "organise_applications", "organise_jobs", "organise_job",
            *(f"organise_{verb}_{kind}" for kind, editor in EDITORS.items()
              for verb in ("add", "change") if getattr(editor, f"may_{verb}")),
            # Pages of applications, counted in web/rollouts/tests/test_pages.py.
            # Pages of courses, counted in web/courses/tests/test_pages.py.
            "courses", "course", "course_people", "course_join", "course_add", "course_change", "course_news",
            "course_class", "course_remind", "course_link", "course_member", "course_copy",
            # Those of teams, counted in web/courses/tests/test_teams.py.
            "course_teams", "course_move", "team_add", "team_change", "team_join", "work_as",
            # Those of assignments, counted in web/courses/tests/test_assignments.py.
            "course_extend", "course_marks", "course_marks_csv", "assignment", "assignment_add", "assignment_change",
            "assignment_copy", "assignment_delete", "assignment_person", "assignment_mark",
            "rollout_tasks", "rollout_task", "rollouts_told", "batches", "batch", "rollout", "models",
            # One query for each kind of job, counted in its own test.
            "operations"),
}  # fmt: skip
ONE_FILE = {
    "api": ("archive", "comparison", "environment_folder", "environment_matches", "episode", "match", "matches",
            "recording_replay", "replay", "validation_replay", "job_log", "rollouts_export", "rollout_steps",
            "rollout_verdicts", "rollout_export", "rollout_events", "rollout_file", "batch_events",
            "batch_trajectories", "run", "run_records", "sitting", "sittings"),
    "web": ("badge", "duel", "duel_log", "duel_records", "duel_results", "embedded_match", "environment_file",
            "environment_file_before", "episode", "episode_frames",
            "evaluation_log", "evaluation_records", "kit", "kit_bundle", "kit_file", "kit_index", "kit_latest",
            "kit_project",
            "go_on", "match_playouts", "match_playouts_ask", "sitting", "sitting_card", "sitting_frames",
            "sitting_analysis", "sitting_replay", "go_on_sitting",
            "match", "match_analysis", "match_card", "match_frames", "tournament_picture",
            "match_replay", "recording_file",
            "recording_replay", "rollout_video", "rollout_picture", "rollouts_compared", "batches_compared", "rules",
            "notebook", "own_player", "schema", "starter", "starter_kit",
            "submission_archive", "submission_log", "submission_sbom", "submission_source", "validation_frames",
            "validation_match", "validation_replay"),
}  # fmt: skip
NOT_READ = {
    "api": (
        "accounts",
        "validate",
        "submit",
        "submissions",
        "agent_submissions",
        "agent_rest",
        "batch_cancel",
        "task_tests",
        "challenge_cancel",
        "dashboard_upload",
        "docs",
        "health",
        "job_cancel",
        "job_priority",
        "run_cancel",
        "schema",
        "sitting_moves",
        "sitting_resign",
    ),
    "web": (
        "agent_check",
        "agent_check_matches",
        "agent_create",
        "agent_random",
        "agent_describe",
        "agent_rename",
        "agent_play",
        "match_analyse",
        "duel_why",
        "agent_rest",
        "agent_delete",
        "agent_opponents",
        "version_test",
        "sit",
        "sitting_analyse",
        "sitting_help",
        "sitting_move",
        "sitting_resign",
        "go_on_sit",
        "go_on_sitting_sit",
        "go_on_play",
        "batch_new",
        "batch_cancel",
        "rollout_cancel",
        "rollout_judge",
        "submit",
        "submission_create",
        "submission_delete",
        "submission_activate",
        "submission_bench",
        "submission_cancel",
        "challenge_cancel",
        "participant_withdraw",
        "session_close",
        "sessions_close",
        "challenge_create",
        "token_revoke",
        "register",
        "exchange",
        "withdraw",
        "docs",
        "doc",
        "how",
        "environments",
        "icon",
        "robots",
        "sitemap",
        "notice_choices",
        "account_export",
        "account_delete",
        "inbox_read",
        "mails",
        "notice_read",
        "live",
        "metrics",
    ),
}
"""Addresses that list no rows: about one row, about what lies in one file, and those that only change something."""


ORGANISE = ("organise", "organise_tournaments", "organise_people", "organise_links", "organise_agents",
            "organise_environments", "organise_workers", "organise_webhooks", "organise_audit",
            *(sheet.name for sheet in SHEETS))  # fmt: skip
"""Pages for organisers alone."""


def addresses(rows: Crowd) -> dict[str, str]:
    """Every address with a list, as the one sees it who has many of everything; by name."""
    game, task, hero, learner = rows.game.slug, rows.task.slug, rows.hero.agent, rows.learner
    edition = rows.tournament.edition
    page = "?page_size=100"
    pages = {
        "home": reverse("web:home"),
        "search": f"{reverse('web:search')}?q=e",
        "tournament_calendar": reverse("web:tournament_calendar"),
        "watch": reverse("web:watch"),
        "play": reverse("web:play"),
        "invitation": reverse("web:invitation", args=[rows.hero.agent.name]),
        "profile": reverse("web:profile"),
        "sessions": reverse("web:sessions"),
        "tokens": reverse("web:tokens"),
        **{name: reverse(f"web:{name}") for name in ORGANISE},
        "inbox": reverse("web:inbox"),
        "user": reverse("web:user", args=[hero.owner.username]),
        "status": f"{reverse('web:status')}?id={learner.public_id}",
        "environment": reverse("web:environment", args=[game]),
        "environment_rules": reverse("web:environment_rules", args=[task]),
        "environment_write": reverse("web:environment_write", args=[game]),
        "environment as of a date": f"{reverse('web:environment', args=[game])}?as_of=2030-01-01",
        "environment with a board": f"{reverse('web:environment', args=[task])}?per=100",
        "compare": f"{reverse('web:compare', args=[task])}?id={learner.public_id}",
        "agent": reverse("web:agent", args=[game, hero.name]),
        "agent on a board": reverse("web:agent", args=[task, learner.agent.name]),
        "challenge": reverse("web:challenge", args=[rows.challenge.pk]),
        "edition": reverse("web:edition", args=[game, edition]),
        "edition of organisers": reverse("web:edition", args=[game, rows.cup.edition]),
        "screen": reverse("web:screen", args=[game, rows.cup.edition]),
        "edition that is planned": reverse("web:edition", args=[game, rows.planned.edition]),
        "tournaments": reverse("web:tournaments", args=[game]),
        "season": reverse("web:season", args=[game, rows.season.pk]),
        "participant": reverse("web:participant", args=[game, edition, hero.name]),
        "evaluation": reverse("web:evaluation", args=[rows.evaluation.pk]),
        "cite": f"{reverse('web:cite', args=[game])}?as_of=2030-01-01",
        "cite on a board": f"{reverse('web:cite', args=[task])}?as_of=2030-01-01",
        "cite_results": f"{reverse('web:cite_results', args=[game])}?as_of=2030-01-01",
        "leaderboard_file": reverse("web:leaderboard_file", args=[game, "csv"]),
        "head_to_head": reverse("web:head_to_head", args=[game]) + "?top=40",
        "lens": reverse("web:lens", args=[game]),
        "calibration": reverse("web:calibration", args=[game]),
        "environment_feed": reverse("web:environment_feed", args=[game]),
        "agent_blunders": reverse("web:agent_blunders", args=[game, hero.name]),
        "agent_feed": reverse("web:agent_feed", args=[game, hero.name]),
    }
    lists: dict[str, list[object]] = {
        "me": [],
        "my_quotas": [],
        "my_inbox": [],
        "tokens": [],
        "environments": [],
        "board": [task],
        "environment_leaderboard": [game],
        "seeds": [task],
        "agents": [],
        "native_submissions": [],
        "tournaments": [],
        "participants": [rows.tournament.pk],
        "standing": [rows.cup.pk],
        "registrations": [rows.planned.pk],
        "seasons": [],
        "season_table": [rows.season.pk],
        "ratings": [],
        "challenges": [],
        "runs": [],
        "head_to_head": [game],
        "lens": [game],
        "calibration": [game],
        "duels": [],
        "evaluations": [],
        "episodes": [rows.evaluation.pk],
        "jobs": [],
        "environment_folders": [],
        **{name: [] for name in ("applications", "packages", "tasks", "batches", "models", "rollouts")},
        **{f"dashboard_{name}": [] for name in ("tasks", "rollouts", "stats")},
        "leaderboard_environments": [],
        "evaluation_metrics": [],
        "agent_history": [hero.pk],
        "agent_opponents": [hero.pk],
        "agent_blunders": [hero.pk],
        "leaderboard_of": [rows.task.env_id],
    }
    api = {f"api:{name}": reverse(f"api:{name}", args=arguments) + page for name, arguments in lists.items()}
    api["api:leaderboard"] = f"{reverse('api:leaderboard')}?env_id={rows.task.env_id}"
    jobs = {f"api:jobs_of_kind {kind}": reverse("api:jobs_of_kind", args=[kind]) + page for kind in JOB_MODELS}
    return {**{f"web:{name}": address for name, address in pages.items()}, **api, **jobs}


def admin_addresses() -> dict[str, str]:
    models = [model._meta for model in admin.site._registry if model._meta.app_label == "core"]
    return {meta.label: reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist") for meta in models}


def query_counts(client: Client, asked: dict[str, str]) -> dict[str, int]:
    found = {}
    for name, address in asked.items():
        # What is kept for a moment is not what is counted.
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            response = client.get(address)
        assert response.status_code == 200, (name, address, response.status_code)
        found[name] = len(queries)
    return found


@pytest.fixture
def rows() -> Crowd:
    rows = crowd()
    User.objects.filter(pk=rows.hero.agent.owner.pk).update(is_staff=True, is_superuser=True)
    # Episodes can be read by everyone once their seeds are revealed.
    SeedList.objects.filter(evaluations=rows.evaluation).update(revealed_at=timezone.now())
    grow(rows, FEW)
    return rows


@pytest.mark.parametrize("size", [MORE, pytest.param(MANY, marks=pytest.mark.nightly)])
def test_many_rows_cost_no_more_queries_than_two(rows: Crowd, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The API counts the rows of a list with a second page alone: one query, whatever the number.
    monkeypatch.setattr("core.listing.row_count", lambda _: 10_000)
    owner, stranger = Client(), Client()
    owner.force_login(User.objects.get(username="hero"))
    asked = addresses(rows)
    pages = {name: address for name, address in asked.items() if name.startswith("web:")}
    own = {
        "web:profile",
        "web:sessions",
        "web:tokens",
        "web:inbox",
        "web:agent_blunders",
        *(f"web:{name}" for name in ORGANISE),
    }
    theirs = {name: address for name, address in pages.items() if name not in own}
    # For what is only read the first time in a process.
    query_counts(owner, {"page": "/", "API": asked["api:duels"], "admin": reverse("admin:index")})

    # What a stranger is shown is shown to an owner, too.
    everything = asked | admin_addresses()
    asking = [(owner, everything), (stranger, theirs)]
    if size == MORE:
        asking = [(owner, dict(list(everything.items())[::2]))]
    few = [query_counts(*one) for one in asking]
    grow(rows, size - FEW)
    many = [query_counts(*one) for one in asking]

    more = {
        (who, name): (few[who][name], count)
        for who, counts in enumerate(many)
        for name, count in counts.items()
        if count > few[who][name]
    }
    assert more == {}


def test_every_address_is_counted_or_lists_nothing(rows: Crowd) -> None:
    """A new address has to be added to `addresses`, or above it to those that list no rows."""
    named = {f"web:{route.name}" for route in pages} | {f"api:{route.name}" for route in routes if route.name}
    counted = {name.split()[0] for name in addresses(rows)}
    others = {f"{room}:{name}" for kind in (ONE_ROW, ONE_FILE, NOT_READ) for room in kind for name in kind[room]}
    assert named == counted | others
