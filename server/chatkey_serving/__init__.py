"""uvicorn as our servers run it, and the only place that reaches into what uvicorn keeps to itself."""
