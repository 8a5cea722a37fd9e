"""Pages and API of tournaments, ladders and seasons."""
