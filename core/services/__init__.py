"""Everything that writes: keyword-only functions named `<entity>_<action>`."""
