"""The demo: a page that shows the four identity modes side by side, and all that it starts for that."""
