"""Runs in the browser's container: takes orders over a Unix socket and drives Chromium by Playwright.

`serving` reads orders and answers them, `session` holds the browser and its tabs, `doing` carries out one action,
`seeing` says what there is to see, and `noting` keeps requests and frames of the video. Only Playwright and the
standard library are there. No code of an agent runs here, but pages of the package do, so nothing here is trusted by
the other side.
"""
