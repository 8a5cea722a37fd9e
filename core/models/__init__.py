"""The arena's rows, one concept a file."""

from core.models.agent import Agent, Submission, SubmissionForm
from core.models.alarm import Alarm
from core.models.audit import AuditEntry
from core.models.build import Build
from core.models.duel import Duel, DuelOutcome
from core.models.environment import Environment
from core.models.evaluation import Evaluation, Recording, SeedList, SeedPurpose
from core.models.job import Job, JobFault, JobState, PlayedJob
from core.models.ledger import LedgerEntry, LedgerVoid, Rating
from core.models.publication import Publication
from core.models.quota import QuotaName
from core.models.token import ApiToken
from core.models.tournament import Participant, Tournament, TournamentState
from core.models.user import User
from core.models.validation import Validation
from core.models.verdict import Verdict
from core.models.worker import Duty, Worker

__all__ = [
    "Agent",
    "Alarm",
    "ApiToken",
    "AuditEntry",
    "Build",
    "Duel",
    "DuelOutcome",
    "Duty",
    "Environment",
    "Evaluation",
    "Job",
    "JobFault",
    "JobState",
    "LedgerEntry",
    "LedgerVoid",
    "Participant",
    "PlayedJob",
    "Publication",
    "QuotaName",
    "Rating",
    "Recording",
    "SeedList",
    "SeedPurpose",
    "Submission",
    "SubmissionForm",
    "Tournament",
    "TournamentState",
    "User",
    "Validation",
    "Verdict",
    "Worker",
]
