"""Matches as data sets: lines of JSON that are streamed, and checked by a hash in the last one. No Django."""
