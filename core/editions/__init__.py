"""Editions: all that is played in an environment, and the tables and ratings that follow from its ledger."""
