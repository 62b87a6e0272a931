"""The public HTTP endpoints that the widget calls (contract 4)."""
