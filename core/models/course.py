"""Courses: people with roles, and what belongs to them. Pages say course, league or club, as its organiser chooses."""

from __future__ import annotations

from django.db import models

from core.models.user import User
from core.models.zoned import Zoned


class CourseKind(models.TextChoices):
    """The word that pages use."""

    COURSE = "COURSE", "course"
    LEAGUE = "LEAGUE", "league"
    CLUB = "CLUB", "club"


class SeenBy(models.TextChoices):
    """Who sees a course and all that belongs to it."""

    EVERYONE = "EVERYONE", "everyone"
    LINK = "LINK", "people with the link"
    MEMBERS = "MEMBERS", "members only"


class Role(models.TextChoices):
    """The role of a member; `core.people.rights` says what each may do."""

    TEACHER = "TEACHER", "teacher"
    TUTOR = "TUTOR", "tutor"
    REFEREE = "REFEREE", "referee"
    STUDENT = "STUDENT", "student"


class Course(Zoned):
    """People, and the environments, tournaments and news that belong to them."""

    slug = models.SlugField(max_length=50, unique=True, help_text="Its name in addresses.")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=6, choices=CourseKind.choices, default=CourseKind.COURSE)
    about = models.TextField(blank=True, max_length=5000, help_text="Markdown, shown on its page.")
    seen_by = models.CharField(max_length=8, choices=SeenBy.choices, default=SeenBy.MEMBERS)
    join_number = models.PositiveIntegerField(
        null=True, editable=False, help_text="A random number in its join link; empty while there is no link."
    )
    team_size = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        blank=True,
        help_text="The most people in a team that students make. 0: only teachers make teams.",
    )
    counts_best = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        blank=True,
        help_text="How many assignments of each student count for the percent, the best ones. 0: all.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Team(models.Model):
    """People of a course who own agents together. Its account owns them; it is a member of the course, too."""

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="teams")
    account = models.OneToOneField(User, on_delete=models.CASCADE, related_name="as_team")
    join_number = models.PositiveIntegerField(
        null=True, editable=False, help_text="A random number in its join link; empty while there is no link."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["account__username"]

    def __str__(self) -> str:
        return self.account.username


class Member(models.Model):
    """A person, or the account of a team, in a course. team: of a person; leads: invites to it and removes from it."""

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=7, choices=Role.choices, default=Role.STUDENT)
    team = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, blank=True, related_name="people")
    leads = models.BooleanField(
        default=False, db_default=False, help_text="Invites people to the team, and removes them."
    )
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["course", "user"], name="member_unique")]

    def __str__(self) -> str:
        return f"{self.user} in {self.course}"

    @property
    def team_name(self) -> str:
        """The name of the team, or else the one that the account carries."""
        return str(self.team) if self.team else self.user.team


class FormerTeam(models.Model):
    """The team of a student until a move; empty for no team. It counts for deadlines that had passed by then."""

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="former_teams")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="former_teams")
    team = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    left_at = models.DateTimeField()

    class Meta:
        ordering = ["left_at", "pk"]

    def __str__(self) -> str:
        return f"{self.user} in {self.team or 'no team'} until {self.left_at}"


class Announcement(models.Model):
    """A text to the members of a course, or to the participants of one of its tournaments."""

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="announcements")
    tournament = models.ForeignKey(
        "core.Tournament", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    title = models.CharField(max_length=150)
    text = models.TextField(max_length=5000, help_text="Markdown.")
    written_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.title
