"""The only way from an agent to a language model: an OpenAI-compatible server on a Unix socket of the worker."""
