"""The site itself: its name, applications, middleware and templates."""

from contextlib import suppress
from typing import Any
from zoneinfo import available_timezones

from django.core.exceptions import ImproperlyConfigured

from core.settings.base import DATA_DIR, DEBUG, env
from core.settings.data_key import data_key

INSECURE_SECRET_KEY = "insecure-key-for-local-use-only"
SECRET_KEY = env.secret("SECRET_KEY", INSECURE_SECRET_KEY)
if DEBUG and SECRET_KEY in ("", INSECURE_SECRET_KEY):
    # A command beside the demo signs what the demo's site and workers read. A folder of another user has to do without.
    with suppress(OSError):
        SECRET_KEY = data_key(DATA_DIR)
# Keys of before: what they have signed or sealed is still read (core/sealing.py).
SECRET_KEY_FALLBACKS = env.secret("SECRET_KEY_FALLBACKS").split()
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "127.0.0.1,localhost")
SOURCE_URL = env.text("SOURCE_URL")
ORGANISER_TEXT = env.text("ORGANISER_TEXT").replace("\\n", "\n")
INVITATION_CODE = env.secret("INVITATION_CODE")
TEAMS = env.words("TEAMS")
ROOT_URLCONF = "web.urls"
WSGI_APPLICATION = "core.wsgi.application"
# The streams of live events, which core.asgi serves.
ASGI_APPLICATION = "web.watching.stream.Streams"
LANGUAGE_CODE = "en-gb"
USE_I18N = False
FORMAT_MODULE_PATH = "core.writing"
TIME_ZONE = "UTC"
# The zone of tournaments that have none of their own.
SITE_ZONE = env.text("TIME_ZONE", "UTC")
if SITE_ZONE not in available_timezones():
    raise ImproperlyConfigured(f"TIME_ZONE: {SITE_ZONE!r} is no time zone. Write one as Europe/Berlin, or UTC.")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "web",  # before the admin, whose frame it draws in the site's colours
    "web.admin.site.OrganiserConfig",  # django.contrib.admin, with an audit log of what organisers do
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "core",
    "django_q",
    "axes",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.github",
    "allauth.socialaccount.providers.openid_connect",
    "core.people.session_app.SessionsConfig",  # allauth.usersessions
    "django_htmx",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "builder",
    "duel_runner",
    "tournament_manager",
    "publisher",
    "rollout_runner",
    "executor",
]
MIDDLEWARE = [
    "web.site.observing.Observed",
    "web.site.middleware.SitePages",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "web.api.cors.OtherOrigins",
    "web.site.kept.KeptAnswers",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "web.site.middleware.BeforeViews",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "web.site.context_processors.site",
            ]
        },
    }
]
