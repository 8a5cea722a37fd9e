"""Commands of the site. This app is the first, so they replace Django's of the same name."""
