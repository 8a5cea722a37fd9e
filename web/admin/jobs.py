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

from core.jobs.control import job_cancel, job_prioritise, job_requeue
from core.jobs.lifecycle import job_wake
from core.jobs.selectors import attempts_of
from core.jobs.turns import TURNS_PER_PRIORITY
from core.jobs.waits import wait_of
from core.models import Build, CancelCode, Duel, Job, JobState, PlayedJob, Publication, Submission, User, Validation
from core.models.job import PRIORITIES
from core.submissions.phases import publication_again
from core.submissions.services import submission_rebuild
from core.tournaments.rounds import meeting_again
from core.tournaments.strikes import duel_play_again, duel_void
from web.admin.base import Answer, Question, ReadOnlyAdmin, ask_and_do, do_each, links, text_block

AnyJob = TypeVar("AnyJob", bound=Job)
Phase = TypeVar("Phase", Build, Validation, Publication)

CANCEL = Question(
    title="Cancel",
    consequence="A cancelled job stays cancelled: this cannot be undone. Running jobs are stopped.",
    button="Cancel them",
    reason="Reason, shown on the page",
)
VOID = Question(
    title="Void",
    consequence="From now on the results count for neither side, and the table is computed again. Records stay.",
    button="Void",
    reason="Reason, shown on the duel's page",
)


PRIORITY = Question(
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

    @admin.action(description="Requeue: take from the worker and start again", permissions=["change"])
    def requeue(self, request: HttpRequest, queryset: QuerySet[AnyJob]) -> None:
        def action(job: AnyJob) -> str:
            if job.state == JobState.QUEUED:
                job_wake(job=job)
                return "was already waiting; its workers were woken."
            job_requeue(job=job, reason=f"Requeued by {request.user}.")
            return "waits for a worker again."

        do_each(self, request, queryset, action)

    @admin.action(description="Set the priority of waiting jobs", permissions=["change"])
    def prioritise(self, request: HttpRequest, queryset: QuerySet[AnyJob]) -> HttpResponse | None:
        def action(job: AnyJob, answer: Answer) -> str:
            job_prioritise(job=job, priority=answer.number)
            return f"has the priority {answer.number}."

        return ask_and_do(self, request, queryset, PRIORITY, action)

    @admin.action(description="Cancel, with a reason", permissions=["change"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[AnyJob]) -> HttpResponse | None:
        def action(job: AnyJob, answer: Answer) -> str:
            job_cancel(job=job, code=CancelCode.BY_ORGANISER, reason=answer.reason)
            return "is cancelled."

        return ask_and_do(self, request, queryset, CANCEL, action)


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


def build_again(submission: Submission) -> str:
    """Start a new build beside the old ones. Raises Refused or StaleJob."""
    build = submission_rebuild(submission=submission)
    return f"is built and validated again as build {build.pk}."


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
    readonly_fields = (*JobAdmin.readonly_fields, "address")
    actions = ("requeue", "prioritise", "cancel", "run_again")

    @admin.display
    def address(self, publication: Publication) -> SafeString:
        return links((publication.url, publication.url)) if publication.url else text_block("")

    @admin.action(description="Run again, as a new publication", permissions=["change"])
    def run_again(self, request: HttpRequest, queryset: QuerySet[Publication]) -> None:
        def action(publication: Publication) -> str:
            return f"is published again as publication {publication_again(publication=publication).pk}."

        do_each(self, request, queryset, action)


@admin.register(Duel)
class DuelAdmin(JobAdmin[Duel]):
    list_display = ("id", "player_1", "player_2", "state", "result", "is_struck", "verdict", "error_code", "tournament",
                    "number", "matches", "worker", "created_at", "took")  # fmt: skip
    list_filter = (*JobAdmin.list_filter, "outcome", "verdict", ("void", admin.EmptyFieldListFilter),
                   "tournament__environment")  # fmt: skip
    list_select_related = ("tournament__environment", "player_1__agent", "player_2__agent", "void")
    search_fields = ("=id", "player_1__agent__name", "player_2__agent__name", "error", "worker")
    exclude = (*JobAdmin.exclude, "records", "player_1_log", "player_2_log")
    readonly_fields = (*JobAdmin.readonly_fields, "is_struck", "files")
    actions = ("requeue", "prioritise", "cancel", "void", "run_again")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Duel]:
        return super().get_queryset(request)

    def view_on_site(self, duel: Duel) -> str:
        return reverse("web:duel", args=[duel.pk])

    @admin.display(description="result")
    def result(self, duel: Duel) -> str:
        if not duel.outcome:
            return "–"
        wins = f"{duel.player_1_wins} : {duel.player_2_wins}, {duel.draws} drawn"
        errors = duel.player_1_errors + duel.player_2_errors
        return (f"{wins}, {errors} forfeited" if errors else wins).replace(" ", "\N{NO-BREAK SPACE}")

    @admin.display(description="matches")
    def matches(self, duel: PlayedJob) -> str:
        return f"{duel.matches_done} of {duel.match_count}"

    @admin.display(description="void")
    def is_struck(self, duel: Duel) -> str:
        return "void" if duel.is_void else ""

    @admin.display
    def files(self, duel: Duel) -> SafeString:
        if not duel.records:
            return text_block("")
        pairs = [("web:duel_results", "results"), ("web:duel_records", "records")]
        logs = [(reverse("web:duel_log", args=[duel.pk, f"player_{n}"]), f"log of player {n}") for n in (1, 2)]
        return links(*((reverse(name, args=[duel.pk]), title) for name, title in pairs), *logs)

    @admin.action(description="Void, with a reason", permissions=["change"])
    def void(self, request: HttpRequest, queryset: QuerySet[Duel]) -> HttpResponse | None:
        def action(duel: Duel, answer: Answer) -> str:
            duel_void(duel=duel, reason=answer.reason, user=answer.user)
            return "is void."

        return ask_and_do(self, request, queryset, VOID, action)

    @admin.action(description="Run again: play a new duel of the same pair", permissions=["change"])
    def run_again(self, request: HttpRequest, queryset: QuerySet[Duel]) -> None:
        assert isinstance(request.user, User)
        user = request.user

        def action(duel: Duel) -> str:
            follows_plan = duel.tournament is not None and not duel.tournament.is_automatic
            if follows_plan and duel.state == JobState.FAILED:
                meeting_again(duel=duel, reason=f"The arena could not play it; run again by {user}.", user=user)
                return "is void; its meeting is played again."
            again = duel_play_again(duel=duel)
            return f"is played again as duel {again.pk}."

        do_each(self, request, queryset, action)
