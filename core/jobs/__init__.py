"""The job engine: kinds of jobs, who performs them, and how a worker claims the next one."""
