"""Parts of `benchmarks.site`: rows to fill the site, visitors, and a server with a bare view beside the site."""
