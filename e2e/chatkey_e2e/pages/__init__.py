"""Page objects for what people see and do, located by roles and accessible names."""
