"""The environment server: a limited process that holds the code of an environment from outside."""
