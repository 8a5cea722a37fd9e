"""One of everything that an address can name, alice's and private, for tests that walk through all addresses."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from allauth.account import app_settings
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from allauth.usersessions.models import UserSession
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.urls import reverse
from django.utils import timezone
from PIL import Image

from core.courses.services import join_address, join_open
from core.courses.teams import team_create
from core.models import (
    Assignment,
    Build,
    Course,
    JobState,
    LanguageModel,
    Member,
    NoticeKind,
    Package,
    Recording,
    Role,
    SeenBy,
    User,
)
from core.notices.mails import unsubscribe_token
from core.notices.services import notify
from core.people.tokens import token_create
from core.tests import applications, factories
from core.tests.factories import Cast, challenged, environment, season, sitting
from core.tournaments.pictures import picture_set
from web.kit.parts import wheel_served
from web.tests import drawn, played, scored
from web.tests.arena import staged
from web.tournaments.pictures import picture_key

LOG = "</pre><script>alert(1)</script>\n"
FRAMES = ["@FFF\nFHFH", "S@FF\nFHFH", "SF@F\nFHFH"]


def confirm_key(person: User) -> str:
    """What the link of a letter names: an address that is not confirmed yet."""
    row, _ = EmailAddress.objects.get_or_create(user=person, email=f"new-{person.email}")
    return str(EmailConfirmationHMAC(row).key)


def reset_key(person: User) -> str:
    return str(app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(person))


def reset_link(person: User) -> str:
    """The link of a letter with which a person chooses a new password."""
    return reverse("account_reset_password_from_key", args=[user_pk_to_url_str(person), reset_key(person)])


def furnished(cast: Cast) -> dict[str, Any]:
    """What stands in the braces of an address, to the row that it names.

    `duel` is of anna (alice's) against berta (bob's), both private; `evaluation` of alice's private agent on hidden
    seeds; `clara` is charlie's public agent.
    """
    games = environment()
    stage = staged(cast, games, match_count=6)
    validation = played.play_validation(stage.anna)
    build = stage.anna.builds.latest("pk")
    build.sbom.save("sbom.json", ContentFile(b'{"bomFormat": "CycloneDX"}'))
    Build.objects.filter(pk=build.pk).update(log=LOG)
    factories.rating(stage.anna)
    factories.analysis(stage.duel, 6)
    factories.blunder(stage.anna, stage.duel)
    cup = drawn.cup([stage.anna, stage.berta, stage.clara], games, edition=2)
    still = BytesIO()
    Image.new("RGB", (2, 1)).save(still, "WEBP")
    picture_set(tournament=cup, picture=still.getvalue(), alt="A cup.")
    with default_storage.open(str(cup.picture.name), "wb") as file:
        file.write(b"<script>alert(1)</script>")
    task = scored.environment("frozen-lake")
    made = scored.submission(cast.alice, task, "mine", algorithm="PPO")
    evaluation = scored.with_files(scored.evaluation(made, scored.scores_around(300, 20)), log=LOG)
    practice = evaluation.submission.validations.get()
    video = b"\x1a\x45\xdf\xa3webm"
    scored.recording(evaluation, Recording.Choice.BEST, frames=FRAMES, video=video, practice=practice)
    notify(user=cast.alice, kind=NoticeKind.VALIDATED, title="mine v1 is validated", text="It may play.", address="/")
    token, _ = token_create(owner=cast.alice, name="laptop", now=timezone.now(), days=1)
    rollout = applications.everything(cast.alice)
    course = Course.objects.create(slug="robots", name="Robots", seen_by=SeenBy.EVERYONE)
    teacher = Member.objects.create(course=course, user=cast.alice, role=Role.TEACHER)
    join_open(group=course)
    team = team_create(course=course, name="robot-makers")
    join_open(group=team)
    student = Member.objects.create(course=course, user=cast.bob)
    task_of = Assignment.objects.create(
        course=course, environment=games, name="Week 1", opens_at=factories.NOON, due_at=timezone.now()
    )
    task_of.baselines.create(agent=stage.clara.agent)
    return {
        "course": course.slug,
        "member": teacher.pk,
        "student": student.pk,
        "assignment": task_of.pk,
        "team": team.pk,
        "team_link": join_address(team).rstrip("/").rpartition("/")[2],
        "join": join_address(course).rstrip("/").rpartition("/")[2],
        "rollout": rollout.public_id,
        "batch": rollout.batch.public_id,
        "slug": games.slug,
        "game": games.pk,
        "model": LanguageModel.objects.latest("pk").pk,
        "package": Package.objects.latest("pk").pk,
        "folder": factories.environment_trial(cast.olga).pk,
        "schedule": factories.schedule(games, "every week").pk,
        "task": task.slug,
        "env_id": task.env_id,
        "agent": stage.anna.agent.name,
        "agent_id": stage.anna.agent.pk,
        "submission": stage.anna.pk,
        "public_id": stage.anna.public_id,
        "scored_id": made.public_id,
        "tournament": stage.tournament.pk,
        "edition": stage.tournament.edition,
        "cup": cup.pk,
        "cup_edition": cup.edition,
        "picture": picture_key(cup),
        "season": season(games).pk,
        "duel": stage.duel.pk,
        "validation": validation.pk,
        "build": build.pk,
        "evaluation": evaluation.pk,
        "token": token.pk,
        "session": UserSession.objects.create(user=cast.alice, ip="192.0.2.1", session_key="alice's phone").pk,
        "challenge": challenged(stage.anna, stage.berta).pk,
        "sitting": sitting(stage.anna, JobState.QUEUED).public_id,
        "notice": cast.alice.notices.latest("pk").pk,
        "confirm": confirm_key(cast.alice),
        "unsubscribe": unsubscribe_token(cast.alice, NoticeKind.VALIDATED),
        "kit": "random",
        "wheel": wheel_served().filename,
        "wheel_sha256": wheel_served().sha256,
        "planned": factories.planned(games).pk,
        "user": cast.alice.pk,
        "webhook": factories.webhook("door").pk,
        "uid": user_pk_to_url_str(cast.alice),
        "reset": reset_key(cast.alice),
    }
