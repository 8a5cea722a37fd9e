"""Forms for agents and their versions.

A form checks what a person sent. Services decide what is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from arena_kit.upload.image_reference import MOST_REFERENCE_CHARACTERS
from arena_kit.upload.packing import pack_files, pack_image
from core.environments.additions import may_be_added
from core.errors import Refused
from core.models import Environment
from core.models.agent import agent_name
from core.monitoring.metrics import BAD_FORM, NO_FILE, upload_mode, upload_refused
from core.submissions.client_selectors import scored_environment
from core.submissions.services import Labels
from web.site.uploads import archive_upload, too_large


class ArchiveForm(forms.Form):
    """Upload a new version of an agent."""

    archive = forms.FileField(
        label="Zip file",
        help_text="player.py must be at the root of the zip.",
        widget=forms.FileInput(attrs={"accept": ".zip,application/zip"}),
        error_messages={"empty": "The file is empty.", "required": "Choose a zip file."},
        # No limit on the name: the arena stores the file under a name of its own.
        max_length=None,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limit(settings.MAX_UPLOAD_BYTES)
        if settings.IMAGE_REGISTRIES:
            self.fields["image"] = forms.CharField(
                label="Or a container image",
                required=False,
                max_length=MOST_REFERENCE_CHARACTERS,
                help_text=f"Its full name with tag or digest, in {', '.join(settings.IMAGE_REGISTRIES)}.",
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )
            self.fields["archive"].required = False
            names = [name for name in self.fields if name != "image"]
            at = names.index("archive") + 1
            self.order_fields([*names[:at], "image", *names[at:]])

    def limit(self, most_bytes: int) -> None:
        """Let the browser refuse a file above `most_bytes` before it sends it. The service checks the size again."""
        self.fields["archive"].widget.attrs |= {
            "data-max-bytes": str(most_bytes),
            "data-too-large": too_large(most_bytes),
        }

    def full_clean(self) -> None:
        super().full_clean()
        if self.is_bound and self.errors:
            upload_refused(NO_FILE if self.has_error("archive", "required") else BAD_FORM)

    def image_packed(self) -> UploadedFile[bytes] | None:
        """Return the archive that names the image of the form; None if files were sent. Raises ValidationError."""
        image = self.data.get("image", "").strip() if "image" in self.fields else ""
        if image and self.files.get("archive"):
            raise ValidationError("Send either files or the name of an image.")
        return archive_upload(pack_image(image[:MOST_REFERENCE_CHARACTERS]), self.files) if image else None

    def clean_archive(self) -> UploadedFile[bytes]:
        if (packed := self.image_packed()) is not None:
            return packed
        archive: UploadedFile[bytes] | None = self.cleaned_data["archive"]
        if archive is None:
            raise ValidationError(self.fields["archive"].error_messages["required"], code="required")
        if (archive.size or 0) > settings.MAX_UPLOAD_BYTES:
            raise ValidationError(too_large())
        return archive

    @property
    def labels(self) -> Labels:
        """Labels that the uploader gave besides the archive."""
        return Labels(algorithm=self.cleaned_data.get("algorithm", ""))


class FilesInput(forms.FileInput):
    """An input that takes several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """A field for one or more files. Its cleaned value is a list."""

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[bytes]]:
        files = data if isinstance(data, (list, tuple)) else [data]
        return [super(FilesField, self).clean(file, initial) for file in files or [None]]


