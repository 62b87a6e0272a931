"""The history of the schema, with one module per migration. Migrations run in the order of their ids."""
