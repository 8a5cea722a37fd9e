"""Entry point of the site for WSGI servers."""

import os
from importlib import import_module

import django

from core.monitoring.logs import name_service

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "core.settings")
name_service("site")
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402  (once the settings are loaded)
from django.core.signals import request_started  # noqa: E402  (once the settings are loaded)

# Commands check the settings before they begin, but a WSGI server does not.
from core.checks.schema import refuse_unfit_schema  # noqa: E402  (once the settings are loaded)
from core.checks.startup import refuse_unsafe_start  # noqa: E402  (once the settings are loaded)
from core.environments.bringing import SiteChore  # noqa: E402  (as above)
from core.operations.keys import site_key_note  # noqa: E402  (as above)
from core.resolving import Handler  # noqa: E402  (as above)
from core.statements import statements_bound  # noqa: E402  (as above)

application = Handler()
# With all views, or the first requests would wait for them, and a reload would end the old processes before it is known
# that the new ones can load them.
import_module(settings.ROOT_URLCONF)

refuse_unsafe_start()
refuse_unfit_schema()
statements_bound()
site_key_note()
# Threads begin with requests, so that a server may fork before.
request_started.connect(SiteChore(), weak=False)
