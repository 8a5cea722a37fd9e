"""How much people may upload and ask for."""

from core.settings.base import DEBUG, env
from core.settings.variables import whole_number

_UPLOAD_BYTES = 100 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

# --- Quotas -----------------------------------------------------------------------------------------------
# The names are those of core.models.QuotaName; 0 means no limit. With DEBUG only the quotas that the variable names
# apply, so that they do not hinder developers.
_QUOTAS = env.pairs(
    "QUOTAS",
    "uploads_per_day=20,active_agents=10,storage_bytes=2147483648,concurrent_jobs=5,challenges_per_day=20,sittings_per_day=50,"
    f"upload_bytes={_UPLOAD_BYTES},"
    "rollouts_per_day=200,concurrent_rollouts=50,rollout_cost_per_day=5000000,"
    "anonymous_uploads_per_day=500,anonymous_storage_bytes=21474836480",
    whole_number,
    unset=0 if DEBUG else None,
)
QUOTAS_ANONYMOUS = {name: _QUOTAS.pop(f"anonymous_{name}") for name in ("uploads_per_day", "storage_bytes")}
# Every upload has a limit, with DEBUG too. An environment or a person may have a lower one.
MAX_UPLOAD_BYTES = _QUOTAS["upload_bytes"] or _UPLOAD_BYTES
QUOTAS = _QUOTAS
# An agent that forfeits every match of this many duels in a row is paused until it has a new version; 0 means never.
QUARANTINE_AFTER = 5
