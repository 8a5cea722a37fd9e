"""Everything that reads for pages: `<entity>_list`, `<entity>_get`. No writes, no N+1."""
