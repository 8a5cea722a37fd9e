"""Rate limits, counted in the cache that all processes share; while Redis is down, each process counts for itself.

These are Django REST framework's throttles with an exact count: the framework reads a list and writes it back, so
twenty simultaneous requests may all pass. Pages and the API count together.
"""

from __future__ import annotations

import logging
import math
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from django.contrib.auth.signals import user_logged_in
from django.core.cache.backends.base import BaseCache
from django.dispatch import receiver
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from core.cache.answers import count_key
from core.people.logins import BY_ACCOUNT
from web.site.logins import is_known_here, is_locked_here, typed_account, waiting_account
from web.site.numbers import duration
from web.site.requests import SEATED, account_of, client_network

if TYPE_CHECKING:
    # At run time this would be a circle: views load these classes through the settings.
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)
AnyRequest = HttpRequest | Request
Named = Callable[[AnyRequest], str | None]
"""Returns the name under which a request counts; None if it does not count."""


class RateLeft(NamedTuple):
    """The rest of a limit. resets_at: Unix time."""

    limit: int
    remaining: int
    resets_at: int


ATTEMPTS = tuple(f"throttle:{scope}:" for scope in ("login", "login_day", "stranger"))
"""The beginnings of the keys of what a login counts towards by its address."""
PERIODS = {1: "a second", 60: "a minute", 3_600: "an hour", 86_400: "a day"}


class Throttle(SimpleRateThrottle):
    """A limit on requests within a period that begins with the first one. The table below has them all."""

    rate: str | None
    num_requests: int | None
    duration: int | None

    sentence: ClassVar[str]
    counts: ClassVar[frozenset[str] | None]
    """Methods that count; None for all."""
    named: ClassVar[Named]

    def allow_request(self, request: Request, view: APIView) -> bool:
        return self.allow(request)

    def allow(self, request: AnyRequest) -> bool:
        """Count a request; return False if it is one too many."""
        if self.rate is None or (self.counts is not None and request.method not in self.counts):
            return True
        plain: Any = request._request if isinstance(request, Request) else request
        who = type(self).named(request)
        # What another limit has refused counts towards no further one.
        if who is None or Throttle.refused(plain) is not None:
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
        if count == self.num_requests + 1:
            # Once in a period, or a flood of requests would be one of lines; and without an e-mail address.
            shown = who if who.startswith(("address ", "account ")) else who.partition(" ")[0]
            logger.warning("limit.reached", extra={"rate": self.scope, "sender": shown, "limit": self.rate})
        self._tell(plain, RateLeft(self.num_requests, max(0, self.num_requests - count), math.ceil(self.ends_at)))
        counted = plain.__dict__.setdefault("rates_counted", [])
        if count <= self.num_requests:
            counted.append(key)
            return True
        plain.rate_refused = self
        _give_back(self.cache, counted)
        return False

    def wait(self) -> float:
        return self.seconds_left()

    def seconds_left(self) -> int:
        """Return the seconds until the next request may pass, after a refusal."""
        return max(1, math.ceil(self.ends_at - self.now))

    def refusal(self) -> str:
        """Return a sentence that says which limit is reached, and when to try again."""
        period = PERIODS.get(self.duration or 0, f"{self.duration} seconds")
        again = f"Please try again in {duration(self.seconds_left())}."
        return f"{self.sentence} {again} The limit “{self.scope}” is {self.num_requests} in {period}."

    @staticmethod
    def refused(request: HttpRequest) -> Throttle | None:
        """Return the limit by which a request was refused."""
        return getattr(request, "rate_refused", None)

    def key_of(self, who: str) -> str:
        return count_key(str(self.scope), who)

    @staticmethod
    def allowance_of(request: HttpRequest) -> RateLeft | None:
        """Return the rest of the tightest limit that a request counted towards."""
        return getattr(request, "rate_allowance", None)

    @staticmethod
    def _tell(plain: Any, allowance: RateLeft) -> None:
        known = getattr(plain, "rate_allowance", None)
        if known is None or allowance.remaining < known.remaining:
            plain.rate_allowance = allowance


def _give_back(counts: BaseCache, keys: Iterable[str]) -> None:
    """Let a request count no more towards some limits, whose periods may have ended meanwhile."""
    for key in keys:
        with suppress(ValueError):
            counts.decr(key)


@receiver(user_logged_in)
def _login_is_no_guess(request: HttpRequest, **_: object) -> None:
    """Let a login that succeeds count as no attempt, so that a class behind one address logs in within a minute."""
    counted: list[str] = getattr(request, "rates_counted", [])
    _give_back(Throttle.cache, [key for key in counted if key.startswith(ATTEMPTS)])


# --- Who counts -------------------------------------------------------------------------------------------


def by_address(request: AnyRequest) -> str:
    return f"address {client_network(request)}"


def by_account(request: AnyRequest) -> str | None:
    account = account_of(request)
    return f"account {account.pk}" if account else None


def by_sender(request: AnyRequest) -> str:
    return by_account(request) or by_address(request)


