"""`sdk.js` and the files it loads, from the assets address (D-17)."""
