"""Addresses and answers that clients of older systems know. Their words are kept to the letter."""
