"""Evaluations and the recordings of their episodes, with an action to evaluate again."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from core.models import Evaluation, JobState, Recording
from web.admin.base import do_each, links, text_block
from web.admin.jobs import JobAdmin
from web.organise.actions.agents import evaluate_again

LONG = ("episodes", "metrics")


@admin.register(Evaluation)
class EvaluationAdmin(JobAdmin[Evaluation]):
    list_display = ("id", "submission", "environment", "state", "score", "is_verified", "is_current", "done", "fault",
                    "error_code", "worker", "created_at", "took")  # fmt: skip
    list_display_links = ("id", "submission")
    list_filter = (*JobAdmin.list_filter, "is_current", "is_verified", "environment")
    list_select_related = ("submission__agent", "environment", "seed_list__environment")
    search_fields = ("=id", "agent__name", "agent__owner__username", "=submission__public_id", "error", "worker")
    exclude = (*JobAdmin.exclude, *LONG, "order_secret", "records", "player_log")
    readonly_fields = (*JobAdmin.readonly_fields, "files")
    actions = ("requeue", "prioritise", "cancel", "run_again")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Evaluation]:
        return super().get_queryset(request).defer(*LONG, "log", "seed_list__seeds")

    def view_on_site(self, evaluation: Evaluation) -> str:
        return reverse("web:evaluation", args=[evaluation.pk])

    @admin.display(description="episodes")
    def done(self, evaluation: Evaluation) -> str:
        return f"{evaluation.episodes_done} of {evaluation.episode_count}" if evaluation.episode_count else "–"

    @admin.display
    def files(self, evaluation: Evaluation) -> SafeString:
        pairs = []
        if evaluation.records:
            pairs.append((reverse("web:evaluation_records", args=[evaluation.pk]), "records"))
        if evaluation.player_log:
            pairs.append((reverse("web:evaluation_log", args=[evaluation.pk, "player"]), "log of the player"))
        return links(*pairs) if pairs else text_block("")

    @admin.action(description="Evaluate again, as a new evaluation", permissions=["change"])
    def run_again(self, request: HttpRequest, queryset: QuerySet[Evaluation]) -> None:
        do_each(self, request, queryset, lambda evaluation: evaluate_again(evaluation.submission))


@admin.register(Recording)
class RecordingAdmin(JobAdmin[Recording]):
    list_display = ("id", "evaluation", "environment", "choice", "episode_number", "state", "error_code", "worker",
                    "created_at", "took")  # fmt: skip
    list_display_links = ("id", "evaluation")
    list_filter = (*JobAdmin.list_filter, "choice", "evaluation__environment")
    list_select_related = ("evaluation__submission__agent", "evaluation__environment")
    search_fields = ("=evaluation__id", "evaluation__agent__name", "error", "worker")
    exclude = (*JobAdmin.exclude, "video", "poster", "steps", "text", "replay_document", "replay_page")
    readonly_fields = (*JobAdmin.readonly_fields, "files")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Recording]:
        long = (*LONG, "log", "verification")
        return super().get_queryset(request).defer("log", *(f"evaluation__{name}" for name in long))

    def view_on_site(self, recording: Recording) -> str:
        return reverse("web:evaluation", args=[recording.evaluation_id])

    @admin.display(ordering="evaluation__environment")
    def environment(self, recording: Recording) -> str:
        return str(recording.evaluation.environment)

    @admin.display
    def files(self, recording: Recording) -> SafeString:
        if recording.state != JobState.SUCCEEDED:
            return text_block("")
        address = reverse("web:episode", args=[recording.evaluation_id, recording.choice.lower()])
        return links((address, "the episode's page"))
