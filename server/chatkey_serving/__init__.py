"""Runs uvicorn for all servers. Only this package uses private parts of uvicorn."""
