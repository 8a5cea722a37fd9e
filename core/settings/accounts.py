"""Accounts: how people log in, passwords and what is done about guesses of them."""

from datetime import timedelta

from core.settings.base import SITE_NAME, env

AUTH_USER_MODEL = "core.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "web:login", "web:home", "web:home"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}Validator"}
    for name in ("UserAttributeSimilarity", "MinimumLength", "CommonPassword", "NumericPassword")
]
SUPERUSER_EMAIL = env.text("SUPERUSER_EMAIL")
SUPERUSER_PASSWORD = env.secret("SUPERUSER_PASSWORD")
# Organisers must log in with a second factor (a code from an app on their phone), on every kind of access.
REQUIRE_STAFF_TOTP = env.flag("REQUIRE_STAFF_TOTP", False)
OTP_TOTP_ISSUER = SITE_NAME
# The first one makes new hashes; a login with an older hash renews it.
PASSWORD_HASHERS = [
    f"django.contrib.auth.hashers.{name}PasswordHasher"
    for name in ("Argon2", "PBKDF2", "PBKDF2SHA1", "BCryptSHA256", "Scrypt")
]

# --- Guesses of passwords ---------------------------------------------------------------------------------
# Counted in the database, so that all processes agree. Only the pair of account and address is locked, so that a
# guesser cannot lock the owner out elsewhere. The rate limits handle guesses for many accounts from one address.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
# AXES_RESET_ON_SUCCESS is not needed: web.people.logins resets the count, for tokens as well.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False  # web.admin.pages.logins shows them
AXES_VERBOSE = False
AXES_USERNAME_FORM_FIELD = "username"
AXES_USERNAME_CALLABLE = "web.people.logins.account_named"
AXES_CLIENT_IP_CALLABLE = "web.site.addresses.client_network"
AXES_LOCKOUT_CALLABLE = "web.people.logins.locked_out"
AXES_SENSITIVE_PARAMETERS = ["username", "email", "password", "ip_address", "csrfmiddlewaretoken"]
