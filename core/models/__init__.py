"""The arena's rows, one concept per file."""

from core.models.account_event import AccountEvent
from core.models.agent import Agent, FormerName, Opponents, Submission, SubmissionForm
from core.models.alarm import Alarm
from core.models.analysis import AnalysedPosition, Analysis
from core.models.assignment import Assignment, Baseline, Extension, MarkByHand
from core.models.audit import AuditEntry
from core.models.batch import Batch, BatchPurpose, RolloutAgent
from core.models.blunder import Blunder, Drill, DrillMove
from core.models.branch import Branch
from core.models.build import Build
from core.models.challenge import Challenge, ChallengeKind
from core.models.course import Announcement, Course, CourseKind, FormerTeam, Member, Role, SeenBy, Team
from core.models.duel import Duel, DuelOutcome
from core.models.environment import Environment, EnvironmentKind, Play
from core.models.environment_trial import EnvironmentTrial
from core.models.error_mail import ErrorMail
from core.models.evaluation import Evaluation, Recording, SeedList, SeedPurpose
from core.models.invite_link import InviteLink
from core.models.job import CancelCode, Job, JobFault, JobState, PlayedJob
from core.models.language_model import LanguageModel, ModelForm, ModelUsers
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
from core.models.package import Package, PackageBuild
from core.models.plan import Plan, PlanMeeting, PlanRow, PlanStage
from core.models.promotion import Promotion, PromotionState
from core.models.publication import Publication
from core.models.quota import QuotaName
from core.models.rollout import (
    EndedBy,
    Rollout,
    RolloutOutcome,
    RolloutPhase,
    RolloutVerdict,
    VerdictReason,
    WorldLease,
)
from core.models.run import Run
from core.models.schedule import TournamentSchedule
from core.models.season import Season
from core.models.sitting import Sitting, SittingMove
from core.models.task import Acceptance, Task, TaskFile, TaskSet, TaskSplit
from core.models.token import ApiToken, TokenScope
from core.models.tournament import (
    CHOSEN,
    LADDER,
    WINDOW,
    Audience,
    Eligibility,
    Participant,
    Registration,
    Seeding,
    Tournament,
    TournamentState,
    ranked,
)
from core.models.user import User
from core.models.validation import Validation
from core.models.verdict import RecheckVerdict
from core.models.watching import ToldMoves, WatchedDuel
from core.models.webhook import Delivery, DeliveryState, EventKind, Webhook, WebhookFormat
from core.models.worker import Duty, Worker
from core.models.worker_host import HostState, WorkerHost

__all__ = [
    "CHOSEN",
    "LADDER",
    "WINDOW",
    "Acceptance",
    "AccountEvent",
    "Agent",
    "Alarm",
    "AnalysedPosition",
    "Analysis",
    "Announcement",
    "ApiToken",
    "Assignment",
    "Audience",
    "AuditEntry",
    "Baseline",
    "Batch",
    "BatchPurpose",
    "Blunder",
    "Branch",
    "Build",
    "CancelCode",
    "Challenge",
    "ChallengeKind",
    "Course",
    "CourseKind",
    "Delivery",
    "DeliveryState",
    "Drill",
    "DrillMove",
    "Duel",
    "DuelOutcome",
    "Duty",
    "Eligibility",
    "EndedBy",
    "Environment",
    "EnvironmentKind",
    "EnvironmentTrial",
    "ErrorMail",
    "Evaluation",
    "EventKind",
    "Extension",
    "FollowedStrike",
    "FormerName",
    "FormerTeam",
    "HostState",
    "InviteLink",
    "Job",
    "JobFault",
    "JobState",
    "LanguageModel",
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
    "MarkByHand",
    "Member",
    "ModelForm",
    "ModelUsers",
    "Notice",
    "NoticeChoice",
    "NoticeKind",
    "Opponents",
    "Package",
    "PackageBuild",
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
    "RecheckVerdict",
    "Recording",
    "Registration",
    "Role",
    "Rollout",
    "RolloutAgent",
    "RolloutOutcome",
    "RolloutPhase",
    "RolloutVerdict",
    "Run",
    "Season",
    "SeedList",
    "SeedPurpose",
    "Seeding",
    "SeenBy",
    "Sitting",
    "SittingMove",
    "Submission",
    "SubmissionForm",
    "Task",
    "TaskFile",
    "TaskSet",
    "TaskSplit",
    "Team",
    "TokenScope",
    "ToldMoves",
    "Tournament",
    "TournamentSchedule",
    "TournamentState",
    "User",
    "Validation",
    "VerdictReason",
    "WatchedDuel",
    "Webhook",
    "WebhookFormat",
    "Worker",
    "WorkerHost",
    "WorldLease",
    "ranked",
]
