"""Calls commands of `manage.py` in this process."""

from __future__ import annotations

import io

from django.core.management import call_command

from core.models import Duel, Evaluation


def recheck(job: Duel | Evaluation, *options: str) -> tuple[object, str]:
    """Run `recheck`; return the exit code and the whole output."""
    output = io.StringIO()
    code: object = 0
    try:
        call_command("recheck", job.KIND, str(job.pk), *options, stdout=output, stderr=output)
    except SystemExit as ended:
        code = ended.code
    return code, output.getvalue()
