"""Definitions that server, widget and test harness share: names, storage keys, frame kinds, codes. No logic."""
