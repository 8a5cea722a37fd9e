"""The picture of a tournament, which organisers choose."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction

from core.errors import Refused
from core.files.pictures import size_of
from core.files.uploads import upload_stored
from core.models import Tournament


def picture_set(*, tournament: Tournament, picture: bytes, alt: str) -> None:
    """Show a picture on the pages of a tournament. picture: as `picture_cleaned` returns it, or empty to keep the one
    that it has. alt: the picture in words. Raises Refused without one, and for editions of the arena itself."""
    if tournament.is_automatic:
        raise Refused("Only tournaments of organisers have a picture.", field="picture")
    if picture:
        with upload_stored(Tournament, ContentFile(picture), "picture", size_of(picture)) as stored:
            _set(tournament, stored.name, alt)
            stored.is_kept = True
    else:
        _set(tournament, None, alt)


def picture_remove(*, tournament: Tournament) -> None:
    """Remove the picture of a tournament, and its file. Raises Refused without one."""
    if not tournament.picture:
        raise Refused("It has no picture.")
    _set(tournament, "", "")


def picture_copy(*, tournament: Tournament, to: Tournament) -> None:
    """Give another tournament the picture of one, as a file of its own."""
    if tournament.picture:
        # A restored backup may lack the file.
        with suppress(FileNotFoundError), default_storage.open(str(tournament.picture.name)) as file:
            picture_set(tournament=to, picture=file.read(), alt=tournament.picture_alt)


def _set(tournament: Tournament, name: str | None, alt: str) -> None:
    """Write the name of the file, and the words. name: None for the file that it has by now."""
    with transaction.atomic():
        old = Tournament.objects.select_for_update(of=("self",)).only("picture").get(pk=tournament.pk).picture.name
        name = old if name is None else name
        if alt and not name:
            raise Refused("There is no picture to describe.", field="alt")
        Tournament.objects.filter(pk=tournament.pk).update(picture=name, picture_alt=alt)
        if old and old != name:
            transaction.on_commit(partial(default_storage.delete, old), robust=True)
    tournament.refresh_from_db(fields=["picture", "picture_alt"])
