"""Forms of the site. They check what a person typed; what is allowed is decided by services."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from arena_kit.upload.packing import pack_files
from core.errors import Refused
from core.models import Environment
from core.models.agent import agent_name
from core.operations.metrics import BAD_FORM, NO_FILE, upload_mode, upload_refused
from core.submissions.services import Labels
from web.site.uploads import archive_upload, too_large


class ArchiveForm(forms.Form):
    """A new version of an agent."""

    archive = forms.FileField(
        label="Zip file",
        help_text="With player.py at its root.",
        widget=forms.FileInput(attrs={"accept": ".zip,application/zip"}),
        error_messages={"empty": "The file is empty.", "required": "Choose a zip file."},
        # The stored name is the arena's own.
        max_length=None,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limit(settings.MAX_UPLOAD_BYTES)

    def limit(self, most_bytes: int) -> None:
        """Let the browser say what is too large before anything is sent. What is sent is checked by the service."""
        self.fields["archive"].widget.attrs |= {
            "data-max-bytes": str(most_bytes),
            "data-too-large": too_large(most_bytes),
        }

    def full_clean(self) -> None:
        super().full_clean()
        if self.is_bound and self.errors:
            upload_refused(NO_FILE if self.has_error("archive", "required") else BAD_FORM)

    def clean_archive(self) -> UploadedFile[bytes]:
        archive: UploadedFile[bytes] = self.cleaned_data["archive"]
        if (archive.size or 0) > settings.MAX_UPLOAD_BYTES:
            raise ValidationError(too_large())
        return archive

    @property
    def labels(self) -> Labels:
        """What the uploader says of it beside the archive."""
        return Labels(algorithm=self.cleaned_data.get("algorithm", ""))


class FilesInput(forms.FileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """One file or several; cleaned it is a list."""

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[bytes]]:
        files = data if isinstance(data, (list, tuple)) else [data]
        return [super(FilesField, self).clean(file, initial) for file in files or [None]]


class FilesForm(ArchiveForm):
    """A new version of an agent that is ranked by its scores: files, packed here, or one zip of them."""

    archive = FilesField(
        label="Files",
        help_text="player.py and what it needs, or a script; one file, several, or a zip of them.",
        widget=FilesInput(attrs={"accept": ".py,.zip,*/*", "data-main": "id_main_file"}),
        error_messages={"empty": "A file is empty.", "required": "Choose a file."},
        max_length=None,
    )
    main_file = forms.CharField(
        required=False,
        max_length=200,
        help_text="Of several Python files, the one that is run. Not needed with player.py.",
        widget=forms.TextInput(attrs={"list": "main-files", "autocomplete": "off"}),
    )
    algorithm = forms.CharField(
        required=False, max_length=100, help_text="How it learned, e.g. Q-learning. Shown on the board."
    )

    def clean_archive(self) -> UploadedFile[bytes]:
        files: list[UploadedFile[bytes]] = self.cleaned_data["archive"]
        if sum(file.size or 0 for file in files) > settings.MAX_UPLOAD_BYTES:
            raise ValidationError(too_large())
        zips = [file for file in files if (file.name or "").lower().endswith(".zip")]
        if zips and len(files) > 1:
            raise ValidationError("Choose either one zip or single files, not both.")
        if zips:
            return zips[0]
        try:
            # Not cleaned yet, being the later field; checked against the names that are there.
            return archive_upload(pack_files(files, self.data.get("main_file", "").strip()), self.files)
        except Refused as refusal:
            if refusal.field == "archive":
                raise ValidationError(str(refusal)) from None
            self.add_error(refusal.field, str(refusal))
            return files[0]

    @property
    def labels(self) -> Labels:
        """As above, and how many files came."""
        names = [(file.name or "").lower() for file in self.files.getlist("archive")]
        return replace(super().labels, mode=upload_mode(names))


class AgentForm(ArchiveForm):
    """A new agent."""

    name = forms.CharField(max_length=50, validators=[agent_name], help_text="Letters, digits, - and _.")
    is_public = forms.BooleanField(
        required=False, label="Public", help_text="Everyone may read the source and the logs. Cannot be changed later."
    )
    field_order = ["name", "archive", "is_public"]


class FilesAgentForm(FilesForm, AgentForm):
    """A new agent that is ranked by its scores."""

    field_order = ["name", "archive", "main_file", "algorithm", "is_public"]


def archive_form(environment: Environment) -> type[ArchiveForm]:
    """The form for a new version in an environment."""
    return FilesForm if environment.is_scored else ArchiveForm


def agent_form(environment: Environment) -> type[AgentForm]:
    """The form for a new agent in an environment."""
    return FilesAgentForm if environment.is_scored else AgentForm
