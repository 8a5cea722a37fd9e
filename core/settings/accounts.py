"""Accounts: how people log in, passwords and what is done about guesses of them."""

from datetime import timedelta
from typing import Any

from core.settings.base import SITE_NAME, env
from core.settings.login_providers import login_providers
from core.settings.security import HTTPS

AUTH_USER_MODEL = "core.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "core.people.backend.AccountBackend"]
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "account_login", "web:home", "web:home"
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    # The list of broken passwords has those of ten characters and more.
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    *(
        {"NAME": f"django.contrib.auth.password_validation.{name}Validator"}
        for name in ("UserAttributeSimilarity", "CommonPassword", "NumericPassword")
    ),
    {"NAME": "core.people.passwords.LongestPasswordValidator"},
    {"NAME": "core.people.passwords.BrokenPasswordValidator"},
    {"NAME": "core.people.passwords.SiteNameValidator"},
]
# Links to choose a password work for so long; the mails say it.
PASSWORD_RESET_TIMEOUT = 12 * 3600
SUPERUSER_EMAIL = env.text("SUPERUSER_EMAIL")
SUPERUSER_PASSWORD = env.secret("SUPERUSER_PASSWORD")
# Organisers must log in with a second factor (a passkey, or a code from an app), on every kind of access. A site that
# others can reach has HTTPS.
REQUIRE_STAFF_TOTP = env.flag("REQUIRE_STAFF_TOTP", HTTPS)
# The first one makes new hashes; a login with an older hash renews it.
PASSWORD_HASHERS = [
    "core.people.hashers.Argon2AtOnce",
    *(
        f"django.contrib.auth.hashers.{name}PasswordHasher"
        for name in ("PBKDF2", "PBKDF2SHA1", "BCryptSHA256", "Scrypt")
    ),
]

# --- Guesses of passwords ---------------------------------------------------------------------------------
# Counted in the database, so that all processes agree. Only the pair of account and address is locked, so that a
# guesser cannot lock the owner out elsewhere. The rate limits handle guesses for many accounts from one address.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
# AXES_RESET_ON_SUCCESS is not needed: web.site.logins resets the count, for tokens as well.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False  # web.admin.pages.logins shows them
AXES_VERBOSE = False
AXES_USERNAME_FORM_FIELD = "username"
AXES_USERNAME_CALLABLE = "web.site.logins.account_named"
AXES_CLIENT_IP_CALLABLE = "web.site.requests.client_network"
AXES_SENSITIVE_PARAMETERS = ["username", "email", "password", "ip_address", "csrfmiddlewaretoken"]

# --- django-allauth ---------------------------------------------------------------------------------------
# Its calls into this site are in web.people.adapters and web.people.forms. The limits are those of RATES and of
# django-axes, which count for all kinds of access, so its own are off.
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_ADAPTER = "web.people.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*", "password2*"]
# A person can log in before the address is confirmed. Until then the arena sends nothing but the link that confirms it.
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS = 7
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_PRESERVE_USERNAME_CASING = True
ACCOUNT_REAUTHENTICATION_METHODS = ("password", "mfa")
ACCOUNT_REAUTHENTICATION_TIMEOUT = 900
ACCOUNT_LOGIN_TIMEOUT = 600
ACCOUNT_FORMS = {
    "login": "web.people.forms.LoginForm",
    "signup": "web.people.forms.SignUpForm",
    "reset_password": "web.people.forms.PasswordResetForm",
    "reset_password_from_key": "web.people.forms.NewPasswordForm",
    "set_password": "web.people.forms.NewPasswordForm",
    "change_password": "web.people.forms.ChangePasswordForm",
    "add_email": "web.people.forms.EmailForm",
    "reauthenticate": "web.people.forms.PasswordForm",
}
MFA_ADAPTER = "web.people.adapters.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
# A site without a mail server confirms no address, and its organisers need a second factor all the same.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
# One code to either side, for clocks that are half a minute off.
MFA_TOTP_TOLERANCE = 1
MFA_TOTP_ISSUER = SITE_NAME
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HTTPS  # browsers allow passkeys without HTTPS on localhost alone
MFA_FORMS = {
    "authenticate": "web.people.factor_forms.CodeForm",
    "reauthenticate": "web.people.factor_forms.CodeAgainForm",
    "activate_totp": "web.people.factor_forms.FirstCodeForm",
    "add_webauthn": "web.people.factor_forms.PasskeyForm",
    "edit_webauthn": "web.people.factor_forms.PasskeyNameForm",
}
SOCIALACCOUNT_ADAPTER = "web.people.adapters.ProviderAdapter"
SOCIALACCOUNT_FORMS = {
    "signup": "web.people.forms.ProviderSignUpForm",
    "disconnect": "web.people.forms.DisconnectForm",
}
# A person who comes with a provider signs up by a form too, which asks for the invitation code and the user name.
SOCIALACCOUNT_AUTO_SIGNUP = False
SOCIALACCOUNT_QUERY_EMAIL = True
SOCIALACCOUNT_PROVIDERS = login_providers(env.secret("LOGIN_PROVIDERS"))
