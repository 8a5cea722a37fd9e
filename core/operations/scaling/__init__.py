"""Creates and removes hosts of workers as work comes and goes. `decision` is pure; `providers` speak to the hosts."""
