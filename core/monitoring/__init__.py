"""What a process says about itself: metrics, logs and error reports."""
