"""Implements the options of `chatkey check` and its terminal output."""
