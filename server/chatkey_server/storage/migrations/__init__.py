"""The history of the schema: one module per migration. They run in the order of their ids."""
