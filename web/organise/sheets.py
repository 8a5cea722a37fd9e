"""The plain lists of the organisers' pages, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Prefetch, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from core.jobs.states import OPEN
from core.models import (
    ApiToken,
    Batch,
    Build,
    Evaluation,
    LanguageModel,
    Package,
    PackageBuild,
    Season,
    SeedList,
    Submission,
    Task,
    TournamentSchedule,
    Validation,
)
from core.rollouts.quotas import cost_of_model
from core.tournaments.cron import cron_next
from web.organise.job_sheets import JOB_SHEETS, long_fields, version_page
from web.organise.sheet import ALL, Column, Sheet


def _with_phases(versions: QuerySet[Any]) -> QuerySet[Any]:
    evaluations = Prefetch("evaluations", Evaluation.objects.defer(*long_fields(Evaluation)))
    builds, validations = (
        Prefetch(name, model.objects.defer(*long_fields(model)))
        for name, model in (("builds", Build), ("validations", Validation))
    )
    return versions.prefetch_related(builds, validations, evaluations)


def _with_builds(packages: QuerySet[Any]) -> QuerySet[Any]:
    builds = PackageBuild.objects.defer(*long_fields(PackageBuild))
    return packages.select_related("uploaded_by", "environment").prefetch_related(Prefetch("builds", builds))


def _next_time(schedule: TournamentSchedule) -> object:
    return cron_next(schedule.cron, after=timezone.now(), zone=schedule.time_zone) if schedule.is_active else None


ENVIRONMENT = Column("Environment", "environment.name")
MADE = Column("Made", "created_at", "moment")
SHEETS = (
    Sheet(
        model=Submission,
        slug="versions",
        title="Versions",
        tab="organise_agents",
        about="Every version of every agent, the newest first.",
        columns=(
            Column("Version", str),
            Column("Environment", "agent.environment.name"),
            Column("Owner", "agent.owner.username"),
            Column("Build", "latest_build", "job"),
            Column("Validation", "latest_validation", "job"),
            Column("Evaluation", "latest_evaluation", "job"),
            Column("Size", "archive_bytes", "bytes"),
            Column("Uploaded", "created_at", "moment"),
        ),
        search=("agent__name", "agent__owner__username", "=agent__owner__email", "archive_sha256", "image",
                "@public_id", "algorithm", "user_label"),
        page=version_page,
        shown={**ALL, "there": ("With an archive", Q(deleted_at=None)), "deleted": ("Deleted", ~Q(deleted_at=None))},
        environment="agent__environment",
        prepare=_with_phases,
    ),
    Sheet(
        model=Season,
        slug="seasons",
        title="Seasons",
        tab="organise_tournaments",
        about="A season adds up the tournaments of a span of time in one table.",
        columns=(
            Column("Season", "name"),
            ENVIRONMENT,
            Column("Begins", "begins_at", "moment"),
            Column("Ends", "ends_at", "moment"),
            Column("Tournaments", "counted", "num"),
        ),
        search=("name", "environment__name"),
        page=lambda row: reverse("web:season", args=[row.environment.slug, row.pk]),
        order=("-begins_at",),
        doc="organiser/tournaments",
        prepare=lambda rows: rows.annotate(counted=Count("tournaments")),
    ),
    Sheet(
        model=TournamentSchedule,
        slug="schedules",
        title="Schedules",
        tab="organise_tournaments",
        about="A schedule plans a tournament at each of its times.",
        columns=(
            Column("Schedule", "name"),
            ENVIRONMENT,
            Column("Times", "cron", "code"),
            Column("Next", _next_time, "moment"),
            Column("Active", "is_active", "yes"),
            Column("Last outcome", "last_note", "short"),
        ),
        search=("name", "title"),
        order=("name",),
        doc="organiser/tournaments",
    ),
    Sheet(
        model=SeedList,
        slug="seeds",
        title="Lists of seeds",
        tab="organise_environments",
        about="What agents of one-seat environments are evaluated on. A hidden list is known by its hash until it is "
        "revealed.",
        columns=(
            Column("Environment", "environment.name"),
            Column("For", lambda row: row.tournament or row.get_purpose_display()),
            Column("Seeds", lambda row: len(row.seeds), "num"),
            Column("Public", "is_public", "yes"),
            Column("Hash", lambda row: row.sha256[:16], "code"),
            MADE,
            Column("Revealed", "revealed_at", "moment"),
        ),
        search=("environment__name", "environment__slug", "sha256"),
        page=lambda row: reverse("web:environment", args=[row.environment.slug]),
        doc="organiser/seeds",
    ),
    Sheet(
        model=ApiToken,
        slug="tokens",
        title="API tokens",
        tab="organise_people",
        about="Keys with which people's programs use the arena. Their owners create them; you can revoke one.",
        columns=(
            Column("Token", "name"),
            Column("Owner", "owner.username"),
            Column("Scope", "get_scope_display"),
            Column("Begins with", "hint", "code"),
            MADE,
            Column("Expires", "expires_at", "moment"),
            Column("Last used", "last_used_at", "moment"),
            Column("From", "last_used_address"),
        ),
        search=("name", "owner__username", "=owner__email"),
        environment="",
    ),
    Sheet(
        model=Package,
        slug="packages",
        title="Packages",
        tab="organise_applications",
        about="Applications as they were uploaded, each with its tasks.",
        columns=(
            Column("Package", str),
            Column("By", "uploaded_by.username"),
            Column("Build", lambda row: max(row.builds.all(), key=lambda build: build.pk, default=None), "job"),
            Column("Size", "archive_bytes", "bytes"),
            Column("Memory", "memory_bytes", "bytes"),
            Column("Public", "is_public", "yes"),
            Column("Uploaded", "created_at", "moment"),
        ),
        search=("environment__slug", "environment__name", "note", "uploaded_by__username"),
        page=lambda row: reverse("web:environment", args=[row.environment.slug]),
        doc="organiser/rollouts",
        prepare=_with_builds,
    ),
    Sheet(
        model=Task,
        slug="tasks",
        title="Tasks",
        tab="organise_applications",
        about="What agents work at, also hidden tasks. New tasks and revisions are uploaded on the application's page.",
        columns=(
            Column("Task", str),
            ENVIRONMENT,
            Column("Split", "get_split_display"),
            Column("Difficulty", "difficulty"),
            Column("Trial", "get_acceptance_display"),
            Column("Why", "acceptance_sentence", "short"),
            Column("Tried", "verified_at", "moment"),
            Column("Current", "is_current", "yes"),
        ),
        search=("key", "instruction"),
        page=lambda row: reverse("web:rollout_task", args=[row.environment.slug, row.name]),
        shown={
            "current": ("Current", Q(is_current=True)),
            "refused": ("Refused by their trial", Q(is_current=True, acceptance="REFUSED")),
            "untried": ("Not tried yet", Q(is_current=True, verified_at=None)),
            "all": ("All revisions", Q()),
        },
        order=("environment", "key", "-revision"),
        prepare=lambda rows: rows.select_related("environment", "member"),
        doc="organiser/rollouts",
    ),
    Sheet(
        model=Batch,
        slug="batches",
        title="Batches",
        tab="organise_applications",
        about="Rollouts that were asked for together, and those that the arena asks for itself.",
        columns=(
            Column("Batch", str),
            ENVIRONMENT,
            Column("By", "owner.username"),
            Column("For", "get_purpose_display"),
            Column("Agent", "agent_name"),
            Column("Open", "open_count", "num"),
            Column("Rollouts", "all_count", "num"),
            MADE,
        ),
        search=("owner__username", "note", "submission__agent__name"),
        page=lambda row: reverse("web:batch", args=[row.public_id]),
        prepare=lambda rows: rows.select_related("owner", "submission__agent", "model").annotate(
            all_count=Count("rollouts"),
            open_count=Count("rollouts", Q(rollouts__state__in=OPEN)),
        ),
    ),
    Sheet(
        model=LanguageModel,
        slug="models",
        title="Language models",
        tab="organise_applications",
        about="Models that agents reach through the gateway. Their keys are settings of the workers.",
        columns=(
            Column("Model", "name"),
            Column("At its endpoint", "model_id"),
            Column("For", "get_users_display"),
            Column("Prices", lambda m: (m.price_in_micros, m.price_cached_micros, m.price_out_micros), "prices"),
            Column("Used today", lambda row: cost_of_model(row, now=timezone.now()), "money"),
            Column("Limit per day", "cost_per_day_micros", "money"),
            Column("At once", lambda model: model.parallel or "any", "num"),
            Column("Active", "is_active", "yes"),
        ),
        search=("name", "model_id"),
        environment="",
        order=("name",),
        doc="organiser/rollouts",
    ),
    *JOB_SHEETS,
)  # fmt: skip
"""The lists, in the order in which the pages of a tab name them."""
BY_KIND: Mapping[str, Sheet] = {sheet.kind: sheet for sheet in SHEETS}
