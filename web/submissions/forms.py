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
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile

from arena_kit.upload.image_reference import MOST_REFERENCE_CHARACTERS
from arena_kit.upload.packing import pack_files, pack_image
from core.courses.sight import Viewer
from core.environments.additions import may_be_added
from core.errors import Refused
from core.models import Environment
from core.models.agent import agent_name
from core.monitoring.metrics import BAD_FORM, NO_FILE, upload_mode, upload_refused
from core.submissions.client_selectors import scored_environment
from core.submissions.services import Labels
from web.site.uploads import archive_upload, too_large

Offered = Sequence[tuple[str, Sequence[tuple[str, str]]]]
"""Groups of environments: the group's name, and ids with names."""
MOST_PASTED = 200_000
"""The largest number of characters of a pasted file."""


class FilesInput(forms.FileInput):
    """An input that takes several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """A field for one or more files. Its cleaned value is a list."""

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[bytes]]:
        files = data if isinstance(data, (list, tuple)) else [data]
        return [super(FilesField, self).clean(file, initial) for file in files or [None]]


class FilesForm(forms.Form):
    """Upload a new version of an agent: single files, packed here, one zip, or the text of player.py."""

    takes_scripts = False
    archive = FilesField(
        label="Files",
        required=False,
        help_text="player.py and the files it needs, or one zip of them.",
        widget=FilesInput(attrs={"accept": ".py,.zip,*/*"}),
        error_messages={"empty": "A file is empty.", "required": "Choose a file."},
        # No limit on the name: the arena stores the file under a name of its own.
        max_length=None,
    )
    code = forms.CharField(
        label="Or paste player.py",
        required=False,
        strip=False,
        max_length=MOST_PASTED,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocomplete": "off"}),
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
            names = [name for name in self.fields if name != "image"]
            at = names.index("code") + 1
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

    def clean_archive(self) -> UploadedFile[bytes]:
        """Return the zip of what was sent."""
        files: list[UploadedFile[bytes]] = [file for file in self.cleaned_data["archive"] if file]
        image = self.data.get("image", "").strip() if "image" in self.fields else ""
        code = self.data.get("code", "") if "code" in self.fields else ""
        sent = [name for name, value in (("files", files), ("text", code.strip()), ("an image", image)) if value]
        if len(sent) > 1:
            raise ValidationError(f"Send either {' or '.join(sent)}.")
        if image:
            return archive_upload(pack_image(image[:MOST_REFERENCE_CHARACTERS]), self.files)
        if code.strip():
            files = [SimpleUploadedFile("player.py", code.replace("\r\n", "\n").encode())]
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
            main = self.data.get("main_file", "").strip()
            return archive_upload(pack_files(files, main, takes_scripts=self.takes_scripts), self.files)
        except Refused as refusal:
            if refusal.field == "archive":
                raise ValidationError(str(refusal)) from None
            self.add_error(refusal.field, str(refusal))
            return files[0]

    @property
    def labels(self) -> Labels:
        """Labels that the uploader gave besides the archive, and how many files were uploaded."""
        names = [(file.name or "").lower() for file in self.files.getlist("archive")]
        return Labels(algorithm=self.cleaned_data.get("algorithm", ""), mode=upload_mode(names))


class ScoredForm(FilesForm):
    """Upload a new version of an agent that is ranked by its scores."""

    takes_scripts = True
    archive = FilesField(
        label="Files",
        required=False,
        help_text="player.py and the files it needs, or a script. Choose one file, several files, or one zip.",
        widget=FilesInput(attrs={"accept": ".py,.zip,*/*", "data-main": "id_main_file"}),
        error_messages=FilesForm.base_fields["archive"].error_messages,
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
    field_order = ["archive", "code", "main_file", "algorithm"]


class AgentForm(FilesForm):
    """Create an agent with its first version, or upload a new version of one of one's own."""

    version_of = forms.ChoiceField(label="Upload", required=False)
    name = forms.CharField(max_length=50, validators=[agent_name], help_text="Use letters, digits, - and _.")
    is_public = forms.BooleanField(
        required=False,
        label="Public",
        help_text="Everyone can read the source and the logs. You cannot change this later. Its rated matches are part "
        "of public data sets, unless you say no on its page.",
    )
    field_order = ["version_of", "name", "archive", "code", "is_public"]

    def __init__(self, *args: Any, own: Sequence[str] = (), **kwargs: Any) -> None:
        """own: names of the viewer's agents in the environment."""
        super().__init__(*args, **kwargs)
        if not own:
            del self.fields["version_of"]
            return
        choice = self.fields["version_of"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [("", "a new agent"), *((name, f"a new version of {name}") for name in own)]
        self.fields["name"].required = False
        self.fields["name"].help_text = "Of a new agent: letters, digits, - and _."

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if not found.get("version_of") and not found.get("name") and "name" not in self.errors:
            self.add_error("name", "Give the new agent a name.")
        return found


class ScoredAgentForm(ScoredForm, AgentForm):
    """Create an agent that is ranked by its scores, with its first version, or upload a new version."""

    field_order = ["version_of", "name", "archive", "code", "main_file", "algorithm", "is_public"]


class SubmitForm(ScoredForm):
    """Submit to an environment by its id, with or without an account."""

    env_id = forms.CharField(
        label="Environment",
        max_length=100,
        widget=forms.Select(),
    )
    user_id = forms.CharField(
        label="Your name", required=False, max_length=100, help_text="Shown on the leaderboard, beside your score."
    )
    field_order = ["env_id", "archive", "code", "main_file", "algorithm", "user_id"]

    def __init__(self, *args: Any, offered: Offered, viewer: Viewer, **kwargs: Any) -> None:
        """offered: ids and names by group. viewer: with an account the board shows its name anyway."""
        super().__init__(*args, **kwargs)
        choice = self.fields["env_id"].widget
        assert isinstance(choice, forms.Select)
        choice.choices = [("", "Choose one"), *offered]
        self._viewer = viewer
        if viewer.is_authenticated:
            del self.fields["user_id"]
        else:
            self.fields.pop("image", None)

    def clean_env_id(self) -> str:
        env_id: str = self.cleaned_data["env_id"]
        if scored_environment(env_id, self._viewer) is None and not may_be_added(env_id):
            raise ValidationError("There is no leaderboard of this id. Choose one of those that are offered.")
        return env_id

    @property
    def labels(self) -> Labels:
        """Labels of a submission by id; without a name it is anonymous, as in the API."""
        return replace(
            super().labels,
            user=self.cleaned_data.get("user_id") or "anonymous",
        )


def archive_form(environment: Environment) -> type[FilesForm]:
    """Return the form for a new version in `environment`."""
    return ScoredForm if environment.is_scored else FilesForm


def agent_form(environment: Environment) -> type[AgentForm]:
    """Return the form for a new agent in `environment`."""
    return ScoredAgentForm if environment.is_scored else AgentForm
