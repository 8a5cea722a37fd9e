"""An uploaded folder of an environment goes live: from then on its code runs as that of all organisers does.

That is beside the site and the workers, in processes that contain mistakes, not malice: so a superuser decides it.
"""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, cast

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from arena_kit.environment.outside.copies import EARLIER, copies_announce, copy_keep
from arena_kit.environment.outside.trial import files_of
from arena_kit.environment.registry import all_specs, forget, left_out
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.text import plain_text
from arena_kit.upload.environment_folder import folder_unpacked
from arena_kit.upload.zip_safety import ArchiveRefused
from core.environments.services import choices_of
from core.environments.syncing import NotSynced, choices_differing, spec_sync
from core.environments.trials import environment_of
from core.errors import Refused
from core.jobs.locks import name_lock
from core.models import Environment, EnvironmentTrial, JobState, User
from core.people.rights import SUPERUSER, may

PLACES = frozenset(
    {"folder", "file", "is_outside", "announced_at", "kept_text", "keeps_twins", "earlier", "from_start"}
)
"""Fields of a spec that no key of info.yml sets, or that older rules have."""
MOST_SHOWN = 30
WITH_LIMITS = "“Put live with its limits”"
SHOWN_SUFFIXES = (".py", ".yml", ".css", ".svg", ".json", ".txt", ".md")
SHOWN_CHARACTERS = 200_000


def is_live(trial: EnvironmentTrial) -> bool:
    """Return whether it is the folder of its environment that was put live last."""
    return trial.live_at is not None and trial == live_trial(trial.slug)


def live_trial(slug: str) -> EnvironmentTrial | None:
    """Return the folder of an environment that was put live last; None where none was uploaded."""
    return EnvironmentTrial.objects.filter(slug=slug, live_at__isnull=False).order_by("live_at", "pk").last()


def environment_bring(*, trial: EnvironmentTrial, by: User, with_limits: bool) -> str:
    """Put a folder live that has passed its trial; return what that changed. No restart is needed.

    with_limits: whether limits and match counts of info.yml replace those that organisers have set. Raises Refused, and
    then the folder that was live before stays.
    """
    if not may(by, SUPERUSER):
        raise Refused("Only superusers put environments live, because their code then runs beside the arena's own.")
    if trial.state != JobState.SUCCEEDED:
        raise Refused("Only a folder that has passed its trial can go live.")
    with transaction.atomic(), _content(trial) as (folder, spec):
        name_lock("environments brought")
        environment_of(spec)
        live = _live_spec(spec.slug)
        if live is not None and live.version > spec.version:
            raise Refused(f"{live.id} is live, and versions only rise.")
        with _placed(folder, _place(spec)) as place:
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
        trial.environment, trial.live_at = Environment.objects.get(slug=spec.slug), timezone.now()
        trial.save(update_fields=["environment", "live_at"])
    return " ".join(said)


def folder_differences(trial: EnvironmentTrial) -> list[str]:
    """Return what going live would change: versions, keys of info.yml, settings, files. Raises Refused."""
    with _content(trial) as (folder, spec):
        live = _live_spec(spec.slug)
        if live is None:
            return [f"{spec.id} is new: {_count(folder)} files."]
        said = [f"version: {live.version} → {spec.version}"] if live.version != spec.version else []
        said += _keys(live, spec)
        row = Environment.objects.filter(slug=spec.slug).first()
        said += choices_differing(row, spec) if row is not None else []
        changed = _files_changed(live.file.parent, folder)
        if live.version == spec.version and any(name.endswith(".py") for name in changed):
            said.append("Code differs and the version does not: right for a mend, not for other rules.")
        return [*said, *changed.values()][:MOST_SHOWN] or ["Nothing differs from what is live."]


