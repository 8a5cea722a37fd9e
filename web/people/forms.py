"""Forms of the site. They check what a person typed; what is allowed is decided by services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.crypto import constant_time_compare

from arena_kit.text import plain_line
from core.models import User
from core.people.services import email_stored

if TYPE_CHECKING:
    UserForm = forms.ModelForm[User]
else:
    UserForm = forms.ModelForm  # not generic at run time


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
