"""The organisers' pages, built on Django's admin."""
