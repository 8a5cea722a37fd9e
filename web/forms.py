"""Forms of the site. They check what a person typed; what is allowed is decided by services."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.crypto import constant_time_compare

from arena_kit.text import plain_line
from arena_kit.upload.packing import pack_files
from core.errors import Refused
from core.models import Environment, User
from core.models.agent import agent_name
from core.monitoring.metrics import BAD_FORM, NO_FILE, upload_mode, upload_refused
from core.people.services import email_stored
from core.submissions.services import Labels
from web.site.uploads import archive_upload, too_large

if TYPE_CHECKING:
    UserForm = forms.ModelForm[User]
else:
    UserForm = forms.ModelForm  # not generic at run time


def refuse(form: forms.BaseForm, refusal: Refused) -> None:
    """Show a service's refusal at the field it belongs to."""
    form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal))


class SignUpForm(UserForm):
    # Not the model's: that an e-mail is taken is said by the service, and only to who would have an account otherwise.
    # So nobody without an invitation, and nobody for nothing, finds out who is here.
    email = forms.EmailField(label="E-mail", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"}))
    invitation_code = forms.CharField(max_length=200)
    team = forms.ChoiceField()
    password1 = forms.CharField(
        label="Password",
        help_text="At least 8 characters, not a common word.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    password2 = forms.CharField(
        label="Password again", widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    class Meta:
        model = User
        fields = ["username", "github"]
        labels = {"username": "User name"}
        widgets = {"username": forms.TextInput(attrs={"autocomplete": "nickname"})}
        help_texts = {"username": "Shown to everyone. Letters, digits and @ . + - _"}

    field_order = ["invitation_code", "email", "username", "team", "github", "password1", "password2"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.INVITATION_CODE:
            del self.fields["invitation_code"]
        if settings.TEAMS:
            field = self.fields["team"]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", "Choose a team"), *((team, team) for team in settings.TEAMS)]
        else:
            del self.fields["team"]

    def clean_invitation_code(self) -> str:
        code: str = self.cleaned_data["invitation_code"]
        if not constant_time_compare(code, settings.INVITATION_CODE):
            raise ValidationError("Incorrect invitation code")
        return code

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        # The name is part of an address, where a leading dot has a meaning of its own.
        if not name[0].isalnum():
            raise ValidationError("Begin with a letter or digit.")
        if plain_line(name) != name:
            raise ValidationError("Use letters that everybody can see.")
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError("This user name is taken. Please try a different one.")
        return name

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        password = data.get("password1")
        if password and password != data.get("password2"):
            self.add_error("password2", "The two passwords differ.")
        elif password:
            try:
                validate_password(password, User(username=data.get("username", ""), email=data.get("email", "")))
            except ValidationError as error:
                self.add_error("password1", error)
        return data


class LoginForm(AuthenticationForm):
    """By e-mail, in any case."""

    error_messages = {
        "invalid_login": "E-mail and password do not match an account.",
        "inactive": "This account is closed.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget = forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True})

    def get_invalid_login_error(self) -> ValidationError:
        """Who knows the password of an account that was closed is told why."""
        email, password = self.cleaned_data.get("username", ""), self.cleaned_data.get("password", "")
        closed = User.objects.filter(email=email, is_active=False).exclude(ban_reason="").first()
        if closed is not None and closed.check_password(password):
            return ValidationError(f"This account was closed by the organisers: {closed.ban_reason}", code="inactive")
        return super().get_invalid_login_error()

    def clean_username(self) -> str:
        return email_stored(self.cleaned_data["username"])


class CodeForm(forms.Form):
    """A code of the second factor, or a recovery code."""

    code = forms.CharField(
        max_length=32,
        help_text="Six digits of the app on your phone, or one of your recovery codes.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, "inputmode": "text"}),
    )


class ProfileForm(UserForm):
    team = forms.ChoiceField(required=False)

    class Meta:
        model = User
        fields = ["team", "github"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.TEAMS:
            del self.fields["team"]
            return
        field = self.fields["team"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "No team"), *((team, team) for team in settings.TEAMS)]


class TokenForm(forms.Form):
    """A new token for the API."""

    name = forms.CharField(max_length=50, help_text="What it is for, e.g. the machine that uses it.")
    days = forms.TypedChoiceField(
        label="How long it is good",
        choices=[("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("0", "until I revoke it")],
        coerce=lambda days: int(days) or None,
        initial="90",
    )


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
