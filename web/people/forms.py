"""Forms for accounts: sign-up, login, second factor, profile and tokens.

A form checks what a person typed. Services decide what is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.crypto import constant_time_compare

from arena_kit.text import plain_line
from core.models import InviteLink, TokenScope, User
from core.people.services import NAME_TAKEN, email_stored

if TYPE_CHECKING:
    UserForm = forms.ModelForm[User]
else:
    UserForm = forms.ModelForm  # not generic at run time


class SignUpForm(UserForm):
    """Open an account."""

    # The model's field would report a taken address at once. The service reports it, and only when everything else
    # is right, so that people without an invitation cannot find out which addresses have an account.
    email = forms.EmailField(label="E-mail", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"}))
    invitation_code = forms.CharField(max_length=200)
    team = forms.ChoiceField()
    password1 = forms.CharField(
        label="Password",
        help_text="At least 8 characters, and not a common password.",
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
        help_texts = {"username": "Everyone can see it. Use letters, digits and @ . + - _"}

    field_order = ["invitation_code", "email", "username", "team", "github", "password1", "password2"]

    def __init__(self, *args: Any, link: InviteLink | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.INVITATION_CODE or link is not None:
            del self.fields["invitation_code"]
        if settings.TEAMS and not (link is not None and link.team):
            field = self.fields["team"]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", "Choose a team"), *((team, team) for team in settings.TEAMS)]
        else:
            del self.fields["team"]

    def clean_invitation_code(self) -> str:
        code: str = self.cleaned_data["invitation_code"]
        if not constant_time_compare(code, settings.INVITATION_CODE):
            raise ValidationError("This invitation code is not valid.")
        return code

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        # The name is part of addresses, where a leading dot has a special meaning.
        if not name[0].isalnum():
            raise ValidationError("The name must begin with a letter or a digit.")
        if plain_line(name) != name:
            raise ValidationError("The name contains characters that cannot be shown. Use plain letters and digits.")
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError(NAME_TAKEN)
        return name

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        password = data.get("password1")
        if password and password != data.get("password2"):
            self.add_error("password2", "The two passwords are different.")
        elif password:
            try:
                validate_password(password, User(username=data.get("username", ""), email=data.get("email", "")))
            except ValidationError as error:
                self.add_error("password1", error)
        return data


class LoginForm(AuthenticationForm):
    """Log in with an e-mail address, in upper or lower case."""

    error_messages = {
        "invalid_login": "E-mail and password do not match an account.",
        "inactive": "This account is closed.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget = forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True})

    def get_invalid_login_error(self) -> ValidationError:
        """Tell a person who knows the password of a closed account why it was closed."""
        email, password = self.cleaned_data.get("username", ""), self.cleaned_data.get("password", "")
        closed = User.objects.filter(email=email, is_active=False).exclude(ban_reason="").first()
        if closed is not None and closed.check_password(password):
            return ValidationError(f"The organisers closed this account: {closed.ban_reason}", code="inactive")
        return super().get_invalid_login_error()

    def clean_username(self) -> str:
        return email_stored(self.cleaned_data["username"])


class CodeForm(forms.Form):
    """Enter a code of the second factor, or a recovery code."""

    code = forms.CharField(
        max_length=32,
        help_text="The six digits that your authenticator app shows, or one of your recovery codes.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, "inputmode": "text"}),
    )


class ProfileForm(UserForm):
    """Change your own profile."""

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
    """Create a token for the API."""

    name = forms.CharField(max_length=50, help_text="What the token is for, such as the machine that uses it.")
    days = forms.TypedChoiceField(
        label="Valid for",
        choices=[("30", "30 days"), ("90", "90 days"), ("365", "1 year"), ("0", "until I revoke it")],
        coerce=lambda days: int(days) or None,
        initial="90",
    )
    scope = forms.TypedChoiceField(
        label="Opens",
        choices=TokenScope.choices,
        coerce=TokenScope,
        required=False,
        empty_value=TokenScope.API,
        initial=TokenScope.API,
    )
