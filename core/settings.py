"""Django settings: the only reader of os.environ. Every variable is explained in `example.env`."""

import os
import shlex
import tempfile
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import dj_database_url

from core.mail_server import mail_server
from core.monitoring.logs import log_configuration
from core.variables import Variables, whole_number

BASE_DIR = Path(__file__).resolve().parent.parent
VARIABLES = Variables(os.environ)
env = VARIABLES

# --- Site -------------------------------------------------------------------------------------------------
DEBUG = env.flag("DEBUG", False)
INSECURE_SECRET_KEY = "insecure-key-for-local-use-only"
SECRET_KEY = env.secret("SECRET_KEY", INSECURE_SECRET_KEY)
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "127.0.0.1,localhost")
SITE_NAME = env.text("SITE_NAME", "RL Arena")
SOURCE_URL = env.text("SOURCE_URL")
ORGANISER_TEXT = env.text("ORGANISER_TEXT").replace("\\n", "\n")
SITE_URL = env.text("SITE_URL").rstrip("/")
INVITATION_CODE = env.secret("INVITATION_CODE")
TEAMS = env.words("TEAMS")
ROOT_URLCONF = "web.urls"
WSGI_APPLICATION = "core.wsgi.application"
LANGUAGE_CODE = "en-gb"
USE_I18N = False
FORMAT_MODULE_PATH = "core.writing"
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "web.admin.site.OrganiserConfig",  # django.contrib.admin, with an audit log of what organisers do
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "core",  # before django_q, because core replaces its `qcluster`
    "django_q",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "django_htmx",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "builder",
    "duel_runner",
    "tournament_manager",
    "publisher",
    "executor",
    "web",
]
MIDDLEWARE = [
    "web.site.observing.Observed",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "web.site.middleware.SitePages",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "web.site.middleware.SecondFactor",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "web.site.limits.RateLimits",
    "axes.middleware.AxesMiddleware",
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

# --- Accounts ---------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "core.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "web:login", "web:home", "web:home"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}Validator"}
    for name in ("UserAttributeSimilarity", "MinimumLength", "CommonPassword", "NumericPassword")
]
# In lower case, so that Django does not take it for a setting: it contains a password.
mail = mail_server(env.secret("EMAIL_URL"))
EMAIL_BACKEND = mail.backend
EMAIL_HOST, EMAIL_PORT, EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = mail.host, mail.port, mail.user, mail.password
EMAIL_USE_TLS, EMAIL_USE_SSL = mail.starts_tls, mail.is_tls
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("DEFAULT_FROM_EMAIL", "arena@localhost")
EMAIL_TIMEOUT = 10
EMAIL_SUBJECT_PREFIX = f"[{SITE_NAME}] "
ADMINS = [(address, address) for address in env.words("ADMINS")]
WEBHOOKS_TO_PRIVATE = env.flag("WEBHOOKS_TO_PRIVATE", False)
# Receivers on a private network seldom have a certificate.
WEBHOOKS_OVER_HTTP = WEBHOOKS_TO_PRIVATE or DEBUG
DEFAULT_EXCEPTION_REPORTER_FILTER = "core.monitoring.error_mails.WithoutSettings"
DEFAULT_EXCEPTION_REPORTER = "core.monitoring.error_mails.WithoutRowValues"

# --- Security ---------------------------------------------------------------------------------------------
HTTPS = env.flag("HTTPS", False)
# Forms come from the site itself. A proxy may hide the scheme and port that people use, and SITE_URL has them.
CSRF_TRUSTED_ORIGINS = ["/".join(SITE_URL.split("/")[:3])] if "://" in SITE_URL else []
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
HSTS_SECONDS = env.number("HSTS_SECONDS", 31536000)
SECURE_HSTS_SECONDS = HSTS_SECONDS if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.flag("HSTS_SUBDOMAINS", True)
# Django's check wants `preload` in the header. A site should send it only to enter the lists of browsers, which takes
# months to undo; the proxy in front can send it (docs/operator/configure.md).
SILENCED_SYSTEM_CHECKS = ["security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
# Everything comes from this site. Pages generate the pictures of matches: data: and blob:.
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        **{name: ["'none'"] for name in ("default-src", "base-uri", "frame-ancestors")},
        **{f"{kind}-src": ["'self'"] for kind in ("script", "style", "font", "media", "connect")},
        "img-src": ["'self'", "data:", "blob:"],
        "form-action": ["'self'"],
        "upgrade-insecure-requests": HTTPS,
    }
}
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

