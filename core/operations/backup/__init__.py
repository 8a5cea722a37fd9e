"""The arena in one file: its database and the files that rows name, written while it goes on, and put back."""
