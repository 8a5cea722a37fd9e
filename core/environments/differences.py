"""How an uploaded folder of an environment differs from the one that is live."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterator, Mapping
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from tokenize import detect_encoding

from arena_kit.environment.info import SET_LATER
from arena_kit.environment.outside.trial import files_of
from arena_kit.environment.spec import EnvironmentSpec
from core.environments.folders import live_spec, trial_content
from core.environments.services import choices_of
from core.environments.syncing import choices_differing
from core.errors import Refused
from core.models import Environment, EnvironmentTrial

PLACES = frozenset((*SET_LATER, "earlier"))
"""Fields of a spec that no key of info.yml sets, and those of older rules."""
MOST_SHOWN = 30
SHOWN_SUFFIXES = (".py", ".yml", ".css", ".svg", ".json", ".txt", ".md")
SHOWN_BYTES = 200_000
MOST_COMPARED = 5_000
"""Comparing more lines may take long."""


def folder_differences(trial: EnvironmentTrial) -> list[str]:
    """Return what going live would change: versions, keys of info.yml, settings, files. Raises Refused."""
    with trial_content(trial) as (folder, spec):
        live = live_spec(spec.slug)
        if live is None:
            return [f"{spec.id} is new: {_count(folder)} files."]
        said = [f"version: {live.version} → {spec.version}"] if live.version != spec.version else []
        changed = _files_changed(live.file.parent, folder)
        if live.version == spec.version and any(name.endswith(".py") for name in changed):
            said.append("Code differs and the version does not: right for a mend, not for other rules.")
        said += _keys(live, spec)
        row = Environment.objects.filter(slug=spec.slug).first()
        said += choices_differing(row, spec) if row is not None else []
        said += changed.values()
        if len(said) > MOST_SHOWN:
            said[MOST_SHOWN:] = [f"and {len(said) - MOST_SHOWN} more lines, which are not shown here"]
        return said or ["Nothing differs from what is live."]


def folder_sources(trial: EnvironmentTrial) -> list[tuple[str, str]]:
    """Return the name and the text of each file; of one that is live, what differs, or nothing.

    A file that is no text, or too long, is named with its size. Empty where the zip cannot be read.
    """
    try:
        with trial_content(trial) as (folder, spec):
            live = live_spec(spec.slug)
            before = {} if live is None else _named(live.file.parent)
            after = _named(folder)
            shown = [(name, _source(before.get(name), path)) for name, path in sorted(after.items())]
            return [(name, text) for name, text in shown if text]
    except Refused:
        return []


def _source(before: Path | None, path: Path) -> str:
    data = path.read_bytes()
    if before is not None and before.read_bytes() == data:
        return ""
    if path.suffix not in SHOWN_SUFFIXES or len(data) > SHOWN_BYTES:
        return f"{len(data)} bytes, not shown."
    text = _as_run(path, data)
    if before is None or before.stat().st_size > SHOWN_BYTES:
        return text
    return "\n".join(_lines_changed(_as_run(before, before.read_bytes()), text))


def _as_run(path: Path, data: bytes) -> str:
    """Return the text of a file with the lines that Python sees, and each invisible character by its number.

    Otherwise a lone carriage return, a mark that turns the direction of text, or a declared encoding hides code from
    the person who reads it before it goes live.
    """
    try:
        encoding = detect_encoding(io.BytesIO(data).readline)[0] if path.suffix == ".py" else "utf-8"
        text = data.decode(encoding, errors="replace")
    except (SyntaxError, ValueError, LookupError):
        text = data.decode(errors="replace")
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(one if one in "\n\t" or one.isprintable() else f"\\u{ord(one):04x}" for one in lines)


def _lines_changed(before: str, after: str, context: int = 3) -> list[str]:
    """Return the lines that differ between two texts with those around them; all new lines where there are too many."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MOST_COMPARED:
        return new
    return list(difflib.unified_diff(old, new, lineterm="", n=context))[2:]


def _keys(live: EnvironmentSpec, spec: EnvironmentSpec) -> Iterator[str]:
    """Yield the keys of info.yml that differ, with both values."""
    settable = {*choices_of(spec), *PLACES, "version", "limits", "heavy", "classic"}
    for name in (one.name for one in fields(EnvironmentSpec) if one.name not in settable):
        before, after = getattr(live, name), getattr(spec, name)
        if before != after and name == "description":
            lines = _lines_changed(before, after, context=0)
            yield from (f"description: {line}" for line in lines if not line.startswith("@@"))
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
    return {name: sha256(path.read_bytes()).hexdigest() for name, path in _named(folder).items()}


def _named(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their names in it, without hidden ones."""
    named = {path.relative_to(folder).as_posix(): path for path in files_of(folder) if path.is_file()}
    return {name: path for name, path in named.items() if not any(part.startswith(".") for part in name.split("/"))}


def _count(folder: Path) -> int:
    return len(_digests(folder))
