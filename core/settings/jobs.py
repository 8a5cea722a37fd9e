"""Background work: queues, workers, retention and publishing."""

from pathlib import Path
from typing import Any

from arena_kit.machine.processes import core_count
from core.settings.base import env
from core.settings.players import SANDBOX
from core.settings.rollouts import ROLLOUT_PARALLELISM, ROLLOUTS
from core.settings.variables import decimal, whole_number, words

LOTS_QUEUE = "lots"  # served by drivers, each of which plays many jobs on a cluster
ROLLOUT_QUEUE = "rollout"
# Packages are built by workers with an engine, which those of rollouts have not where worlds are pods.
PACKAGE_QUEUE = "package" if SANDBOX == "kubernetes" else ROLLOUT_QUEUE
QUEUES = (
    "build",
    *((LOTS_QUEUE,) if SANDBOX == "kubernetes" else ()),
    "duel",
    *(("sitting",) if SANDBOX != "kubernetes" else ()),  # many at once in one process: people wait for its moves
    *(dict.fromkeys((PACKAGE_QUEUE, ROLLOUT_QUEUE)) if ROLLOUTS != "false" else ()),
    "tournament",
    "publish",
)
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
DUEL_PARALLELISM = env.number("DUEL_PARALLELISM", max(1, core_count() - 1))
RECHECK_SAMPLE = env.share("RECHECK_SAMPLE", 0.05)
# Processes of workers for each queue on a host; one for those that are left out.
WORKERS = {"duel": DUEL_PARALLELISM, ROLLOUT_QUEUE: ROLLOUT_PARALLELISM}
# django-q turns schedules into messages of the queues. Its own workers do only schedules that superusers have written.
Q_CLUSTER: dict[str, Any] = {
    "name": "rl-arena",
    "label": "Queues",
    "orm": "default",
    "workers": 1,
    "recycle": 200,
    "timeout": 600,
    "retry": 660,
    "max_attempts": 1,
    "ack_failures": True,
    "save_limit": 250,
    "catch_up": False,
    "poll": 1,
    "queue_limit": 1,
}

# --- Scaling ----------------------------------------------------------------------------------------------
# `manage.py autoscale` creates and removes hosts of workers; core.operations.scaling reads them.
SCALING: dict[str, Any] = env.pairs(
    "SCALING",
    "provider=,queues=duel,min=0,max=2,minutes=10,slots=1,hours_per_day=0,program=,namespace=arena,"
    "deployment=worker-duel,region=,size=,image=,ssh_keys=,vpc_uuid=,tag=,user_data=,token=",
    str,
    apart={
        **dict.fromkeys(("queues", "ssh_keys"), words),
        **dict.fromkeys(("min", "max", "slots"), whole_number),
        **dict.fromkeys(("minutes", "hours_per_day"), decimal),
    },
    is_secret=True,  # the token
)

# --- Retention --------------------------------------------------------------------------------------------
# core.operations.retention has the retention times that all arenas share.
KEEP_DAYS = env.pairs("KEEP_DAYS", "logs=0,records=0,recordings=0,rollouts=30,images=0", whole_number)

# --- Publishing -------------------------------------------------------------------------------------------
PUBLISHER_REMOTE = env.secret("PUBLISHER_REMOTE")
PUBLISHER_WEB_URL = env.text("PUBLISHER_WEB_URL")
# The private key and `known_hosts` for an ssh address, where ssh itself looks for them.
PUBLISHER_SSH_FOLDER = Path.home() / ".ssh"
