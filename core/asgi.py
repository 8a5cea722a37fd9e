"""Entry point of the process that sends live events: `gunicorn core.asgi --worker-class asgi`."""

import os

import django

from core.monitoring.logs import name_service

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "core.settings")
name_service("events")
django.setup()

from django.conf import settings  # noqa: E402  (once the settings are loaded)
from django.utils.module_loading import import_string  # noqa: E402  (the settings are named first)

from core.checks.schema import refuse_unfit_schema  # noqa: E402  (once the settings are loaded)
from core.checks.startup import refuse_unsafe_start  # noqa: E402  (as above)
from core.statements import statements_bound  # noqa: E402  (as above)

# Commands check the settings before they begin, but a server does not, as with the site.
refuse_unsafe_start()
refuse_unfit_schema()
statements_bound()

application = import_string(settings.ASGI_APPLICATION)()
