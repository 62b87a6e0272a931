"""Runs the browser scenarios against a service that is not ours, with our other servers around it."""
