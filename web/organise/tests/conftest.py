"""The cast of the site's tests, and a planned tournament."""

from web.tests.conftest import cast, environment, shared_cast, shared_environment, shared_stage, stage, visit

__all__ = ["cast", "environment", "shared_cast", "shared_environment", "shared_stage", "stage", "visit"]
