"""The service under test in the form that a case uses: endpoints, socket, businesses and clock."""
