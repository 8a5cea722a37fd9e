"""How Django writes dates and times, as its admin does: FORMAT_MODULE_PATH."""
