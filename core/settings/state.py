"""Where the arena keeps its data: database, Redis, files, static files and cache."""

from typing import Any

import dj_database_url

from core.files.buckets import file_store
from core.settings.base import BASE_DIR, DATA_DIR, DEBUG, env

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
# The role as which site and workers connect. `migrate`, which the owner of the database runs, makes it and its rights.
DATABASE_ROLE = env.text("DATABASE_ROLE")
DATABASE_ROLE_PASSWORD = env.secret("DATABASE_ROLE_PASSWORD")
# With an address of the database itself the other one leads to a pooler. It gives a connection to each transaction and
# keeps nothing between two. What has to hold a connection of its own, as backups do, uses the direct address.
DATABASE_DIRECT_URL = env.secret("DATABASE_DIRECT_URL")
if DATABASE_DIRECT_URL:
    DATABASES["default"] |= {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False, "DISABLE_SERVER_SIDE_CURSORS": True}
if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    # A server that does not answer is one that is away. Compiling a query takes longer than any of ours. One plan fits
    # all values of those that are prepared (core/lookup.py). A pooler takes no settings of a connection; set `jit` to
    # off in PostgreSQL itself there.
    given = DATABASES["default"].setdefault("OPTIONS", {})
    chosen = f"-c jit=off -c plan_cache_mode=force_generic_plan {given.get('options', '')}".strip()
    DATABASES["default"]["OPTIONS"] = {"connect_timeout": 2, **given} | (
        {} if DATABASE_DIRECT_URL else {"options": chosen}
    )
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
    "default": file_store(env.secret("STORAGE", "local")),
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
IN_REDIS: dict[str, Any] = {
    "BACKEND": "core.cache.redis.SteadyRedisCache",
    "LOCATION": REDIS_URL,
    # Values of before 0.1.0 were pickles, some without an end.
    "KEY_PREFIX": "arena",
    # Cached answers can be computed again in less time than a slow cache would take.
    "OPTIONS": {"socket_timeout": 0.25, "socket_connect_timeout": 0.25},
}
IN_MEMORY = "django.core.cache.backends.locmem.LocMemCache"
# Apart in memory, where the number of entries is bounded: pages must not displace the counters of limits.
CACHES: dict[str, Any] = {
    "default": IN_REDIS if REDIS_URL else {"BACKEND": IN_MEMORY},
    "answers": IN_REDIS if REDIS_URL else {"BACKEND": IN_MEMORY, "LOCATION": "answers"},
}
