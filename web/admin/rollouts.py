"""Applications: packages and their builds, tasks, batches, rollouts, verdicts, worlds and language models."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from core.models import (
    Batch,
    LanguageModel,
    Package,
    PackageBuild,
    Rollout,
    RolloutVerdict,
    Task,
    TaskFile,
    WorldLease,
)
from core.rollouts.acceptance import acceptance_begin
from core.rollouts.batches import batch_cancel, ranking_renew
from core.rollouts.packages import package_build_ensure
from web.admin.base import ModelAdmin, ReadOnlyAdmin, do_each
from web.admin.jobs import JobAdmin


@admin.register(Package)
class PackageAdmin(ReadOnlyAdmin[Package]):
    list_display = ("environment", "number", "uploaded_by", "archive_bytes", "memory_bytes", "is_public", "created_at")
    list_display_links = ("environment", "number")
    list_filter = ("environment", "is_public")
    list_select_related = ("environment", "uploaded_by")
    search_fields = ("environment__slug", "note")
    exclude: ClassVar[tuple[str, ...]] = ("archive",)
    actions = ("build", "try_tasks", "rank")

    @admin.action(description="Build, if no build of it has succeeded", permissions=["change"])
    def build(self, request: HttpRequest, queryset: QuerySet[Package]) -> None:
        """Build packages whose build failed or was cancelled."""

        def action(package: Package) -> str:
            build = package_build_ensure(package=package, seed=0)
            return f"has the build {build.pk}, which {'waits' if build.state == 'QUEUED' else 'is there already'}."

        do_each(self, request, queryset, action)

    @admin.action(description="Try all its tasks again", permissions=["change"])
    def try_tasks(self, request: HttpRequest, queryset: QuerySet[Package]) -> None:
        """Try the oracles of all current tasks again, e.g. with a new package."""

        def action(package: Package) -> str:
            batches = acceptance_begin(package=package, again=True)
            return f"has {len(batches)} new batches that try its tasks."

        do_each(self, request, queryset, action)

    @admin.action(description="Let all agents work at tasks of the board that are new to them", permissions=["change"])
    def rank(self, request: HttpRequest, queryset: QuerySet[Package]) -> None:
        """Bring the boards of applications up to date, e.g. after new tasks."""

        def action(package: Package) -> str:
            batches = ranking_renew(environment=package.environment)
            return f"has {len(batches)} agents at work for the board."

        do_each(self, request, queryset, action)


@admin.register(PackageBuild)
class PackageBuildAdmin(JobAdmin[PackageBuild]):
    list_display = ("id", "package", "seed", "state", "fault", "error_code", "attempt", "worker", "created_at", "took")
    list_display_links = ("id", "package")
    list_select_related = ("package__environment",)
    search_fields = ("package__environment__slug", "error", "worker")
    exclude = (*JobAdmin.exclude, "built", "fresh")


@admin.register(TaskFile)
class TaskFileAdmin(ReadOnlyAdmin[TaskFile]):
    list_display = ("id", "environment", "package", "uploaded_by", "created_at")
    list_filter = ("environment",)
    list_select_related = ("environment", "package__environment", "uploaded_by")
    search_fields = ("environment__slug", "uploaded_by__username")


@admin.register(Task)
class TaskAdmin(ReadOnlyAdmin[Task]):
    list_display = ("key", "revision", "environment", "split", "difficulty", "acceptance", "verified_at", "is_current")
    list_filter = ("environment", "is_current", "split", "acceptance", "difficulty")
    list_select_related = ("environment",)
    search_fields = ("key", "instruction")


@admin.register(Batch)
class BatchAdmin(ReadOnlyAdmin[Batch]):
    list_display = ("id", "environment", "owner", "purpose", "agent_name", "attempts", "created_at", "hidden_at")
    list_filter = ("environment", "purpose", "agent_kind")
    list_select_related = ("environment", "owner", "submission__agent", "model")
    search_fields = ("owner__username", "note")
    actions = ("cancel",)

    @admin.action(description="Cancel what is not over", permissions=["change"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Batch]) -> None:
        """Cancel the open rollouts of batches."""
        do_each(self, request, queryset, lambda batch: _cancelled(batch_cancel(batch=batch, by_owner=False)))


@admin.register(Rollout)
class RolloutAdmin(JobAdmin[Rollout]):
    list_display = ("id", "task", "batch", "environment", "state", "phase", "outcome", "score", "fault", "error_code",
                    "attempt", "worker", "created_at", "took")  # fmt: skip
    list_display_links = ("id", "task")
    list_filter = (*JobAdmin.list_filter, "environment", "outcome", "ended_by", "is_ranked")
    list_select_related = ("task", "batch", "environment")
    search_fields = ("=public_id", "task__key", "error", "worker")
    exclude = (
        *JobAdmin.exclude, "live", "record", "steps", "pages", "video", "trace", "har", "export", "changes",
        "world_log", "model_log", "player_log",
    )  # fmt: skip


@admin.register(RolloutVerdict)
class RolloutVerdictAdmin(ReadOnlyAdmin[RolloutVerdict]):
    list_display = ("id", "rollout", "reason", "outcome", "score", "code", "judge_version", "made_by", "created_at")
    list_filter = ("reason", "outcome")
    list_select_related = ("rollout", "made_by")
    search_fields = ("code", "sentence")


@admin.register(WorldLease)
class WorldLeaseAdmin(ReadOnlyAdmin[WorldLease]):
    list_display = ("token", "host", "worker", "rollout", "memory_bytes", "opened_at", "deadline_at",
                    "closed_at")  # fmt: skip
    list_filter = ("host",)
    list_select_related = ("rollout",)
    search_fields = ("token", "worker")


@admin.register(LanguageModel)
class LanguageModelAdmin(ModelAdmin[LanguageModel]):
    list_display = ("name", "model_id", "form", "users", "parallel", "cost_per_day_micros", "is_active")
    list_filter = ("is_active", "form", "users")
    search_fields = ("name", "model_id")

    def has_delete_permission(self, request: HttpRequest, obj: LanguageModel | None = None) -> bool:
        """Models stay, because rollouts name them; inactive ones can no longer be chosen."""
        return False

    def save_model(self, request: HttpRequest, obj: LanguageModel, form: object, change: bool) -> None:
        """Tell where the key belongs."""
        super().save_model(request, obj, form, change)
        if obj.key_name:
            self.message_user(
                request, f"Its key is read by the workers from {obj.key_name} in MODEL_KEYS.", messages.INFO
            )


def _cancelled(count: int) -> str:
    return "had nothing to cancel." if not count else f"has {count} cancelled rollouts."
