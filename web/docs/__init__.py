"""The documentation on the site, and the search over everything that has a page."""
