"""Duels, their records and files as pages show them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.models.fields.files import FieldFile

from core.models import Duel, PlayedJob, Validation
from environments.archive_format import ArtifactDamaged, DuelArchive


class NotStored(Exception):
    """A file or record that should be there is not (any more); the message is a sentence for a person."""


def duel_get(duel_id: int) -> Duel:
    """A duel with everything its page names. Raises Duel.DoesNotExist."""
    related = ("tournament__environment", "player_1__agent__owner", "player_2__agent__owner", "void")
    return Duel.objects.select_related(*related).get(pk=duel_id)


def validation_get(validation_id: int) -> Validation:
    """A validation with its agent. Raises Validation.DoesNotExist."""
    return Validation.objects.select_related("submission__agent__environment", "submission__agent__owner").get(
        pk=validation_id
    )


@contextmanager
def records_open(job: PlayedJob) -> Iterator[DuelArchive]:
    """The records of a played job. Raises NotStored."""
    with file_open(job.records, "The records of this duel are") as file:
        try:
            yield DuelArchive(file)
        except ArtifactDamaged as damage:
            raise NotStored(str(damage)) from None


@contextmanager
def file_open(field: FieldFile, what: str) -> Iterator[FieldFile]:
    """A stored file. what: begins the sentence when it is not there. Raises NotStored."""
    if not field:
        raise NotStored(f"{what} not there yet.")
    try:
        field.open("rb")
    except OSError:
        raise NotStored(f"{what} no longer stored.") from None
    try:
        yield field
    finally:
        field.close()
