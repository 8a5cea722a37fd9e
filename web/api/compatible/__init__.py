"""Addresses and answers that clients of older systems know, word for word."""
