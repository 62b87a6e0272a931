"""Definitions that server, widget and test harness share: names, storage keys, frame kinds and codes.

This package contains no logic.
"""
