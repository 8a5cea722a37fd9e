"""The record of a rollout for people: steps, pages, pictures, the network log, the trace and the video."""
