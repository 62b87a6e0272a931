"""A front before any service: passes everything on, spoils what it is told to, and can have our files beside it."""
