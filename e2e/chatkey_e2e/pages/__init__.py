"""Page objects: what people see and do, found by roles and accessible names."""
