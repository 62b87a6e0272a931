"""The service under test, as a case sees it: its endpoints, its socket, its businesses and its clock."""
