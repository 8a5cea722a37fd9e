"""The signals for operators: logs, metrics and reports of errors."""

import os
import tempfile
from hashlib import blake2b
from pathlib import Path

from core.monitoring.logs import log_configuration
from core.settings.base import DATA_DIR, DEBUG, env

_LOGS = env.pairs("LOGS", "level=INFO,format=", str)
LOG_FORMAT = _LOGS["format"] or ("line" if DEBUG else "json")
LOGGING = log_configuration(LOG_FORMAT, _LOGS["level"])
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
OTEL_EXPORTER_OTLP_ENDPOINT = env.text("OTEL_EXPORTER_OTLP_ENDPOINT")
# One request in ten is traced.
SENTRY_TRACES_SAMPLE_RATE = 0.1
