"""Calls of an endpoint: who makes them, what is in them, and what their tokens say."""
