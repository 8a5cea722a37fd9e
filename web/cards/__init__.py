"""Pictures of matches that other sites show for a link to them."""
