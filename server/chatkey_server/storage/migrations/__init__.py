"""The history of the schema: one module for each migration, run in the order of their ids."""
