"""The parts of `manage.py demo`: accounts, example agents, child processes and progress."""
