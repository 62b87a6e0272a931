"""Sends requests over HTTP, or records requests in a dry run without sending them."""
