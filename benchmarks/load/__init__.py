"""Parts of `benchmarks.site`: rows to fill a site with, visitors, and a server with a bare view beside the site."""
