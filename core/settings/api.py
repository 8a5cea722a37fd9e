"""The interfaces for programs: the API and the executor."""

from typing import Any

from core.settings.base import SITE_NAME, env

ANONYMOUS_SUBMISSIONS = env.flag("ANONYMOUS_SUBMISSIONS", False)
# Origins whose pages may call the API with a token, such as https://board.example.org; * for all.
CORS_ORIGINS = env.words("CORS_ORIGINS")
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "web.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["web.api.permissions.CourseSeen"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["web.api.parsers.BoundedJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "web.api.parsers.OnlyJSON",
    "DEFAULT_THROTTLE_CLASSES": ["web.site.throttling.StrangerThrottle", "web.site.throttling.AccountThrottle"],
    "DEFAULT_THROTTLE_RATES": env.pairs(
        "RATES",
        "stranger=120/minute,account=1200/minute,poll=600/minute,bad_token=120/minute,login=10/minute,login_account=100/hour,login_day=300/day,"
        "upload=60/hour,environment=20/day,validate=30/minute,changes=20/hour,sign_up=60/hour,password_reset=10/hour,replay=600/minute,"
        "replay_file=60/minute,results=30/minute,data_set=20/hour,executor=1200/minute",
        str,
    ),
    "DEFAULT_FILTER_BACKENDS": ["web.api.listing.Filters", "web.api.listing.Ordering"],
    "DEFAULT_PAGINATION_CLASS": "web.api.listing.Pages",
    "DEFAULT_SCHEMA_CLASS": "web.api.schema.DescribedView",
    "EXCEPTION_HANDLER": "web.api.errors.to_response",
    "NUM_PROXIES": env.number("TRUSTED_PROXIES", 0),
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": f"{SITE_NAME} API",
    "VERSION": "1",
    "DESCRIPTION": "Everything that the pages show, for programs. See docs/reference/api.md for examples.",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": ["web.api.schema.add_shared_answers"],
}

# Where programs reach the executor (gRPC).
EXECUTOR_ADDRESS = f"{env.text('EXECUTOR_HOST', '127.0.0.1')}:{env.number('EXECUTOR_PORT', 50051)}"
