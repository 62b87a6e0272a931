"""The demo: a page that shows the four identity modes side by side, and the servers that the page needs."""