class FilesForm(ArchiveForm):
    """Upload a new version of an agent that is ranked by its scores, as single files, packed here, or as one zip."""

    archive = FilesField(
        label="Files",
        help_text="player.py and the files it needs, or a script. Choose one file, several files, or one zip.",
        widget=FilesInput(attrs={"accept": ".py,.zip,*/*", "data-main": "id_main_file"}),
        error_messages={"empty": "A file is empty.", "required": "Choose a file."},
        max_length=None,
    )
    main_file = forms.CharField(
        required=False,
        max_length=200,
        help_text="The Python file to run, if you upload several and none of them is player.py.",
        widget=forms.TextInput(attrs={"list": "main-files", "autocomplete": "off"}),
    )
    algorithm = forms.CharField(
        required=False, max_length=100, help_text="How the agent learned, such as Q-learning. Shown on the leaderboard."
    )

    def clean_archive(self) -> UploadedFile[bytes]:
        if (packed := self.image_packed()) is not None:
            return packed
        files: list[UploadedFile[bytes]] = [file for file in self.cleaned_data["archive"] if file]
        if not files:
            raise ValidationError(self.fields["archive"].error_messages["required"], code="required")
        if sum(file.size or 0 for file in files) > settings.MAX_UPLOAD_BYTES:
            raise ValidationError(too_large())
        zips = [file for file in files if (file.name or "").lower().endswith(".zip")]
        if zips and len(files) > 1:
            raise ValidationError("Choose one zip or single files, not both.")
        if zips:
            return zips[0]
        try:
            # main_file is cleaned after this field, so it is read as sent. pack_files checks it against the names.
            return archive_upload(pack_files(files, self.data.get("main_file", "").strip()), self.files)
        except Refused as refusal:
            if refusal.field == "archive":
                raise ValidationError(str(refusal)) from None
            self.add_error(refusal.field, str(refusal))
            return files[0]

    @property
    def labels(self) -> Labels:
        """Labels that the uploader gave besides the archive, and how many files were uploaded."""
        names = [(file.name or "").lower() for file in self.files.getlist("archive")]
        return replace(super().labels, mode=upload_mode(names))


class AgentForm(ArchiveForm):
    """Create an agent with its first version."""

    name = forms.CharField(max_length=50, validators=[agent_name], help_text="Use letters, digits, - and _.")
    is_public = forms.BooleanField(
        required=False,
        label="Public",
        help_text="Everyone can read the source and the logs. You cannot change this later. Its rated matches are part "
        "of public data sets, unless you say no on its page.",
    )
    field_order = ["name", "archive", "is_public"]


class FilesAgentForm(FilesForm, AgentForm):
    """Create an agent that is ranked by its scores, with its first version."""

    field_order = ["name", "archive", "main_file", "algorithm", "is_public"]


class SubmitForm(FilesForm):
    """Submit to an environment by its id, with or without an account."""

    env_id = forms.CharField(
        label="Environment",
        max_length=100,
        help_text="Its id, such as CartPole-v1.",
        widget=forms.TextInput(attrs={"list": "env-ids", "autocomplete": "off", "spellcheck": "false"}),
    )
    user_id = forms.CharField(
        label="Your name", required=False, max_length=100, help_text="Shown on the leaderboard, beside your score."
    )
    field_order = ["env_id", "archive", "main_file", "algorithm", "user_id"]

    def __init__(self, *args: Any, env_ids: Sequence[str], has_account: bool, **kwargs: Any) -> None:
        """env_ids: those that are offered. has_account: whether the board shows the account's name anyway."""
        super().__init__(*args, **kwargs)
        self.env_ids = env_ids
        if has_account:
            del self.fields["user_id"]
        else:
            self.fields.pop("image", None)

    def clean_env_id(self) -> str:
        env_id: str = self.cleaned_data["env_id"]
        if scored_environment(env_id) is None and not may_be_added(env_id):
            raise ValidationError("There is no leaderboard of this id. Choose one of those that are offered.")
        return env_id

    @property
    def labels(self) -> Labels:
        """Labels of a submission by id; without a name it is anonymous, as in the API."""
        return replace(
            super().labels,
            user=self.cleaned_data.get("user_id") or "anonymous",
        )


def archive_form(environment: Environment) -> type[ArchiveForm]:
    """Return the form for a new version in `environment`."""
    return FilesForm if environment.is_scored else ArchiveForm


def agent_form(environment: Environment) -> type[AgentForm]:
    """Return the form for a new agent in `environment`."""
    return FilesAgentForm if environment.is_scored else AgentForm
