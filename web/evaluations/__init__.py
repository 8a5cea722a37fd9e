"""Pages and API of evaluations and the boards that rank by score."""
