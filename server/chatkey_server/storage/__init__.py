"""Storage: Piccolo tables, migrations, encryption at rest, and shared queries."""
