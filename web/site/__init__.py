"""The shared parts of all pages: limits, uploads, fragments, refusals."""
