"""The local page of --ui: every call of a run, to be changed and sent again, and a token explained."""
