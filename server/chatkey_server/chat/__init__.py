"""Conversations, messages, calls and search. They work the same in every identity mode."""
