"""Everything the demo and the harness start: servers as `with` blocks, their certificates, and their labs."""
