"""Images of submissions, built without running anything of theirs."""
