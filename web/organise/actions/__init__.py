"""The acts of organisers, a module for each noun; `registry` finds an action by its address."""
