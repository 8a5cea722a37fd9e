"""Atom feeds of an environment and of an agent, for feed readers."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.syndication.views import Feed
from django.db.models import Model
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed

from core.editions.happenings import Happening, happenings
from core.links import absolute, agent_address
from core.models import Agent, Environment
from web.ratings.parts import agent_shown

if TYPE_CHECKING:
    HappeningFeed = Feed[Happening, Model]
else:
    HappeningFeed = Feed  # not generic at run time


class EnvironmentFeed(HappeningFeed):
    """Results, new leaders and new versions of an environment."""

    feed_type = Atom1Feed

    def get_object(self, request: HttpRequest, *args: object, **kwargs: str) -> Model:
        try:
            return Environment.objects.get(slug=kwargs["slug"])
        except Environment.DoesNotExist:
            raise Http404("There is no such environment.") from None

    def title(self, of: Model) -> str:
        return str(of)

    def link(self, of: Model) -> str:
        assert isinstance(of, Environment)
        return absolute(reverse("web:environment", args=[of.slug]))

    def items(self, of: Model) -> list[Happening]:
        assert isinstance(of, Environment)
        return happenings(of)

    def item_title(self, item: Happening) -> str:
        return item.title

    def item_description(self, item: Happening) -> str:
        return ""

    def item_link(self, item: Happening) -> str:
        return absolute(item.address)

    def item_guid(self, item: Happening) -> str:
        return f"{absolute(item.address)}#{item.key}"

    def item_updateddate(self, item: Happening) -> datetime:
        return item.at

    def item_pubdate(self, item: Happening) -> datetime:
        return item.at


class AgentFeed(EnvironmentFeed):
    """Results and new versions of an agent, and when it began to lead."""

    def get_object(self, request: HttpRequest, *args: object, **kwargs: str) -> Model:
        return agent_shown(kwargs["slug"], kwargs["name"])

    def link(self, of: Model) -> str:
        assert isinstance(of, Agent)
        return absolute(agent_address(of))

    def items(self, of: Model) -> list[Happening]:
        assert isinstance(of, Agent)
        return happenings(of.environment, of)
