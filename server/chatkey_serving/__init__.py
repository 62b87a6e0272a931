"""uvicorn as our servers run it. Only this package uses uvicorn's private parts."""
