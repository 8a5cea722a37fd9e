"""The command line of `manage.py`: commands that change data are recorded in the audit log."""

from __future__ import annotations

import os
import pwd
import re
import socket
import sys
from collections.abc import Callable, Iterator
from functools import wraps

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand

from arena_kit.folders import DATA_DIR_HINT, data_dir_close, data_dir_problem

CHANGING = frozenset({
    "axes_reset", "axes_reset_failure_logs", "axes_reset_ip", "axes_reset_ip_username",
    "axes_reset_logs", "axes_reset_username", "backup", "changepassword", "createsuperuser", "files_copy",
    "first_organiser", "flush", "import_classic", "kit_bundle", "loaddata", "migrate", "publisher_check", "recheck",
    "recompute", "restore", "retention", "second_factor_drop", "secrets_seal", "sync_environments", "tournament",
    "recheck_rollout",
})  # fmt: skip
"""Commands that change, export or delete data of the arena."""
ON_ANY_SCHEMA = frozenset({"backup", "migrate", "restore"})
"""Commands of these that also mend, move or keep a database that does not fit."""
HELP = frozenset({"help", "-h", "--help"})
"""Words by which a command is shown and not run."""
_SECRET = re.compile(r"--[\w-]*(?:password|tok|secret|key)[\w-]*", re.IGNORECASE)
"""Options whose values are secret."""


class Operated(ManagementUtility):
    """Django's command line. Only commands that people type come this way; programs use `call_command`."""

    def execute(self) -> None:
        """Run the command. A setting that cannot be is named in one sentence."""
        try:
            super().execute()
        except ImproperlyConfigured as error:
            sys.exit(f"This arena is not configured correctly. {error}")

    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand)
        # Before Django's own checks open the database, whose file may be in this folder.
        if command.requires_system_checks and (problem := data_dir_problem(settings.DATA_DIR)):
            sys.exit(f"{problem} {DATA_DIR_HINT}")
        data_dir_close(settings.DATA_DIR)
        if subcommand in CHANGING:
            if subcommand not in ON_ANY_SCHEMA and HELP.isdisjoint(self.argv):
                # Late: the settings are loaded only when a command runs.
                from core.checks.schema import refuse_unfit_schema

                refuse_unfit_schema()
            command.run_from_argv = _written_down(command.run_from_argv)  # type: ignore[method-assign, assignment]
        return command


def _written_down(run: Callable[[list[str]], None]) -> Callable[[list[str]], None]:
    @wraps(run)
    def run_and_write(argv: list[str]) -> None:
        status: object = 0
        try:
            run(argv)
        except SystemExit as end:
            status = end.code
            raise
        finally:
            _write(argv, status)

    return run_and_write


def _write(argv: list[str], status: object) -> None:
    # Imported here, because the settings are loaded only when a command runs.
    from django.db import DatabaseError

    # Late: Django is set up only now.
    from core.models import AuditEntry
    from core.people.audit_log import Operator, audit_record

    operator = Operator(AuditEntry.Channel.COMMAND, who_types(), address=socket.gethostname())
    typed = " ".join(_without_secrets(argv[2:]))
    note = typed if not status else f"{typed} (ended with status {status})".lstrip()
    try:
        audit_record(operator=operator, action=argv[1], note=note)
    except DatabaseError as error:
        sys.stderr.write(f"This command could not be recorded in the audit log: {error}\n")


def _without_secrets(words: list[str]) -> Iterator[str]:
    is_value = False
    for word in words:
        option = _SECRET.match(word)
        yield "..." if is_value else f"{option[0]}=..." if option and option[0] != word else word
        is_value = option is not None and option[0] == word


def who_types() -> str:
    """Return the user of this machine who runs the command, even behind sudo."""
    behind_sudo = os.environ.get("SUDO_USER", "")
    if behind_sudo:
        return behind_sudo
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
