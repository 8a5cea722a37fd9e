"""A season under faults: real workers, engine, database and queue of its own, and a driver that breaks them."""
