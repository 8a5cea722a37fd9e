"""Judge kept rollouts again, or play them again in fresh worlds."""

from __future__ import annotations

import tempfile
import uuid
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q, QuerySet

from arena_kit.errors import PlatformFault
from arena_kit.rollout.recording.record import RecordRefused
from core.jobs.states import OPEN
from core.models import Rollout
from rollout_runner.building import package_standing
from rollout_runner.rechecks import Rechecked, build_of, rollout_judge_again, rollout_play_again


class Command(BaseCommand):
    help = "Judge rollouts again by what was kept of them; every verdict is added to their history."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "rollouts", nargs="*", metavar="ID", help="id of a rollout, as pages show it, or its number"
        )
        parser.add_argument("--batch", metavar="ID", help="all judged rollouts of a batch")
        parser.add_argument("--replay", action="store_true", help="play the recorded actions in a fresh world as well")
        parser.add_argument(
            "--newest-task", action="store_true", help="judge by the current revision of the task; that verdict counts"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        rows = list(self._rows(options))
        if not rows:
            raise CommandError("There is no such rollout that was judged.")
        wrong = sum(not self._recheck(row, options) for row in rows)
        if wrong:
            raise CommandError(f"{wrong} of {len(rows)} rollouts do not verify.", returncode=1)
        self.stdout.write(f"{len(rows)} of {len(rows)} rollouts verify.")

    def _rows(self, options: dict[str, Any]) -> QuerySet[Rollout]:
        found = Rollout.objects.select_related(*Rollout.RELATED, "task__environment", "package__environment")
        judged = found.exclude(state__in=OPEN).exclude(outcome="").order_by("pk")
        if options["batch"]:
            return judged.filter(batch__public_id=_id(options["batch"]))
        wanted = Q(pk__in=[])
        for name in options["rollouts"]:
            wanted |= Q(pk=int(name)) if name.isdecimal() else Q(public_id=_id(name))
        return judged.filter(wanted)

    def _recheck(self, rollout: Rollout, options: dict[str, Any]) -> bool:
        try:
            with tempfile.TemporaryDirectory() as folder:
                again = rollout_judge_again(rollout=rollout, folder=Path(folder), by_newest_task=options["newest_task"])
                is_good = self._told(rollout, again)
            if options["replay"]:
                with tempfile.TemporaryDirectory() as folder:
                    package = package_standing(build_of(rollout), log=lambda line: self.stdout.write(line))
                    replayed = rollout_play_again(rollout=rollout, package=package, folder=Path(folder))
                    is_good = self._told_replay(rollout, replayed) and is_good
        except (RecordRefused, PlatformFault, ValueError) as trouble:
            self.stdout.write(f"{rollout.public_id}: {trouble}")
            return False
        return is_good

    def _told(self, rollout: Rollout, found: Rechecked) -> bool:
        said = f"{found.verdict.outcome}, score {found.verdict.score:.3g}. {found.verdict.sentence}".strip()
        how = "agrees" if found.agrees else "differs, and counts now" if found.is_changed else "differs"
        self.stdout.write(f"{rollout.public_id}: the verdict {how}: {said}")
        return found.agrees or found.is_changed

    def _told_replay(self, rollout: Rollout, found: Rechecked) -> bool:
        if not found.differences:
            self.stdout.write(f"{rollout.public_id}: played again, it leaves the same state.")
            return True
        self.stdout.write(f"{rollout.public_id}: played again, it leaves another state.")
        for sentence in found.differences:
            self.stdout.write(f"  {sentence}")
        return False


def _id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise CommandError(f"{text} is not the id of a rollout.") from None
