"""The public HTTP endpoints the widget calls (contract 4)."""