def folder_sources(trial: EnvironmentTrial) -> list[tuple[str, str]]:
    """Return the name and the text of each file of text; of one that is live, what differs, or nothing.

    Empty where the zip cannot be read.
    """
    try:
        with _content(trial) as (folder, spec):
            live = _live_spec(spec.slug)
            shown = []
            for path in sorted(one for one in folder.rglob("*") if one.is_file() and one.suffix in SHOWN_SUFFIXES):
                name, text = path.relative_to(folder).as_posix(), _text(path)
                before = "" if live is None else _text(live.file.parent / name)
                lines = difflib.unified_diff(before.splitlines(), text.splitlines(), lineterm="")
                shown.append((name, text if not before else "\n".join(list(lines)[2:])))
            return [(name, text) for name, text in shown if text]
    except Refused:
        return []


def _text(path: Path) -> str:
    try:
        return plain_text(path.read_text(encoding="utf-8", errors="replace")[:SHOWN_CHARACTERS])
    except OSError:
        return ""


def _keys(live: EnvironmentSpec, spec: EnvironmentSpec) -> Iterator[str]:
    """Yield the keys of info.yml that differ, with both values."""
    settable = {*choices_of(spec), *PLACES, "version", "limits", "heavy", "classic"}
    for name in (one.name for one in fields(EnvironmentSpec) if one.name not in settable):
        before, after = getattr(live, name), getattr(spec, name)
        if before != after and name == "description":
            lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
            yield from (f"description: {line}" for line in list(lines)[2:] if not line.startswith("@@"))
        elif before != after:
            yield f"{name}: {before} → {after}"


def _files_changed(live: Path, folder: Path) -> Mapping[str, str]:
    """Return a sentence for each file that differs, by its name; info.yml is compared key by key."""
    before, after = _digests(live), _digests(folder)
    said = {}
    for name in sorted({*before, *after} - {"info.yml"}):
        if before.get(name) != after.get(name):
            how = "is new" if name not in before else "goes" if name not in after else "is changed"
            said[name] = f"{name} {how}"
    return said


def _digests(folder: Path) -> dict[str, str]:
    named = {path.relative_to(folder).as_posix(): path for path in files_of(folder) if path.is_file()}
    hidden = {name for name in named if any(part.startswith(".") for part in name.split("/"))}
    return {name: sha256(path.read_bytes()).hexdigest() for name, path in named.items() if name not in hidden}


def _count(folder: Path) -> int:
    return len(_digests(folder))


def _live_spec(slug: str) -> EnvironmentSpec | None:
    return next((spec for spec in all_specs() if spec.slug == slug and spec.is_outside), None)


def _place(spec: EnvironmentSpec) -> Path:
    """Return the folder of an environment: the one that it has, whatever its name, or one of its slug."""
    live = _live_spec(spec.slug)
    return live.file.parent if live is not None else settings.ENVIRONMENTS_DIR.absolute() / spec.slug


@contextmanager
def _content(trial: EnvironmentTrial) -> Iterator[tuple[Path, EnvironmentSpec]]:
    """Unpack the very zip that was tried; yield its folder and its spec. Raises Refused."""
    try:
        with trial.archive.open("rb") as archive:
            file = cast(BinaryIO, archive.file)
            if sha256(file.read()).hexdigest() != trial.archive_sha256:
                raise Refused("The zip in the store is not the one that was tried.")
            file.seek(0)
            with folder_unpacked(file) as found:
                yield found
    except FileNotFoundError:
        raise Refused("The zip is missing from the store.") from None
    except ArchiveRefused as refusal:
        raise Refused(str(refusal)) from None


@contextmanager
def _placed(folder: Path, place: Path) -> Iterator[Path]:
    """Put a folder in its place while the block runs, and for good if it ends well; otherwise the old one comes back.

    The registry is read anew in both cases. Raises Refused where the folder cannot be written.
    """
    # There no environments are looked for, and it is the same disk.
    part, old = (place.parent / EARLIER / f".{name}-{place.name}" for name in ("arriving", "replaced"))
    try:
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)
        shutil.copytree(folder, part)
        if place.exists():
            place.rename(old)
        part.rename(place)
    except OSError as error:
        raise Refused(f"The site cannot write to its folder of environments: {error.strerror}.") from None
    try:
        forget()
        yield place
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        if old.exists():
            old.rename(place)
        forget()
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
