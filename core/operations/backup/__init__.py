"""Backups: the database and the files that rows name in one file, written while the arena runs, and restored."""
