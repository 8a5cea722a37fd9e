"""The arena's rows, one concept per file."""

from core.models.agent import Agent, Submission, SubmissionForm
from core.models.alarm import Alarm
from core.models.audit import AuditEntry
from core.models.build import Build
from core.models.challenge import Challenge, ChallengeKind
from core.models.duel import Duel, DuelOutcome
from core.models.environment import Environment, Play
from core.models.evaluation import Evaluation, Recording, SeedList, SeedPurpose
from core.models.job import CancelCode, Job, JobFault, JobState, PlayedJob
from core.models.ledger import LedgerEntry, LedgerVoid, Rating, RatingPoint, RatingPool
from core.models.ledger_state import (
    FollowedStrike,
    Ledger,
    LedgerChange,
    LedgerSums,
    LiveCheckpoint,
    LiveRating,
    PairTotal,
)
from core.models.lens import Lens
from core.models.letter import Letter, LetterKind
from core.models.notice import Notice, NoticeChoice, NoticeKind
from core.models.plan import Plan, PlanMeeting, PlanRow, PlanStage
from core.models.promotion import Promotion, PromotionState
from core.models.publication import Publication
from core.models.quota import QuotaName
from core.models.run import Run
from core.models.schedule import TournamentSchedule
from core.models.token import ApiToken, TokenScope
from core.models.tournament import (
    LADDER,
    Audience,
    Eligibility,
    Participant,
    Registration,
    Season,
    Tournament,
    TournamentState,
)
from core.models.upload import UploadReservation
from core.models.user import User
from core.models.validation import Validation
from core.models.verdict import Verdict
from core.models.webhook import Delivery, DeliveryState, EventKind, Webhook, WebhookFormat
from core.models.worker import Bell, Duty, Worker

__all__ = [
    "LADDER",
    "Agent",
    "Alarm",
    "ApiToken",
    "Audience",
    "AuditEntry",
    "Bell",
    "Build",
    "CancelCode",
    "Challenge",
    "ChallengeKind",
    "Delivery",
    "DeliveryState",
    "Duel",
    "DuelOutcome",
    "Duty",
    "Eligibility",
    "Environment",
    "Evaluation",
    "EventKind",
    "FollowedStrike",
    "Job",
    "JobFault",
    "JobState",
    "Ledger",
    "LedgerChange",
    "LedgerEntry",
    "LedgerSums",
    "LedgerVoid",
    "Lens",
    "Letter",
    "LetterKind",
    "LiveCheckpoint",
    "LiveRating",
    "Notice",
    "NoticeChoice",
    "NoticeKind",
    "PairTotal",
    "Participant",
    "Plan",
    "PlanMeeting",
    "PlanRow",
    "PlanStage",
    "Play",
    "PlayedJob",
    "Promotion",
    "PromotionState",
    "Publication",
    "QuotaName",
    "Rating",
    "RatingPoint",
    "RatingPool",
    "Recording",
    "Registration",
    "Run",
    "Season",
    "SeedList",
    "SeedPurpose",
    "Submission",
    "SubmissionForm",
    "TokenScope",
    "Tournament",
    "TournamentSchedule",
    "TournamentState",
    "UploadReservation",
    "User",
    "Validation",
    "Verdict",
    "Webhook",
    "WebhookFormat",
    "Worker",
]
