"""Addresses of jobs in the API."""

from __future__ import annotations

from web.api.routing import native
from web.jobs import api

routes = [
    *native("jobs/", api.Queues, "jobs"),
    *native("jobs/<slug:kind>/", api.JobList, "jobs_of_kind"),
    *native("jobs/<slug:kind>/<int:pk>/", api.JobShown, "job"),
    *native("jobs/<slug:kind>/<int:pk>/log/", api.JobLog, "job_log"),
    *native("jobs/<slug:kind>/<int:pk>/cancel/", api.JobCancel, "job_cancel"),
    *native("jobs/<slug:kind>/<int:pk>/priority/", api.JobPriority, "job_priority"),
]
