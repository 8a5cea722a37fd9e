"""Try out the repository that public agents are pushed to."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.submissions.publishing import publications_ensure
from publisher.git import GitError
from publisher.remote import KEYS
from publisher.tasks import BRANCH, remote, repository


class Command(BaseCommand):
    help = "Fetch from the repository of PUBLISHER_REMOTE, push an empty commit to a branch of its own and remove it."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--publish",
            action="store_true",
            help="afterwards publish every public agent that is not in the repository, also where it has failed",
        )

    def handle(self, *args: Any, publish: bool, **options: Any) -> None:
        if not settings.PUBLISHER_REMOTE:
            raise CommandError("PUBLISHER_REMOTE is not set: nothing is published.")
        where = remote()
        # An address in git's short form may hold a user's name, but never a password.
        self.stdout.write(f"Repository: {where.address}")
        if where.is_ssh:
            self._say_ssh()
        try:
            exists = repository().try_out()
        except GitError as trouble:
            raise CommandError(f"NO, {trouble.code}: {trouble}") from None
        self.stdout.write(f"yes: it can be read; the branch {BRANCH} {'is there' if exists else 'will be made'}.")
        self.stdout.write("yes: an empty commit was pushed to a branch of its own, which is removed again.")
        if publish:
            count = 0
            while made := publications_ensure(failed_too=True):
                count += made
            self.stdout.write(f"{count} publication{'s' * (count != 1)} queued.")

    def _say_ssh(self) -> None:
        folder = settings.PUBLISHER_SSH_FOLDER
        keys = [name for name in KEYS if (folder / name).exists()]
        self.stdout.write(f"Keys in {folder}: {', '.join(keys) or 'none (' + ', '.join(KEYS) + ')'}")
        if not (folder / "known_hosts").exists():
            self.stdout.write(f"There is no {folder / 'known_hosts'}: no server is trusted.")
