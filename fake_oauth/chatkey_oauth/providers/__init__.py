"""One module per real provider imitated."""
