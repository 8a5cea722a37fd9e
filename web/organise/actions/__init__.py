"""What organisers can do, a module for each noun; `registry` finds an action by its address."""
