"""What `manage.py demo` is made of: accounts, example agents, child processes and progress."""
