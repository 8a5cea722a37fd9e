"""Variables that the arena no longer reads. One that is still set causes a warning."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Advice

from core.checks.startup import TAG

_FIXED = "It is fixed at {} now."
_ALONE = "It is fixed now: leave it out."
RETIRED: dict[str, str] = {
    "HTTPS": "Set SITE_URL: an address with https:// turns HTTPS on.",
    "HSTS_SUBDOMAINS": "Subdomains are included. To leave them out, send the header from the proxy that ends TLS, and "
    "set HSTS_SECONDS=0.",
    "DEFAULT_FROM_EMAIL": "Set EMAIL_URL=...?from=ADDRESS.",
    "MAX_UPLOAD_BYTES": "Set QUOTAS=upload_bytes=...",
    "LOG_LEVEL": "Set LOGS=level=...",
    "LOG_FORMAT": "Set LOGS=format=...",
    "SUPERUSER_USERNAME": "The first organiser is called what is before the @ of SUPERUSER_EMAIL.",
    **dict.fromkeys(
        ("PLAYER_REGISTRY_USER", "PLAYER_REGISTRY_PASSWORD"), "Set PLAYER_REGISTRY=USER:PASSWORD@HOST/PATH."
    ),
    "IMAGE_CACHE_BYTES": "Set PLAYER_CONTAINERS=cache_bytes=...",
    "IMAGE_MAX_BYTES": "Set PLAYER_CONTAINERS=image_bytes=...",
    "BUILD_NETWORK": "Set BUILD_OPTIONS=network=...",
    "PLAYER_PIP_CONSTRAINTS": "Set BUILD_OPTIONS=constraints=...",
    "PLAYER_RUNTIME": "Set PLAYER_CONTAINERS=runtime=...",
    "PLAYER_CGROUP_PARENT": "Set PLAYER_CONTAINERS=cgroup_parent=...",
    "WARM_PLAYERS": "Set PLAYER_CONTAINERS=warm=...",
    "PIP_TRUSTED_HOST": "An index with http:// is trusted; for https:// set PIP_CERT.",
    "SCRIPT_LIMITS": "Set SCRIPT_OPTIONS: it takes the same names.",
    "SCRIPT_BASE_IMAGE": "Set SCRIPT_OPTIONS=base_images=..., with semicolons between several.",
    "SCRIPT_REQUIREMENTS": "Set SCRIPT_OPTIONS=requirements=..., with semicolons between several.",
    "SCRIPT_MEMORY_BYTES": "Set SCRIPT_OPTIONS=memory_limit_bytes=...",
    "SCRIPT_CPU_COUNT": "Set SCRIPT_OPTIONS=cpu_count=...",
    "SCRIPT_SECONDS": "Set SCRIPT_OPTIONS=seconds=...",
    "KUBERNETES_CONFIG": "Set KUBECONFIG, as for kubectl.",
    **{
        f"KUBERNETES_{name.upper()}": f"Set KUBERNETES_OPTIONS={name}=..."
        for name in ("image", "namespace", "lots", "pull_secret", "runtime_class", "priority_class", "queue", "nodes")
    },
    "EXECUTOR_ADDRESS": "Start it as `manage.py run_executor --address HOST:PORT`.",
    **dict.fromkeys(
        ("EXECUTOR_TLS", "EXECUTOR_CERTIFICATE", "EXECUTOR_KEY", "EXECUTOR_CLIENT_CA"),
        "Start it as `manage.py run_executor --tls FOLDER`, with tls.crt, tls.key and, for client certificates, "
        "clients.crt in the folder.",
    ),
    **{
        f"KEEP_{name.upper()}_DAYS": f"Set KEEP_DAYS={name}=..."
        for name in ("logs", "records", "recordings", "images")
    },
    "DATABASE_POOLED": "Set DATABASE_DIRECT_URL: with it DATABASE_URL leads to a pooler.",
    "PLAYER_BASE_IMAGE": "Set PLAYER_BASE_IMAGES: it takes one name as well.",
    "CSRF_TRUSTED_ORIGINS": "Set SITE_URL: forms may come from there.",
    "HSTS_PRELOAD": "Send the header with the word `preload` from the proxy that ends TLS, and set HSTS_SECONDS=0.",
    "EMAIL_BACKEND": "Mails go to the server of EMAIL_URL, or to the log without it.",
    **dict.fromkeys(
        ("EMAIL_HOST", "EMAIL_PORT", "EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD", "EMAIL_USE_TLS"),
        "Set EMAIL_URL=smtp+tls://USER:PASSWORD@HOST:PORT.",
    ),
    "WEBHOOKS_OVER_HTTP": "Set WEBHOOKS_TO_PRIVATE: it allows both.",
    "LOGIN_FAILURES": _FIXED.format("5 wrong passwords"),
    "LOGIN_LOCK_MINUTES": _FIXED.format("15 minutes"),
    "JOB_LEASE_SECONDS": _FIXED.format("30 seconds"),
    "JOB_MAX_ATTEMPTS": _FIXED.format("5 attempts"),
    "JOB_REST_SECONDS": _FIXED.format("30 seconds"),
    "VERIFY_PER_RUN": _FIXED.format("100 results; VERIFY_SAMPLE=0 checks none"),
    "KEEP_JOB_LOGS_DAYS": "Set KEEP_DAYS=logs=...",
    "KEEP_PLAYER_LOGS_DAYS": "Set KEEP_DAYS=logs=...",
    "KEEP_SESSIONS_DAYS": _FIXED.format("1 day"),
    "KEEP_MESSAGES_DAYS": _FIXED.format("30 days"),
    "KEEP_RATINGS_DAYS": _FIXED.format("30 days"),
    "KEEP_NOTICES_DAYS": _FIXED.format("90 days"),
    "WARM_PLAYER_SECONDS": _FIXED.format("300 seconds"),
    **dict.fromkeys(
        (
            "SCRIPT_PIDS", "SCRIPT_NICE", "SCRIPT_IONICE_CLASS", "SCRIPT_IONICE_LEVEL", "SCRIPT_FILE_BYTES",
            "SCRIPT_OPEN_FILES", "SCRIPT_LOG_BYTES",
        ),
        _ALONE,
    ),
    "QUARANTINE_AFTER": _FIXED.format("5 duels"),
    "API_RATE_STRANGER": "Set RATES=stranger=...",
    "API_RATE_ACCOUNT": "Set RATES=account=...",
    "API_RATE_LOGIN": "Set RATES=login=...",
    "API_RATE_UPLOAD": "Set RATES=upload=...",
    **{
        f"RATE_{name.upper()}": f"Set RATES={name}=..."
        for name in (
            "login_account", "login_day", "changes", "sign_up", "password_reset", "replay", "results",
        )
    },
    **{
        f"QUOTA_{name.upper()}": f"Set QUOTAS={name}=..."
        for name in (
            "uploads_per_day", "active_agents", "storage_bytes", "concurrent_jobs", "challenges_per_day",
            "anonymous_uploads_per_day", "anonymous_storage_bytes",
        )
    },
    "SENTRY_ENVIRONMENT": "It is the host of SITE_URL now.",
    "SENTRY_TRACES_SAMPLE_RATE": _FIXED.format("0.1"),
    "PUBLISHER_BRANCH": _FIXED.format("main"),
}  # fmt: skip
"""The name of every variable that is no longer read, and what to do instead."""
PROTECTED = frozenset(
    {
        "HTTPS",
        "PLAYER_RUNTIME",
        "PLAYER_CGROUP_PARENT",
        "KUBERNETES_RUNTIME_CLASS",
        "EXECUTOR_TLS",
        "EXECUTOR_CLIENT_CA",
        "BUILD_NETWORK",
        "PLAYER_PIP_CONSTRAINTS",
        "SCRIPT_LIMITS",
    }
)
"""Those that asked for a protection, without which the arena must not run unnoticed."""


@register(TAG)
def check_retired_variables(**_: Any) -> list[CheckMessage]:
    """arena.W005: a variable is set that the arena no longer reads. arena.E031: it asked for a protection."""
    found: list[CheckMessage] = []
    for name, hint in RETIRED.items():
        if not settings.VARIABLES.is_set(name):
            continue
        sentence = f"{name} is set, but the arena no longer reads it."
        if name in PROTECTED and not (name == "HTTPS" and settings.HTTPS):
            found.append(Error(sentence, hint=f"{hint} Then take {name} out.", id="arena.E031"))
        else:
            found.append(Advice(sentence, hint=hint, id="arena.W005"))
    return found
