"""What an environment is, and the records of what was played in it."""
