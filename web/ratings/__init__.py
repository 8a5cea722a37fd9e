"""Pages and API of ratings and other views of results."""