def by_seat(request: AnyRequest) -> str:
    """A visitor who has sat down counts alone: a class behind one address plays at many boards."""
    sat = SEATED in request.session and account_of(request) is None
    return f"visitor {request.session.session_key}" if sat else by_sender(request)


def by_stranger(request: AnyRequest) -> str | None:
    return None if account_of(request) else by_address(request)


def by_mailbox(request: AnyRequest) -> str:
    # Cleaned as the form does and compared as Django does: spaces and wide letters are not another mailbox.
    email = unicodedata.normalize("NFKC", str(request.POST.get("email", ""))).strip()
    return f"email {email[:254].casefold()}"


def by_login(account: Callable[[AnyRequest], str]) -> Named:
    """Return what counts attempts at one account, from all addresses together.

    It cannot lock out the owner: addresses from which they have logged in do not count. Addresses that are already
    locked for this account do not count either, so that one address alone never uses up the limit.
    """

    def named(request: AnyRequest) -> str | None:
        name = account(request)
        plain = request._request if isinstance(request, Request) else request
        return None if is_known_here(name, plain) or is_locked_here(name, plain) else name

    return named


# --- The limits -------------------------------------------------------------------------------------------


def limit(scope: str, named: Named, counts: frozenset[str] | None, sentence: str) -> type[Throttle]:
    """Return a limit as a class, which Django REST framework wants. Limits of one scope count together."""
    return type(
        "LimitOf" + scope,
        (Throttle,),
        {
            "scope": scope,
            "named": staticmethod(named),
            "counts": counts,
            "sentence": sentence,
        },
    )


ALL, POST, WRITES = None, frozenset({"POST"}), frozenset({"POST", "PUT", "PATCH", "DELETE"})
TOO_MANY = "You have sent too many requests."
PASSWORDS = "There were too many password attempts from your address."
ON_ACCOUNT = "There were too many password attempts for this account, from many addresses."
# fmt: off
StrangerThrottle = limit("stranger", by_stranger, ALL, TOO_MANY)
BadTokenThrottle = limit("bad_token", by_address, ALL, "You have sent too many requests with a wrong token.")
AccountThrottle = limit("account", by_account, ALL, TOO_MANY)
# Programs ask again and again how a submission, a run or a rollout stands.
PollThrottle = limit("poll", by_sender, ALL, "You have asked too often how things stand.")
UploadThrottle = limit("upload", by_sender, POST, "You have uploaded too often.")
# Each starts a trial of the environment.
EnvironmentThrottle = limit("environment", by_sender, ALL, "You have named too many environments that are new here.")
# Each takes seconds of a processor.
ValidateThrottle = limit("validate", by_account, POST,
                         "You have asked too often what an upload would be refused for.")
# Leaving a ladder cancels waiting duels, and registering for a full tournament and leaving it again keeps others out.
ChangeThrottle = limit("changes", by_account, WRITES,
                       "You have changed too often which of your agents and versions play, or where.")
# Pages that play a match again, draw an episode or unpack an archive; searches read whole tables.
ReplayThrottle = limit("replay", by_sender, ALL, "You have opened too many matches in a short time.")
BoardThrottle = limit("replay", by_seat, ALL, "You have moved or looked at boards too often in a short time.")
SearchThrottle = limit("replay", by_sender, ALL, "You have searched or opened matches too often in a short time.")
# With what every seat saw, and cards of matches: they take longer than pages.
ReplayFileThrottle = limit("replay_file", by_sender, ALL, "You have downloaded too many replays in a short time.")
# All matches of a duel are played again, folders are packed, whole leaderboards are read.
ResultsThrottle = limit("results", by_sender, ALL,
                        "You have downloaded the results of too many duels in a short time.")
PackedThrottle = limit("results", by_sender, ALL,
                       "You have downloaded too many results and environments in a short time.")
LeaderboardThrottle = limit("results", by_sender, ALL,
                            "You have downloaded too many results and leaderboards in a short time.")
# All rated matches of an environment are read.
DataSetThrottle = limit("data_set", by_sender, ALL, "You have downloaded too many data sets in the last hour.")
LoginThrottle = limit("login", by_address, POST, PASSWORDS)
# Against slow attempts of one password on many accounts.
LoginDayThrottle = limit("login_day", by_address, POST, PASSWORDS)
LoginAccountThrottle = limit(BY_ACCOUNT, by_login(typed_account), POST, ON_ACCOUNT)
# Codes count for the account whose password was right, with the passwords.
CodeAccountThrottle = limit(BY_ACCOUNT, by_login(waiting_account), POST, ON_ACCOUNT)
SignUpThrottle = limit("sign_up", by_address, POST, "Too many accounts have been created from your address.")
PasswordResetThrottle = limit("password_reset", by_address, POST,
                              "There were too many requests for new passwords from your address.")
# Whatever the sender's address, so that mailboxes are not flooded.
PasswordResetMailThrottle = limit("password_reset", by_mailbox, POST,
                                  "There were too many requests for a new password for this e-mail address.")
# fmt: on
