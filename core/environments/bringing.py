"""An uploaded folder of an environment goes live: from then on its code runs as that of all organisers does.

That is beside the site and the workers, in processes that contain mistakes, not malice: so a superuser decides it.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from django.conf import settings
from django.db import Error, connections, transaction
from django.utils import timezone

from arena_kit.environment.outside.copies import EARLIER, copies_announce, copy_keep
from arena_kit.environment.registry import all_specs, left_out
from core.environments.availability import RETIRED
from core.environments.folders import MARK, folder_placed, live_spec, place_check, place_of, trial_content
from core.environments.syncing import NotSynced, spec_sync
from core.environments.trials import environment_of
from core.errors import Refused
from core.jobs.locks import name_lock
from core.models import Course, Environment, EnvironmentTrial, JobState, User
from core.people.rights import SUPERUSER, may

logger = logging.getLogger(__name__)
WITH_LIMITS = "“Put live” with its limits"
LOCK = "environments brought"
PAUSE_SECONDS = 60.0
"""A site looks this long after it has looked last for folders that it lacks, as workers do."""


def is_live(trial: EnvironmentTrial) -> bool:
    """Return whether it is the folder of its environment that was put live last."""
    return trial.live_at is not None and trial == live_trial(trial.slug)


def live_trial(slug: str) -> EnvironmentTrial | None:
    """Return the folder of an environment that was put live last; None where none was uploaded."""
    return EnvironmentTrial.objects.filter(slug=slug, live_at__isnull=False).order_by("live_at", "pk").last()


def environment_bring(
    *, trial: EnvironmentTrial, by: User, with_limits: bool = False, course: Course | None = None
) -> str:
    """Put a folder live that has passed its trial; return what that changed. No restart is needed.

    with_limits: whether limits and match counts of info.yml replace those that organisers have set. course: to which a
    new environment belongs, from its first moment on. Raises Refused, and then the folder that was live before stays.
    """
    if not may(by, SUPERUSER):
        raise Refused("Only superusers put environments live, because their code then runs beside the arena's own.")
    if trial.state != JobState.SUCCEEDED:
        raise Refused("Only a folder that has passed its trial can go live.")
    with transaction.atomic(), trial_content(trial) as (folder, spec):
        name_lock(LOCK)
        is_new = environment_of(spec) is None
        live = live_spec(spec.slug)
        if live is not None and live.version > spec.version:
            raise Refused(f"{live.id} is live, and versions only rise.")
        place_check(spec.slug)
        with folder_placed(folder, place_of(spec.slug)) as place:
            found = next((one for one in all_specs() if one.slug == spec.slug and one.file.parent == place), None)
            if found is None:
                why = (one.because for one in left_out() if one.path.is_relative_to(place))
                raise Refused(next(why, "The site does not find it in its folder of environments."))
            copy_keep(found)
            copies_announce(settings.ENVIRONMENTS_DIR)
            try:
                said = spec_sync(spec=found, trouble=None, reset_limits=with_limits, applied_by=WITH_LIMITS)
            except NotSynced as error:
                raise Refused(str(error)) from None
        environment = Environment.objects.get(slug=spec.slug)
        if course is not None and is_new:
            environment.course = course
            environment.save(update_fields=["course"])
        trial.environment, trial.live_at = environment, timezone.now()
        trial.save(update_fields=["environment", "live_at"])
    return " ".join(said)


def environments_fetch() -> None:
    """Unpack on this machine what went live on another one, with earlier rules, unless they share the folder.

    A folder that was changed by hand stays until the next upload goes live.
    """
    rows = EnvironmentTrial.objects.filter(live_at__isnull=False).exclude(environment__unavailable_because=RETIRED)
    live: dict[str, list[EnvironmentTrial]] = {}
    for trial in rows.order_by("live_at", "pk"):
        live.setdefault(trial.slug, []).append(trial)
    folder = settings.ENVIRONMENTS_DIR.absolute()
    for slug, trials in live.items():
        places = {folder / EARLIER / f"{slug}-v{trial.version}": trial for trial in trials}
        places[place_of(slug)] = trials[-1]
        for place, trial in places.items():
            if _is_missing(place, trial):
                _fetch(trial, place)


class SiteChore:
    """Runs `environments_fetch` in a thread of the site, whose host may have no workers that do it."""

    def __init__(self) -> None:
        self._next_at, self._turn = 0.0, threading.Lock()

    def __call__(self, **_: object) -> threading.Thread | None:
        """Begin, if it is a minute since this process has ended to do so; return the thread."""
        if time.monotonic() < self._next_at or not self._turn.acquire(blocking=False):
            return None
        thread = threading.Thread(target=self._run, name="environments", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # The system has no thread left. The next request tries again, and this one goes on.
            self._turn.release()
            logger.warning("Environments could not be fetched: %s", error)
            return None
        return thread

    def _run(self) -> None:
        try:
            environments_fetch()
        except (Error, OSError) as error:
            # A request of the next minute tries again.
            logger.warning("Environments could not be fetched: %s", error)
        except Exception:
            logger.exception("Environments could not be fetched.")
        finally:
            connections.close_all()
            self._next_at = time.monotonic() + PAUSE_SECONDS
            self._turn.release()


def _is_missing(place: Path, trial: EnvironmentTrial) -> bool:
    # A folder without the mark was put there by hand.
    mark = place / MARK
    if place.parent.name == EARLIER or not mark.is_file():
        return not place.exists()
    return mark.read_text(encoding="ascii", errors="replace") != trial.archive_sha256


def _fetch(trial: EnvironmentTrial, place: Path) -> None:
    try:
        with transaction.atomic():
            name_lock(LOCK)
            # Another process of this machine may have been first.
            if _is_missing(place, trial):
                with trial_content(trial) as (folder, _), folder_placed(folder, place):
                    copies_announce(settings.ENVIRONMENTS_DIR)
    except (Refused, OSError) as error:
        logger.warning("%s could not be fetched to %s: %s", trial, place, error)
