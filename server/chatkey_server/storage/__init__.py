"""Where things are kept: Piccolo tables, migrations, encryption at rest, and the few queries everyone uses."""
