"""Runs the browser scenarios against a service that is not ours, together with our other servers."""
