"""Environments from outside: folders of organisers, tried in a limited process before anything relies on them."""
