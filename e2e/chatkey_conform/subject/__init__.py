"""The service under test, as a case uses it: its endpoints, socket, businesses and clock."""
