"""One of everything that an address can name, alice's and private, for tests that walk through all addresses."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.tokens import default_token_generator
from django.core.files.base import ContentFile
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from core.models import Build, JobState, NoticeKind, Recording
from core.notices.letters import email_token
from core.notices.mails import unsubscribe_token
from core.notices.services import notify
from core.people.tokens import token_create
from core.tests import applications, factories
from core.tests.factories import Cast, challenged, environment, season, sitting
from web.kit.parts import wheel_served
from web.tests import drawn, played, scored
from web.tests.arena import staged

LOG = "</pre><script>alert(1)</script>\n"
FRAMES = ["@FFF\nFHFH", "S@FF\nFHFH", "SF@F\nFHFH"]


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
    factories.analysis(stage.duel, 6)
    cup = drawn.cup([stage.anna, stage.berta, stage.clara], games, edition=2)
    task = scored.environment("frozen-lake")
    made = scored.submission(cast.alice, task, "mine", algorithm="PPO")
    evaluation = scored.with_files(scored.evaluation(made, scored.scores_around(300, 20)), log=LOG)
    practice = evaluation.submission.validations.get()
    video = b"\x1a\x45\xdf\xa3webm"
    scored.recording(evaluation, Recording.Choice.BEST, frames=FRAMES, video=video, practice=practice)
    notify(user=cast.alice, kind=NoticeKind.VALIDATED, title="mine v1 is validated", text="It may play.", address="/")
    token, _ = token_create(owner=cast.alice, name="laptop", now=timezone.now(), days=1)
    rollout = applications.everything(cast.alice)
    return {
        "rollout": rollout.public_id,
        "batch": rollout.batch.public_id,
        "slug": games.slug,
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
        "season": season(games).pk,
        "duel": stage.duel.pk,
        "validation": validation.pk,
        "build": build.pk,
        "evaluation": evaluation.pk,
        "token": token.pk,
        "challenge": challenged(stage.anna, stage.berta).pk,
        "sitting": sitting(stage.anna, JobState.QUEUED).public_id,
        "notice": cast.alice.notices.latest("pk").pk,
        "confirm": email_token(cast.alice),
        "unsubscribe": unsubscribe_token(cast.alice, NoticeKind.VALIDATED),
        "kit": "random",
        "wheel": wheel_served().filename,
        "wheel_sha256": wheel_served().sha256,
        "planned": factories.planned(games).pk,
        "user": cast.alice.pk,
        "webhook": factories.webhook("door").pk,
        "uid": urlsafe_base64_encode(force_bytes(cast.alice.pk)),
        "reset": default_token_generator.make_token(cast.alice),
    }
