"""The only modules that know the browser: thin adapters over `js` and `pyodide`."""
