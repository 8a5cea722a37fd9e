"""Agents and their submissions."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from core.errors import Refused
from core.models import Agent, Evaluation, Job, Submission
from core.submissions.existing import submission_delete
from core.submissions.publishing import repository_review
from web.admin.base import ModelAdmin, ReadOnlyAdmin, admin_action, ask_and_do, links
from web.organise.action import OrganiserAnswer, OrganiserQuestion
from web.organise.actions.agents import BUILD, DISABLE, ENABLE, EVALUATE

DELETE = OrganiserQuestion(
    title="Delete archives",
    consequence="The archives and images are removed for good, and these versions play no more. Their results stay.",
    button="Delete the archives",
)


@admin.register(Agent)
class AgentAdmin(ModelAdmin[Agent]):
    list_display = ("name", "environment", "owner", "team", "submissions", "is_public", "is_disabled",
                    "is_resting", "quarantined_at", "created_at")  # fmt: skip
    list_filter = ("environment", "is_public", "is_disabled", ("quarantined_at", admin.EmptyFieldListFilter),
                   "owner__team")  # fmt: skip
    list_select_related = ("environment", "owner")
    search_fields = ("name", "owner__username", "owner__email", "owner__team")
    date_hierarchy = "created_at"
    readonly_fields = ("environment", "owner", "is_disabled", "disabled_reason", "quarantined_at",
                       "quarantined_number", "created_at")  # fmt: skip
    actions = ("disable", "enable")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        return super().get_queryset(request).annotate(submission_count=Count("submissions"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # an agent is created with its first archive

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        return False  # results of other agents refer to it; disable it, or delete its archives

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        # It may have become private, or have another name.
        repository_review()

    def view_on_site(self, agent: Agent) -> str:
        return reverse("web:agent", args=[agent.environment.slug, agent.name])

    @admin.display(ordering="owner__team")
    def team(self, agent: Agent) -> str:
        return agent.owner.team

    @admin.display(description="submissions", ordering="submission_count")
    def submissions(self, agent: Agent) -> SafeString:
        address = reverse("admin:core_submission_changelist") + f"?agent__id__exact={agent.pk}"
        return links((address, str(getattr(agent, "submission_count", 0))))

    disable = admin_action(DISABLE)
    enable = admin_action(ENABLE)


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin[Submission]):
    list_display = ("__str__", "environment", "owner", "form", "build", "validation", "evaluation", "image",
                    "archive_bytes", "created_at", "deleted_at")  # fmt: skip
    list_filter = ("form", "agent__environment", ("deleted_at", admin.EmptyFieldListFilter), "agent__is_disabled")
    list_select_related = ("agent__environment", "agent__owner")
    search_fields = ("agent__name", "agent__owner__username", "agent__owner__email", "archive_sha256", "image",
                     "=public_id", "algorithm", "user_label")  # fmt: skip
    date_hierarchy = "created_at"
    ordering = ("-pk",)
    exclude = ("archive",)
    readonly_fields = ("files",)
    actions = ("run_again", "evaluate_again", "delete_archives")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        evaluations = Prefetch("evaluations", Evaluation.objects.defer("log", "episodes", "metrics"))
        return super().get_queryset(request).prefetch_related("builds", "validations", "publications", evaluations)

    def view_on_site(self, submission: Submission) -> str:
        agent = submission.agent
        page = reverse("web:agent", args=[agent.environment.slug, agent.name])
        return f"{page}?version={submission.number}#v{submission.number}"

    @admin.display(ordering="agent__environment")
    def environment(self, submission: Submission) -> str:
        return str(submission.agent.environment)

    @admin.display(ordering="agent__owner")
    def owner(self, submission: Submission) -> str:
        return str(submission.agent.owner)

    @admin.display
    def build(self, submission: Submission) -> str:
        return _state(submission.latest_build)

    @admin.display
    def validation(self, submission: Submission) -> str:
        return _state(submission.latest_validation)

    @admin.display
    def evaluation(self, submission: Submission) -> str:
        return _state(submission.latest_evaluation)

    @admin.display
    def files(self, submission: Submission) -> SafeString:
        archive = (reverse("web:submission_archive", args=[submission.pk]), "archive")
        logs = [
            (reverse("web:submission_log", args=[submission.pk, log]), f"log of the {log}")
            for log in ("build", "validation")
        ]
        return links(*logs) if submission.deleted_at else links(archive, *logs)

    run_again = admin_action(BUILD)
    evaluate_again = admin_action(EVALUATE)

    @admin.action(description="Delete archives and images (results stay)", permissions=["change"])
    def delete_archives(self, request: HttpRequest, queryset: QuerySet[Submission]) -> HttpResponse | None:
        def action(submission: Submission, answer: OrganiserAnswer) -> str:
            if submission.deleted_at is not None:
                raise Refused("The archive is already deleted.")
            submission_delete(submission=submission)
            return "is deleted; its results stay."

        return ask_and_do(self, request, queryset, DELETE, action)


def _state(job: Job | None) -> str:
    return job.get_state_display() if job is not None else "–"
