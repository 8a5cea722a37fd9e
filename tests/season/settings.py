"""The arena's own settings, with short leases and delays: in a season a fault comes every few seconds."""

from core.settings import *  # noqa: F403  (all of them, as they are)

JOB_LEASE_SECONDS, JOB_DELAY_SECONDS, JOB_MAX_ATTEMPTS = 20, 1, 40
