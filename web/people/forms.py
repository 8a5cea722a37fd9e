"""Forms for accounts: sign-up, login, password, e-mail, profile and tokens.

A form checks what a person typed. Services decide what is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.forms import AddEmailForm, ReauthenticateForm
from allauth.account.internal.flows.email_verification import add_email_verification_sent_message
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from allauth.account.models import EmailAddress, Login
from allauth.core import context
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.forms import DisconnectForm as BaseDisconnectForm
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from core.courses.teams import teams_of
from core.models import InviteLink, LetterKind, Team, TokenScope, User
from core.models.user import email_problem
from core.notices.letters import letter_write
from core.people.access import password_write
from core.people.backend import closed_account
from core.people.codes import code_user
from core.people.emails import email_change_begin, email_confirmed
from core.people.services import (
    MAIL_TAKEN,
    NAME_TAKEN,
    email_stored,
    user_authenticate,
    user_create,
    username_problem,
)
from core.people.tokens import USUAL_DAYS
from core.tournaments.invite_links import user_create_by_link

if TYPE_CHECKING:
    UserForm = forms.ModelForm[User]
else:
    UserForm = forms.ModelForm  # not generic at run time


HELP_NEW = "At least 10 characters, and none that is common or was stolen elsewhere."
DIFFERENT = "The two passwords are different."


class NewAccountForm(UserForm):
    """The fields that every new account needs, whatever opens it. link: of an invitation, which stands in for the
    code."""

    by_passkey = False  # django-allauth asks

    # The model's field would report a taken address at once. The service reports it, and only when everything else
    # is right, so that people without an invitation cannot find out which addresses have an account.
    email = forms.EmailField(label="E-mail", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"}))
    invitation_code = forms.CharField(max_length=200)
    team = forms.ChoiceField()

    class Meta:
        model = User
        fields = ["username", "github"]
        labels = {"username": "User name"}
        widgets = {"username": forms.TextInput(attrs={"autocomplete": "nickname"})}
        help_texts = {"username": "Everyone can see it. Use letters, digits and @ . + - _"}
        error_messages = {"username": {"invalid": "Use only letters, digits and @ . + - _"}}

    field_order = ["invitation_code", "email", "username", "team", "github", "password1", "password2"]

    def __init__(self, *args: Any, link: InviteLink | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.link = link
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
        if problem := username_problem(name):
            raise ValidationError(problem)
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError(NAME_TAKEN)
        return name

    @property
    def is_address_taken(self) -> bool:
        """Return whether the account was refused because its address has one already."""
        return MAIL_TAKEN in self.errors.get("email", [])

    def try_save(self, request: HttpRequest) -> tuple[User, None]:
        """Open the account; None: there is no other answer than logging in. Raises Refused."""
        return self.account_open(), None

    def account_open(self, password: str | None = None) -> User:
        """Open the account. Raises Refused."""
        data = self.cleaned_data
        fields = {
            "email": data["email"],
            "username": data["username"],
            "password": password,
            "team": data.get("team", ""),
            "github": data.get("github", ""),
        }
        if self.link is None:
            return user_create(**fields)
        return user_create_by_link(link=self.link, now=timezone.now(), **fields)


class SignUpForm(NewAccountForm):
    """Open an account that a password opens."""

    password1 = forms.CharField(
        label="Password",
        help_text=HELP_NEW,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    password2 = forms.CharField(
        label="Password again", widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def account_open(self, password: str | None = None) -> User:
        return super().account_open(password or self.cleaned_data["password1"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        password = data.get("password1")
        if password and password != data.get("password2"):
            self.add_error("password2", DIFFERENT)
        elif password:
            try:
                validate_password(password, User(username=data.get("username", ""), email=data.get("email", "")))
            except ValidationError as error:
                self.add_error("password1", error)
        return data


class ProviderSignUpForm(NewAccountForm):
    """Open an account for a person whom a provider has named."""

    def __init__(self, *args: Any, sociallogin: SocialLogin, **kwargs: Any) -> None:
        self.sociallogin = sociallogin
        super().__init__(*args, **{**kwargs, "initial": get_adapter().get_signup_form_initial_data(sociallogin)})

    def try_save(self, request: HttpRequest) -> tuple[User, None]:
        """Open the account, with its address confirmed if the provider has confirmed it. Raises Refused."""
        login = self.sociallogin
        with transaction.atomic():
            user = self.account_open()
            own = [row for row in login.email_addresses if row.email.lower() == user.email.lower()]
            login.user, login.email_addresses = user, own
            login.save(request)
            if any(row.verified for row in own):
                email_confirmed(user=user, email=user.email)
        return user, None


class LoginForm(AuthenticationForm):
    """Log in with an e-mail address, in upper or lower case, or the user name of an account without one."""

    error_messages = {
        "invalid_login": "E-mail and password do not match an account.",
        "inactive": "This account is closed.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        attributes = {"autocomplete": "username", "autofocus": True, "inputmode": "email"}
        self.fields["username"].widget = forms.TextInput(attrs=attributes)
        self.fields["username"].help_text = "Or your user name, if your account has no e-mail."

    def get_invalid_login_error(self) -> ValidationError:
        """Tell a person who knows the password of a closed account why it was closed."""
        closed = closed_account(self.request)
        if closed is not None and closed.ban_reason:
            return ValidationError(f"The organisers closed this account: {closed.ban_reason}", code="inactive")
        return super().get_invalid_login_error()

    def clean_username(self) -> str:
        return email_stored(self.cleaned_data["username"])

    def login(self, request: HttpRequest, redirect_url: str | None = None) -> HttpResponse:
        """Log in, or ask for the second factor. redirect_url: where to go then."""
        user = self.get_user()
        login = Login(user=user, email=user.email, redirect_url=redirect_url)
        return perform_password_login(request, {"email": user.email}, login)


class FirstLoginForm(forms.Form):
    """Show a code that was printed for an account without an e-mail."""

    username = forms.CharField(label="User name", max_length=150)
    code = forms.CharField(max_length=40, widget=forms.TextInput(attrs={"autocomplete": "off", "class": "code"}))
    user: User

    def clean(self) -> dict[str, Any]:
        found = code_user(self.cleaned_data.get("username", ""), self.cleaned_data.get("code", ""), timezone.now())
        if found is None:
            raise ValidationError(
                "User name and code do not match, or the code has ended. Your teacher can print a new one, or an "
                "organiser."
            )
        self.user = found
        return self.cleaned_data


class PasswordResetForm(forms.Form):
    """Ask for a link to choose a new password."""

    email = forms.EmailField(label="E-mail", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"}))

    def save(self, request: HttpRequest) -> None:
        # A worker looks up the account, so the answer takes equally long whether or not there is one.
        letter_write(kind=LetterKind.PASSWORD_RESET, email=self.cleaned_data["email"])


class WritesPassword:
    """A form that writes the password of its account and nothing else, with the sentences of the sign-up.

    Raises Refused.
    """

    user: User
    cleaned_data: dict[str, Any]
    fields: dict[str, forms.Field]
    error_messages = {**PasswordChangeForm.error_messages, "password_mismatch": DIFFERENT}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        first, again = self.fields["new_password1"], self.fields["new_password2"]
        first.label, first.help_text = "New password", HELP_NEW
        again.label, again.help_text = "New password again", ""

    def save(self, commit: bool = True) -> User:
        password_write(user=self.user, password=self.cleaned_data["new_password1"])
        return self.user


class NewPasswordForm(WritesPassword, SetPasswordForm[User] if TYPE_CHECKING else SetPasswordForm):  # type: ignore[misc]
    """Choose a password. temp_key: of the link that opened the page, which the page has checked."""

    def __init__(self, *args: Any, temp_key: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


class ChangePasswordForm(WritesPassword, PasswordChangeForm[User] if TYPE_CHECKING else PasswordChangeForm):  # type: ignore[misc]
    """Choose another password. A wrong old one counts like a wrong password at the login."""

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        if user_authenticate(request=context.request, email=self.user.email, password=old) != self.user:
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return old


class PasswordForm(ReauthenticateForm):
    """Show again who you are."""

    password = forms.CharField(
        label="Password", widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True})
    )


class EmailForm(AddEmailForm):
    """Ask for another e-mail address."""

    email = forms.EmailField(
        label="New e-mail", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )

    def clean_email(self) -> str:
        email: str = super().clean_email()
        if problem := email_problem(email):
            raise ValidationError(problem)
        return email

    def save(self, request: HttpRequest) -> EmailAddress:
        """Ask for the new address. django-allauth would take away one that is not confirmed, and leave none."""
        row = email_change_begin(user=self.user, email=self.cleaned_data["email"])
        add_email_verification_sent_message(request, row.email, signup=False)
        return row


class DisconnectForm(BaseDisconnectForm):
    """Give up a way to log in."""

    account = forms.ModelChoiceField(queryset=SocialAccount.objects.none())

    def save(self) -> None:
        """Give it up, also where the arena no longer knows the provider, at which django-allauth fails."""
        raise_if_reauthentication_required(self.request, app="allauth.socialaccount")
        self.cleaned_data["account"].delete()
        messages.success(self.request, "You can no longer log in with this provider.")


class DeleteForm(forms.Form):
    """Delete an account, after typing its name."""

    username = forms.CharField(
        label="Your user name", help_text="Type it to confirm that you want to delete the account."
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if name.casefold() != self.user.username.casefold():
            raise ValidationError("This is not your user name.")
        return name


class ProfileForm(UserForm):
    """Change your own profile."""

    team = forms.ChoiceField(required=False)

    class Meta:
        model = User
        fields = ["first_name", "team", "github"]
        labels = {"first_name": "Name"}
        help_texts = {"first_name": "Your own name. Organisers and the teachers and tutors of your courses see it."}
        widgets = {"first_name": forms.TextInput(attrs={"autocomplete": "name"})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.TEAMS:
            del self.fields["team"]
            return
        field = self.fields["team"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "No team"), *((team, team) for team in settings.TEAMS)]


class TokenForm(forms.Form):
    """Create a token for the API. person: who gets it, for themselves or for one of their teams."""

    name = forms.CharField(max_length=50, help_text="What the token is for, such as the machine that uses it.")
    days = forms.TypedChoiceField(
        label="Valid for",
        choices=[("30", "30 days"), ("90", "90 days"), ("365", "1 year")],
        coerce=int,
        initial=str(USUAL_DAYS),
    )
    scope = forms.TypedChoiceField(
        label="Opens",
        choices=TokenScope.choices,
        coerce=TokenScope,
        initial=TokenScope.API,
    )
    team = forms.ModelChoiceField(
        Team.objects.none(),
        required=False,
        label="Acts for",
        empty_label="you",
        help_text="For a team, what it uploads and registers belongs to the team. It ends when you leave the team.",
    )

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["team"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = teams_of(person)
        if not field.queryset.exists():
            del self.fields["team"]
