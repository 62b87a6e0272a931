"""Page objects, which use roles and accessible names to find what people see and use."""
