"""The job engine: kinds of jobs, the functions that perform them, and how a worker claims the next one."""
