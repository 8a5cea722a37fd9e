"""Makes the images of packages, with the data of their seed in them."""
