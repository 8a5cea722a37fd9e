"""The package `arena-kit`: its page, its wheel, and an index for installers."""
