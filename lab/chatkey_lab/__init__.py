"""Who may use a lab, the test controls of a server: the same rules for the service, the fake provider and the shops."""
