"""Jobs, with actions to requeue, prioritise, cancel and run them again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from core.jobs.control import job_prioritise
from core.jobs.selectors import attempts_of
from core.jobs.turns import TURNS_PER_PRIORITY
from core.jobs.waits import wait_of
from core.models import Build, Job, Publication, Validation
from core.models.job import PRIORITIES
from core.submissions.publishing import publication_again
from web.admin.base import ReadOnlyAdmin, admin_action, ask_and_do, do_each, links, text_block
from web.organise.action import OrganiserAnswer, OrganiserQuestion
from web.organise.actions.agents import build_again
from web.organise.actions.duels import CANCEL, REQUEUE

AnyJob = TypeVar("AnyJob", bound=Job)
Phase = TypeVar("Phase", Build, Validation, Publication)

PRIORITY = OrganiserQuestion(
    title="Set the priority",
    consequence=f"Workers take these waiting jobs earlier or later: each step moves a job by {TURNS_PER_PRIORITY} "
    "turns in its line. Only a limited number of jobs can overtake another one, so no job waits for ever.",
    button="Set it",
    number=f"Priority, from {-PRIORITIES} (after others) to {PRIORITIES} (before them)",
    least=-PRIORITIES,
    most=PRIORITIES,
)


class JobAdmin(ReadOnlyAdmin[AnyJob]):
    """Columns and actions that all kinds of jobs share."""

    list_filter: ClassVar[tuple[Any, ...]] = ("state", "fault", "error_code")
    date_hierarchy = "created_at"
    ordering = ("-pk",)
    actions: Sequence[str] = ("requeue", "prioritise", "cancel")
    exclude: ClassVar[tuple[str, ...]] = ("log", "claim_token", "history", "flow", "turn", "begun_turn", "sort_key")
    readonly_fields: ClassVar[tuple[str, ...]] = ("wait", "took", "attempts", "log_text")

    @admin.display(description="took")
    def took(self, job: AnyJob) -> str:
        if job.started_at is None or job.ended_at is None:
            return "–"
        return str(timedelta(seconds=round((job.ended_at - job.started_at).total_seconds())))

    @admin.display(description="waits for")
    def wait(self, job: AnyJob) -> str:
        """Return why the job is waiting."""
        found = wait_of(job)
        return "–" if found is None else f"{found.sentence} ({found.code})"

    @admin.display(description="failed attempts")
    def attempts(self, job: AnyJob) -> SafeString:
        lines = [
            f"{row.number}  {row.started_at or row.ended_at:%Y-%m-%d %H:%M:%S} to {row.ended_at:%H:%M:%S} UTC  "
            f"{row.worker}  {row.code}: {row.error}"
            for row in attempts_of(job)
        ]
        return text_block("\n".join(lines))

    @admin.display(description="log")
    def log_text(self, job: AnyJob) -> SafeString:
        return text_block(job.log)

    requeue = admin_action(REQUEUE)

    @admin.action(description="Set the priority of waiting jobs", permissions=["change"])
    def prioritise(self, request: HttpRequest, queryset: QuerySet[AnyJob]) -> HttpResponse | None:
        def action(job: AnyJob, answer: OrganiserAnswer) -> str:
            job_prioritise(job=job, priority=answer.number)
            return f"has the priority {answer.number}."

        return ask_and_do(self, request, queryset, PRIORITY, action)

    cancel = admin_action(CANCEL)


class PhaseAdmin(JobAdmin[Phase]):
    """The jobs of a submission: build, validation, publication."""

    list_display = ("id", "submission", "environment", "owner", "state", "fault", "error_code", "attempt", "worker",
                    "created_at", "took")  # fmt: skip
    list_display_links = ("id", "submission")
    list_filter = (*JobAdmin.list_filter, "submission__agent__environment")
    list_select_related = ("submission__agent__environment", "submission__agent__owner")
    search_fields = ("submission__agent__name", "submission__agent__owner__username", "error", "worker")

    def view_on_site(self, job: Phase) -> str:
        agent = job.submission.agent
        return reverse("web:agent", args=[agent.environment.slug, agent.name])

    @admin.display(ordering="submission__agent__environment")
    def environment(self, job: Phase) -> str:
        return str(job.submission.agent.environment)

    @admin.display(ordering="submission__agent__owner")
    def owner(self, job: Phase) -> str:
        return str(job.submission.agent.owner)


@admin.register(Build)
class BuildAdmin(PhaseAdmin[Build]):
    exclude = (*JobAdmin.exclude, "sbom")
    readonly_fields = (*JobAdmin.readonly_fields, "files")
    actions = ("requeue", "prioritise", "cancel", "run_again")

    @admin.display
    def files(self, build: Build) -> SafeString:
        address = reverse("web:submission_sbom", args=[build.submission_id])
        is_served = build.sbom and build == build.submission.latest_build
        return links((address, "bill of materials")) if is_served else text_block("")

    @admin.action(description="Run again, as a new build", permissions=["change"])
    def run_again(self, request: HttpRequest, queryset: QuerySet[Build]) -> None:
        do_each(self, request, queryset, lambda build: build_again(build.submission))


@admin.register(Validation)
class ValidationAdmin(PhaseAdmin[Validation]):
    exclude = (*JobAdmin.exclude, "records", "player_1_log", "player_2_log")
    readonly_fields = (*JobAdmin.readonly_fields, "files")
    actions = ("requeue", "prioritise", "cancel", "run_again")

    @admin.display
    def files(self, validation: Validation) -> SafeString:
        pairs = [
            (
                reverse("web:submission_log", args=[validation.submission_id, f"player_{player}"]),
                f"log of player {player}",
            )
            for player in (1, 2)
        ]
        match = (reverse("web:validation_match", args=[validation.pk, 1]), "matches")
        return links(match, *pairs) if validation.records else text_block("")

    @admin.action(description="Run again, with a new build", permissions=["change"])
    def run_again(self, request: HttpRequest, queryset: QuerySet[Validation]) -> None:
        do_each(self, request, queryset, lambda validation: build_again(validation.submission))


@admin.register(Publication)
class PublicationAdmin(PhaseAdmin[Publication]):
    exclude = (*JobAdmin.exclude, "url")
    readonly_fields = (*JobAdmin.readonly_fields, "address", "folder", "removed_at")
    actions = ("requeue", "prioritise", "cancel", "run_again")

    @admin.display
    def address(self, publication: Publication) -> SafeString:
        return links((publication.url, publication.url)) if publication.url else text_block("")

    @admin.action(description="Run again, as a new publication", permissions=["change"])
    def run_again(self, request: HttpRequest, queryset: QuerySet[Publication]) -> None:
        def action(publication: Publication) -> str:
            return f"is published again as publication {publication_again(publication=publication).pk}."

        do_each(self, request, queryset, action)
