"""Assignments of courses: baselines to reach by a deadline, for marks."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from core.models.agent import Agent
from core.models.course import Course, Member
from core.models.environment import Environment
from core.models.limits import finite
from core.models.user import User


class Assignment(models.Model):
    """Baselines that the students of a course have to reach. Its times are in the time zone of the course."""

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="assignments")
    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="assignments")
    name = models.CharField(max_length=100)
    about = models.TextField(blank=True, max_length=5000, help_text="Markdown, shown on its page.")
    opens_at = models.DateTimeField(help_text="From then on versions play against the baselines, older ones too.")
    due_at = models.DateTimeField(help_text="Versions uploaded later are late.")
    late_days = models.PositiveSmallIntegerField(default=0, help_text="Days after which late versions do not count.")
    late_percent = models.PositiveSmallIntegerField(
        default=0, help_text="Share of the marks that each day begun after the deadline costs, in percent."
    )
    weight = models.PositiveSmallIntegerField(default=1, help_text="Its weight in the marks of the course.")
    has_board = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Where agents play alone: members of the course see each other's names or teams and scores.",
    )

    class Meta:
        ordering = ["due_at", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(due_at__gt=F("opens_at")),
                name="assignment_opens_before",
                violation_error_message="The deadline is before it opens; set a later one.",
            ),
            models.CheckConstraint(
                condition=Q(late_days__lte=30) & Q(late_percent__lte=100) & Q(weight__lte=1000),
                name="assignment_numbers_in_range",
                violation_error_message="At most 30 late days, 100% lost and weight 1000 are possible.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def total(self) -> int:
        """The most marks (prefetch `baselines` for lists)."""
        return sum(one.marks for one in self.baselines.all())


class Baseline(models.Model):
    """A reference agent of an assignment: it plays, but has no rank, seed or place, and counts to no limit.

    Where agents play alone it is a mean score instead.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="baselines")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, null=True, blank=True, related_name="baselines")
    score = models.FloatField(null=True, blank=True, help_text="The mean score to reach, in place of an agent.")
    percent = models.PositiveSmallIntegerField(default=50, help_text="Share of the points to win against it.")
    marks = models.PositiveSmallIntegerField(default=10)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "agent"], name="baseline_unique"),
            models.CheckConstraint(
                condition=Q(percent__gte=10, percent__lte=95, marks__gte=1, marks__lte=1000) & finite("score"),
                name="baseline_numbers_in_range",
            ),
            models.CheckConstraint(
                condition=Q(agent=None, score__isnull=False) | Q(agent__isnull=False, score=None),
                name="baseline_is_agent_or_score",
            ),
        ]

    def __str__(self) -> str:
        return f"a mean score of {self.score:g}" if self.agent is None else f"{self.percent}% against {self.agent}"

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"score {self.score:g}" if self.agent is None else self.agent.name


class Extension(models.Model):
    """A later deadline of one person: of a member, or of a user who was removed from the course and may come back."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="extensions")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, null=True, blank=True, related_name="extensions")
    removed = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    due_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["assignment", "member"], name="extension_unique")]

    def __str__(self) -> str:
        return f"{self.member or self.removed} until {self.due_at}"


class MarkByHand(models.Model):
    """Marks that a teacher sets for one person, in place of those that follow from results.

    They are those of a user, so that a person who leaves the course and comes back keeps them.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="marks_by_hand")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    marks = models.DecimalField(max_digits=6, decimal_places=2, validators=[MinValueValidator(0)])
    reason = models.CharField(max_length=300, help_text="Shown to the student.")
    set_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    set_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "mark by hand"
        verbose_name_plural = "marks by hand"
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "user"], name="mark_by_hand_unique"),
            models.CheckConstraint(condition=Q(marks__gte=0) & ~Q(reason=""), name="mark_by_hand_has_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.marks:g} marks for {self.user}"
