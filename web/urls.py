"""Every address of the site. Each noun has its own table: `pages` for people, `routes` for programs."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path

from web.analyses import urls as analyses
from web.api import urls as api
from web.challenges import urls as challenges
from web.comparisons import urls as comparisons
from web.courses import urls as courses
from web.docs import urls as docs
from web.duels import urls as duels
from web.environments import urls as environments
from web.evaluations import urls as evaluations
from web.jobs import urls as jobs
from web.kit import urls as kit
from web.notices import urls as notices
from web.operations import urls as operations
from web.organise import urls as organise
from web.people import urls as people
from web.ratings import urls as ratings
from web.rollouts import urls as rollouts
from web.runs import urls as runs
from web.site import errors
from web.site import urls as site
from web.site.old_addresses import old_addresses
from web.sittings import urls as sittings
from web.submissions import urls as submissions
from web.tournaments import urls as tournaments
from web.watching import urls as watching

# The API's own table is the last: it ends with an address that takes the rest.
NOUNS = (
    site,
    people,
    notices,
    docs,
    watching,
    tournaments,
    submissions,
    operations,
    kit,
    environments,
    ratings,
    comparisons,
    challenges,
    sittings,
    rollouts,
    evaluations,
    duels,
    analyses,
    jobs,
    runs,
    courses,
    organise,
    api,
)
pages = [page for noun in NOUNS for page in getattr(noun, "pages", ())]
routes = [route for noun in NOUNS for route in getattr(noun, "routes", ())]

urlpatterns = [
    path("", include((pages, "web"))),
    path("", include(people.accounts)),
    path("", include((routes, "api"))),
    path("admin/", admin.site.urls),
    *old_addresses,
    # Only addresses with a slash at their end: others are first tried with one.
    re_path(r"^.*/$", errors.not_found),
]

handler500 = "web.site.errors.failed"