# --- State ------------------------------------------------------------------------------------------------
DATA_DIR = Path(env.text("DATA_DIR", str(BASE_DIR / "data")))
DATABASES: dict[str, Any] = {
    "default": dj_database_url.parse(
        env.secret("DATABASE_URL", f"sqlite:///{DATA_DIR / 'arena.sqlite3'}"),
        conn_max_age=60,
        # A restart of the database causes no failed request or message.
        conn_health_checks=True,
    )
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # Immediate transactions wait for the write lock at their start instead of failing halfway.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    # A file, so that tests see real locking between threads (heartbeats) and processes (workers).
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
# Separate from the address, so that it may contain any character and come from its own file.
POSTGRES_PASSWORD = env.secret("POSTGRES_PASSWORD")
if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql" and not DATABASES["default"]["PASSWORD"]:
    DATABASES["default"]["PASSWORD"] = POSTGRES_PASSWORD
# With an address of the database itself the other one leads to a pooler. It gives a connection to each transaction and
# keeps nothing between two. What has to hold a connection of its own, as backups do, uses the direct address.
DATABASE_DIRECT_URL = env.secret("DATABASE_DIRECT_URL")
if DATABASE_DIRECT_URL:
    DATABASES["default"] |= {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False, "DISABLE_SERVER_SIDE_CURSORS": True}
REDIS_URL = env.secret("REDIS_URL")
MEDIA_ROOT = DATA_DIR / "files"
FILE_UPLOAD_TEMP_DIR = None
FILE_UPLOAD_HANDLERS = ["web.site.uploads.BoundedUploadHandler"]
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "static"
# An environment's own `static/` folder is served under environments/<slug>/.
STATICFILES_DIRS = [
    (f"environments/{folder.parent.name.replace('_', '-')}", folder)
    for folder in sorted((BASE_DIR / "environments").glob("*/static"))
]
CHART_LIBRARY = BASE_DIR / "node_modules/uplot/dist"  # from `npm ci`; without it pages show tables instead of charts
# The player of matches is part of the library, because files that work without the site have it too.
STATICFILES_DIRS.append(("player", BASE_DIR / "arena_kit/environment/replay_file/assets"))
STATICFILES_DIRS += [("uplot", CHART_LIBRARY)] * CHART_LIBRARY.is_dir()
STORAGES: dict[str, Any] = {
    "default": {"BACKEND": "core.storage.LocalStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "core.redis_cache.SteadyRedisCache",
        "LOCATION": REDIS_URL,
        # Cached answers can be computed again in less time than a slow cache would take.
        "OPTIONS": {"socket_timeout": 0.25, "socket_connect_timeout": 0.25},
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

# --- Jobs -------------------------------------------------------------------------------------------------
SANDBOX = env.text("SANDBOX", "docker")
LOTS_QUEUE = "lots"  # served by drivers, each of which plays many jobs on a cluster
QUEUES = ("build", *((LOTS_QUEUE,) if SANDBOX == "kubernetes" else ()), "duel", "tournament", "publish")
EXTRA_QUEUES = ("quick", "heavy")  # served only where an operator reserves workers for them
# A worker without a heartbeat for this long counts as dead, and its job goes to another worker. A heartbeat is due
# every quarter of the lease, and a busy database may be slow to store it: 20 seconds is the least that works.
JOB_LEASE_SECONDS = 30
# A job is tried this many times when the arena itself fails. It is delayed by JOB_DELAY_SECONDS after the first one,
# then by twice as long each time, up to 10 minutes.
JOB_MAX_ATTEMPTS = 5
JOB_DELAY_SECONDS = 30
QUEUE_STALL_MINUTES = env.number("QUEUE_STALL_MINUTES", 30)
STOP_GRACE_SECONDS = env.number("STOP_GRACE_SECONDS", 20)
DUEL_PARALLELISM = env.number("DUEL_PARALLELISM", max(1, len(os.sched_getaffinity(0)) - 1))
VERIFY_SAMPLE = env.share("VERIFY_SAMPLE", 0.05)
_MESSAGE_SECONDS = 4 * 3600
Q_CLUSTER: dict[str, Any] = {
    "name": "rl-arena",
    "label": "Queues",
    "workers": 1,
    "recycle": 200,
    # Rows are the truth: a bell is delivered once, and the reaper rings again for waiting work.
    "max_attempts": 1,
    "ack_failures": True,
    "timeout": _MESSAGE_SECONDS,
    "retry": _MESSAGE_SECONDS + 600,
    "save_limit": 250,
    "catch_up": False,
    "poll": 0.25,
    "queue_limit": 1,  # a bell that a busy cluster holds back wakes no other cluster
    **({"redis": REDIS_URL} if REDIS_URL else {"orm": "default"}),
    "ALT_CLUSTERS": {
        **{queue: {} for queue in (*QUEUES, *EXTRA_QUEUES)},
        # Recycled seldom, because a worker's warm containers end with it.
        "duel": {"workers": DUEL_PARALLELISM, "recycle": 2000},
    },
}

# --- Retention --------------------------------------------------------------------------------------------
# core.operations.retention has the retention times that all arenas share.
KEEP_LOGS_DAYS = env.number("KEEP_LOGS_DAYS", 0)
KEEP_RECORDS_DAYS = env.number("KEEP_RECORDS_DAYS", 0)
KEEP_RECORDINGS_DAYS = env.number("KEEP_RECORDINGS_DAYS", 0)
KEEP_IMAGES_DAYS = env.number("KEEP_IMAGES_DAYS", 0)

# --- Players ----------------------------------------------------------------------------------------------
# Base images by version of Python; the first is the default. The site compiles uploads with its own Python.
PLAYER_BASE_IMAGES = env.images("PLAYER_BASE_IMAGES", "rl-arena-base")
PLAYER_BASE_IMAGE = next(iter(PLAYER_BASE_IMAGES.values()))
PLAYER_IMAGE_PREFIX = env.text("PLAYER_IMAGE_PREFIX", "rl-arena-player")
PLAYER_REGISTRY = env.text("PLAYER_REGISTRY")
PLAYER_REGISTRY_USER = env.text("PLAYER_REGISTRY_USER")
PLAYER_REGISTRY_PASSWORD = env.secret("PLAYER_REGISTRY_PASSWORD")
IMAGE_CACHE_BYTES = env.number("IMAGE_CACHE_BYTES", 50 * 1024**3)
PLAYER_RUNTIME = env.text("PLAYER_RUNTIME", "runc")
PLAYER_CGROUP_PARENT = env.text("PLAYER_CGROUP_PARENT")
# With SANDBOX=kubernetes. duel_runner.lots.site reads them.
KUBERNETES_CONFIG = env.text("KUBERNETES_CONFIG")
KUBERNETES_NAMESPACE = env.text("KUBERNETES_NAMESPACE", "arena-players")
KUBERNETES_IMAGE = env.text("KUBERNETES_IMAGE")
KUBERNETES_LOTS = env.number("KUBERNETES_LOTS", 10)
KUBERNETES_PULL_SECRET = env.text("KUBERNETES_PULL_SECRET")
KUBERNETES_RUNTIME_CLASS = env.text("KUBERNETES_RUNTIME_CLASS")
KUBERNETES_PRIORITY_CLASS = env.text("KUBERNETES_PRIORITY_CLASS")
KUBERNETES_QUEUE = env.text("KUBERNETES_QUEUE")
KUBERNETES_NODES = env.words("KUBERNETES_NODES")
CHANNEL_DIR = Path(env.text("CHANNEL_DIR", "/tmp/rl-arena"))
WARM_PLAYERS = env.number("WARM_PLAYERS", 32)
# Containers that fetch wheels reach the package index in the same way as the worker.
PIP_CERTIFICATES = env.text("PIP_CERT")
PLAYER_PIP_CONSTRAINTS = env.text("PLAYER_PIP_CONSTRAINTS")
# The addresses may contain passwords.
PIP_ENVIRONMENT = {
    name: value
    for name, read in (
        ("PIP_INDEX_URL", env.secret),
        ("PIP_TRUSTED_HOST", env.text),
        ("HTTPS_PROXY", env.secret),
        ("NO_PROXY", env.text),
    )
    if (value := read(name))
}
BUILD_NETWORK = env.text("BUILD_NETWORK", "bridge")
BUILD_SCAN_COMMAND = shlex.split(env.text("BUILD_SCAN_COMMAND"))
# As PLAYER_BASE_IMAGES, but for scripts; empty: the same.
SCRIPT_BASE_IMAGE = env.images("SCRIPT_BASE_IMAGE", "")
SCRIPT_REQUIREMENTS = env.words("SCRIPT_REQUIREMENTS", "gymnasium")
# The names are those of arena_kit.sandbox.scripts.ScriptLimits, which holds the other limits.
SCRIPT_LIMITS: dict[str, Any] = {
    "memory_limit_bytes": env.number("SCRIPT_MEMORY_BYTES", 512 * 1024 * 1024),
    "cpu_count": env.decimal("SCRIPT_CPU_COUNT", 0.5),
    "pids": 50,
    "seconds": env.decimal("SCRIPT_SECONDS", 300.0),
}
ENVIRONMENTS_DIR = Path(env.text("ENVIRONMENTS_DIR") or DATA_DIR / "environments")
# Whether a submission may add an environment that Gymnasium here has registered: not, a script, or a player as well.
OPEN_ENVIRONMENTS = env.choice("OPEN_ENVIRONMENTS", ("false", "scripts", "all"))
MAX_UPLOAD_BYTES = env.number("MAX_UPLOAD_BYTES", 100 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

# --- Quotas -----------------------------------------------------------------------------------------------
# The names are those of core.models.QuotaName; 0 means no limit. With DEBUG only the quotas that the variable names
# apply, so that they do not hinder developers.
_QUOTAS = env.pairs(
    "QUOTAS",
    "uploads_per_day=20,active_agents=10,storage_bytes=2147483648,concurrent_jobs=5,challenges_per_day=20,"
    "anonymous_uploads_per_day=500,anonymous_storage_bytes=21474836480",
    whole_number,
    unset=0 if DEBUG else None,
)
QUOTAS_ANONYMOUS = {name: _QUOTAS.pop(f"anonymous_{name}") for name in ("uploads_per_day", "storage_bytes")}
QUOTAS = _QUOTAS | {"upload_bytes": 0}  # the site-wide limit is MAX_UPLOAD_BYTES
# An agent that forfeits every match of this many duels in a row is paused until it has a new version; 0 means never.
QUARANTINE_AFTER = 5

# --- API --------------------------------------------------------------------------------------------------
ANONYMOUS_SUBMISSIONS = env.flag("ANONYMOUS_SUBMISSIONS", False)
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "web.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["web.api.parsers.BoundedJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "web.api.parsers.OnlyJSON",
    "DEFAULT_THROTTLE_CLASSES": ["web.site.throttling.StrangerThrottle", "web.site.throttling.AccountThrottle"],
    "DEFAULT_THROTTLE_RATES": env.pairs(
        "RATES",
        "stranger=120/minute,account=1200/minute,login=10/minute,login_account=100/hour,login_day=300/day,"
        "upload=60/hour,environment=20/day,validate=30/minute,changes=20/hour,sign_up=60/hour,password_reset=10/hour,replay=600/minute,"
        "replay_file=60/minute,results=30/minute,executor=1200/minute",
        str,
    ),
    "DEFAULT_FILTER_BACKENDS": ["web.api.listing.Filters", "web.api.listing.Ordering"],
    "DEFAULT_PAGINATION_CLASS": "web.api.listing.Pages",
    "DEFAULT_SCHEMA_CLASS": "web.api.schema.DescribedView",
    "EXCEPTION_HANDLER": "web.api.errors.to_response",
    "NUM_PROXIES": env.number("TRUSTED_PROXIES", 0),
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": f"{SITE_NAME} API",
    "VERSION": "1",
    "DESCRIPTION": "Everything that the pages show, for programs. See docs/reference/api.md for examples.",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": ["web.api.schema.add_shared_answers"],
}

# --- Executor ---------------------------------------------------------------------------------------------
EXECUTOR_ADDRESS = env.text("EXECUTOR_ADDRESS", "127.0.0.1:50051")
EXECUTOR_CERTIFICATE = env.text("EXECUTOR_CERTIFICATE")
EXECUTOR_KEY = env.text("EXECUTOR_KEY")
EXECUTOR_CLIENT_CA = env.text("EXECUTOR_CLIENT_CA")

# --- Monitoring -------------------------------------------------------------------------------------------
LOG_LEVEL = env.text("LOG_LEVEL", "INFO")
LOG_FORMAT = env.text("LOG_FORMAT") or ("line" if DEBUG else "json")
LOGGING = log_configuration(LOG_FORMAT, LOG_LEVEL)
METRICS_TOKEN = env.secret("METRICS_TOKEN")
METRICS_NETWORKS = env.words("METRICS_NETWORKS")
METRICS_PORT = env.number("METRICS_PORT", 0)
# In memory, because mapped files kill their process when a disk is full. One folder for each arena and user.
_SHARED_MEMORY = Path("/dev/shm")
METRICS_DIR = Path(
    env.text("METRICS_DIR")
    or (_SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else Path(tempfile.gettempdir()))
    / f"rl-arena-metrics-{os.geteuid()}-{blake2b(bytes(DATA_DIR.resolve()), digest_size=6).hexdigest()}"
)
SENTRY_DSN = env.secret("SENTRY_DSN")
# One request in ten is traced.
SENTRY_TRACES_SAMPLE_RATE = 0.1

# --- Publishing -------------------------------------------------------------------------------------------
PUBLISHER_REMOTE = env.secret("PUBLISHER_REMOTE")
PUBLISHER_WEB_URL = env.text("PUBLISHER_WEB_URL")
