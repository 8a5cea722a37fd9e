"""Rate limits, counted in the cache that all processes share; while Redis is down, each process counts for itself.

These are Django REST framework's throttles with an exact count: the framework reads a list and writes it back, so
twenty simultaneous requests may all pass. Pages and the API count together.
"""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from core.cache.answers import count_key
from core.people.logins import BY_ACCOUNT
from web.site.logins import is_known_here, is_locked_here, typed_account, waiting_account
from web.site.requests import account_of, client_network

if TYPE_CHECKING:
    # At run time this would be a circle: views load these classes through the settings.
    from rest_framework.views import APIView

AnyRequest = HttpRequest | Request


class RateLeft(NamedTuple):
    """The rest of a limit. resets_at: Unix time."""

    limit: int
    remaining: int
    resets_at: int


class Throttle(SimpleRateThrottle):
    """A limit on requests within a period that begins with the first one, per account, or per address for visitors."""

    rate: str | None
    num_requests: int | None
    duration: int | None

    sentence: ClassVar[str] = "You have sent too many requests."
    counts: ClassVar[frozenset[str] | None] = None
    """Methods that count; None for all."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        return self.allow(request)

    def allow(self, request: AnyRequest) -> bool:
        """Count a request; return False if it is one too many."""
        if self.rate is None or (self.counts is not None and request.method not in self.counts):
            return True
        who = self.who(request)
        if who is None:
            return True
        assert self.num_requests is not None
        assert self.duration is not None
        now = self.timer()
        key = self.key_of(who)
        # The first request begins the period; if the cache loses either key, the limit begins again.
        self.cache.add(f"{key}:end", now + self.duration, self.duration)
        self.cache.add(key, 0, self.duration)
        self.ends_at = float(self.cache.get(f"{key}:end") or now + self.duration)
        try:
            count = self.cache.incr(key)
        except ValueError:
            # The period has just ended.
            count = 1
        self.now = now
        self._tell(request, RateLeft(self.num_requests, max(0, self.num_requests - count), math.ceil(self.ends_at)))
        return count <= self.num_requests

    def wait(self) -> float:
        return self.seconds_left()

    def seconds_left(self) -> int:
        """Return the seconds until the next request may pass, after a refusal."""
        return max(1, math.ceil(self.ends_at - self.now))

    def who(self, request: AnyRequest) -> str | None:
        """Return the name under which a request counts; None if it does not count."""
        account = account_of(request)
        return f"account {account.pk}" if account else f"address {client_network(request)}"

    def key_of(self, who: str) -> str:
        return count_key(str(self.scope), who)

    @staticmethod
    def allowance_of(request: HttpRequest) -> RateLeft | None:
        """Return the rest of the tightest limit that a request counted towards."""
        return getattr(request, "rate_allowance", None)

    @staticmethod
    def _tell(request: AnyRequest, allowance: RateLeft) -> None:
        plain: Any = request._request if isinstance(request, Request) else request
        known = getattr(plain, "rate_allowance", None)
        if known is None or allowance.remaining < known.remaining:
            plain.rate_allowance = allowance


class StrangerThrottle(Throttle):
    scope = "stranger"

    def who(self, request: AnyRequest) -> str | None:
        return None if account_of(request) else super().who(request)


class AccountThrottle(Throttle):
    scope = "account"

    def who(self, request: AnyRequest) -> str | None:
        return super().who(request) if account_of(request) else None


class UploadThrottle(Throttle):
    """A limit on uploads; reading from the same address does not count."""

    scope = "upload"
    counts = frozenset({"POST"})
    sentence = "You have uploaded too often."


class EnvironmentThrottle(Throttle):
    """A limit on submissions that name an environment that is new here, each of which starts a trial of it."""

    scope = "environment"
    sentence = "You have named too many environments that are new here."


class ValidateThrottle(AccountThrottle):
    """A limit on inspections without an upload, each of which takes seconds of a processor."""

    scope = "validate"
    counts = frozenset({"POST"})
    sentence = "You have asked too often what an upload would be refused for."


class ChangeThrottle(AccountThrottle):
    """A limit on changes of which versions play, and in which tournaments.

    Leaving a ladder cancels waiting duels, and registering for a full tournament and leaving it again keeps others out,
    so such changes must be rare. Visitors without an account cannot make changes, so they do not count.
    """

    scope = "changes"
    counts = frozenset({"POST", "PUT", "PATCH", "DELETE"})
    sentence = "You have changed too often which of your agents and versions play, or where."


class ReplayThrottle(Throttle):
    """A limit on pages that play a match again, draw an episode or unpack an archive, for every method."""

    scope = "replay"
    sentence = "You have opened too many matches in a short time."


class SearchThrottle(ReplayThrottle):
    """A limit on searches, which read whole tables. They count together with ReplayThrottle."""

    sentence = "You have searched or opened matches too often in a short time."


class ReplayFileThrottle(Throttle):
    """A limit on replays as files, with what every seat saw, and on cards of matches: they take longer than pages."""

    scope = "replay_file"
    sentence = "You have downloaded too many replays in a short time."


class ResultsThrottle(Throttle):
    """A limit on files that need all matches of a duel played again."""

    scope = "results"
    sentence = "You have downloaded the results of too many duels in a short time."


class DataSetThrottle(Throttle):
    """A limit on data sets, for which all rated matches of an environment are read."""

    scope = "data_set"
    sentence = "You have downloaded too many data sets in the last hour."


class PackedThrottle(ResultsThrottle):
    """A limit on folders that are packed for each download, which count together with ResultsThrottle."""

    sentence = "You have downloaded too many results and environments in a short time."


class LeaderboardThrottle(ResultsThrottle):
    """A limit on downloads of whole leaderboards, which count together with ResultsThrottle."""

    sentence = "You have downloaded too many results and leaderboards in a short time."


class AddressThrottle(Throttle):
    """A limit that counts by address, even for requests with an account."""

    counts: ClassVar[frozenset[str] | None] = frozenset({"POST"})

    def who(self, request: AnyRequest) -> str | None:
        return f"address {client_network(request)}"


class BadTokenThrottle(AddressThrottle):
    """A limit on requests with an invalid token: their sender is a stranger, so they share its scope."""

    scope = "stranger"
    counts = None


class LoginThrottle(AddressThrottle):
    """A limit on password attempts from an address."""

    scope = "login"
    sentence = "There were too many password attempts from your address."


class LoginDayThrottle(LoginThrottle):
    """The same limit over a day, against slow attempts of one password on many accounts."""

    scope = "login_day"


class LoginAccountThrottle(LoginThrottle):
    """A limit on password attempts for one account, from all addresses together.

    It cannot lock out the owner: addresses from which they have logged in do not count. Addresses that are already
    locked for this account do not count either, so that one address alone never uses up the limit.
    """

    scope = BY_ACCOUNT
    sentence = "There were too many password attempts for this account, from many addresses."

    def named(self, request: AnyRequest) -> str:
        """Return the account that the request is for."""
        return typed_account(request)

    def who(self, request: AnyRequest) -> str | None:
        name = self.named(request)
        plain = request._request if isinstance(request, Request) else request
        return None if is_known_here(name, plain) or is_locked_here(name, plain) else name


class CodeAccountThrottle(LoginAccountThrottle):
    """The same limit for codes: they count for the account whose password was right, with the passwords."""

    def named(self, request: AnyRequest) -> str:
        return waiting_account(request)


class SignUpThrottle(AddressThrottle):
    scope = "sign_up"
    sentence = "Too many accounts have been created from your address."


class PasswordResetThrottle(AddressThrottle):
    scope = "password_reset"
    sentence = "There were too many requests for new passwords from your address."


class PasswordResetMailThrottle(PasswordResetThrottle):
    """The same limit per e-mail address, whatever the sender's address, so that mailboxes are not flooded."""

    sentence = "There were too many requests for a new password for this e-mail address."

    def who(self, request: AnyRequest) -> str | None:
        # Cleaned as the form does and compared as Django does: spaces and wide letters are not another mailbox.
        email = unicodedata.normalize("NFKC", str(request.POST.get("email", ""))).strip()
        return f"email {email[:254].casefold()}"
