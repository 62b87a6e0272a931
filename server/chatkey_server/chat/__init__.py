"""Conversations, messages, calls and search: the same in every identity mode."""
