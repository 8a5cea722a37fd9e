"""The signals of a process: metrics, logs and error reports."""
