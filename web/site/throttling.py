"""How often anybody may ask, counted in the cache that all processes share; each counts for itself while Redis is down.

Django REST framework's throttles, with a count that is exact when many ask at once: theirs reads a list and writes it
back, so of twenty requests at the same moment all twenty may pass. Pages and the API count together.
"""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from core.cache import count_key
from core.people.logins import BY_ACCOUNT
from web.people.logins import is_known_here, is_locked_here, typed_account
from web.site.accounts import account_of
from web.site.addresses import client_network

if TYPE_CHECKING:
    # At run time it would be a circle: views ask the settings for these classes.
    from rest_framework.views import APIView

AnyRequest = HttpRequest | Request


class Allowance(NamedTuple):
    """What is left of a limit. resets_at: Unix time."""

    limit: int
    remaining: int
    resets_at: int


class Throttle(SimpleRateThrottle):
    """So many requests within a time that begins with the first; counted by account, by address without one."""

    rate: str | None
    num_requests: int | None
    duration: int | None

    sentence: ClassVar[str] = "That was asked too often."
    counts: ClassVar[frozenset[str] | None] = None
    """Methods that are counted; None: all."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        return self.allow(request)

    def allow(self, request: AnyRequest) -> bool:
        """Count a request; False when it is one too many."""
        if self.rate is None or (self.counts is not None and request.method not in self.counts):
            return True
        who = self.who(request)
        if who is None:
            return True
        assert self.num_requests is not None
        assert self.duration is not None
        now = self.timer()
        key = self.key_of(who)
        # The first of them begins the time; whichever of the two keys is lost, the limit begins anew.
        self.cache.add(f"{key}:end", now + self.duration, self.duration)
        self.cache.add(key, 0, self.duration)
        self.ends_at = float(self.cache.get(f"{key}:end") or now + self.duration)
        try:
            count = self.cache.incr(key)
        except ValueError:
            # It has just ended.
            count = 1
        self.now = now
        self._tell(request, Allowance(self.num_requests, max(0, self.num_requests - count), math.ceil(self.ends_at)))
        return count <= self.num_requests

    def wait(self) -> float:
        return self.seconds_left()

    def seconds_left(self) -> int:
        """After a refusal: when to ask again."""
        return max(1, math.ceil(self.ends_at - self.now))

    def who(self, request: AnyRequest) -> str | None:
        """Whose requests are counted; None: nobody's."""
        account = account_of(request)
        return f"account {account.pk}" if account else f"address {client_network(request)}"

    def key_of(self, who: str) -> str:
        return count_key(str(self.scope), who)

    @staticmethod
    def allowance_of(request: HttpRequest) -> Allowance | None:
        """What is left of the tightest limit that a request was counted for."""
        return getattr(request, "rate_allowance", None)

    @staticmethod
    def _tell(request: AnyRequest, allowance: Allowance) -> None:
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
    """Counts only what is sent, not what is read from the same address."""

    scope = "upload"
    counts = frozenset({"POST"})
    sentence = "You have uploaded very often."


class ChangeThrottle(AccountThrottle):
    """Who plays for whom, and in which tournaments.

    A duel that waits is cancelled when one of the two leaves a ladder, and who registers for a full tournament and
    leaves it again keeps others out, so nobody may do so all the time. Strangers change nothing, and are not counted.
    """

    scope = "changes"
    counts = frozenset({"POST", "PUT", "DELETE"})
    sentence = "You have changed very often which of your agents and versions play, or where."


class ReplayThrottle(Throttle):
    """Pages and files for which a match is played again, or an episode drawn. Whatever the method, it is done."""

    scope = "replay"
    sentence = "You have looked at very many matches within a short time."


class ResultsThrottle(Throttle):
    """Files for which all matches of a duel are read and played again."""

    scope = "results"
    sentence = "You have downloaded the results of very many duels within a short time."


class LeaderboardThrottle(ResultsThrottle):
    """Counted with them: leaderboards with all their rows."""

    sentence = "You have downloaded very many results and leaderboards within a short time."


class AddressThrottle(Throttle):
    """Counts by address, whoever logs in there already."""

    counts: ClassVar[frozenset[str] | None] = frozenset({"POST"})

    def who(self, request: AnyRequest) -> str | None:
        return f"address {client_network(request)}"


class BadTokenThrottle(AddressThrottle):
    """Who sends a token that is none is a stranger, whatever the request is for."""

    scope = "stranger"
    counts = None


class LoginThrottle(AddressThrottle):
    """Tries of passwords."""

    scope = "login"
    sentence = "Passwords have been tried too often from your address."


class LoginDayThrottle(LoginThrottle):
    """The same over a day: whoever tries one password on many accounts, slowly."""

    scope = "login_day"


class LoginAccountThrottle(LoginThrottle):
    """Tries of passwords for one account, from whatever address.

    It cannot shut the owner out: an address from which they have logged in is not counted, and neither is one that is
    locked for this account already, so one address alone never uses it up.
    """

    scope = BY_ACCOUNT
    sentence = "Passwords of this account have been tried too often, from many addresses."

    def who(self, request: AnyRequest) -> str | None:
        name = typed_account(request)
        plain = request._request if isinstance(request, Request) else request
        return None if is_known_here(name, plain) or is_locked_here(name, plain) else name


class SignUpThrottle(AddressThrottle):
    scope = "sign_up"
    sentence = "Many accounts have been made from your address."


class PasswordResetThrottle(AddressThrottle):
    scope = "password_reset"
    sentence = "New passwords have been asked for too often from your address."


class PasswordResetMailThrottle(PasswordResetThrottle):
    """By e-mail, from whatever address: nobody's mailbox is filled."""

    sentence = "A new password has been asked for too often for this e-mail."

    def who(self, request: AnyRequest) -> str | None:
        # As the form cleans it, and as Django compares it: spaces and wide letters make no other mailbox of it.
        email = unicodedata.normalize("NFKC", str(request.POST.get("email", ""))).strip()
        return f"email {email[:254].casefold()}"
