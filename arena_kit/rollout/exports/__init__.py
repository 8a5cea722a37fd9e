"""The exported state of a world: tables and files, questions to them, and what has changed."""
