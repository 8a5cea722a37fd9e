"""Tries uploaded folders of environments."""

from __future__ import annotations

from django.conf import settings

from arena_kit.environment.outside.report import Report, report_here
from arena_kit.errors import PlatformFault
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.folder_report import folder_report
from arena_kit.upload.environment_folder import folder_unpacked
from core.environments.trials import trial_end
from core.jobs.lease import Lease
from core.models import EnvironmentTrial


def environment_try(trial: EnvironmentTrial, lease: Lease) -> None:
    """Report on an uploaded folder, in containers; in limited processes where the arena is for its own code only."""
    try:
        with trial.archive.open("rb") as archive, folder_unpacked(archive) as (folder, _):
            lease.log(f"Try {folder.name}, {'in a process' if settings.SANDBOX == 'process' else 'in containers'}")
            if settings.SANDBOX == "process":
                report: Report = report_here(folder)
            else:
                report = folder_report(
                    folder,
                    image=settings.PLAYER_BASE_IMAGE,
                    prefix=settings.PLAYER_IMAGE_PREFIX,
                    still_wanted=lease.raise_if_lost,
                )
    except BuilderUnavailable as trouble:
        raise PlatformFault(str(trouble), code=trouble.code) from trouble
    except FileNotFoundError:
        raise PlatformFault("The uploaded zip is missing from the store.", code="archive_missing") from None
    trial_end(trial=trial, report=report, log=lease.text)
