"""The only modules that use the browser: thin adapters over `js` and `pyodide`."""
