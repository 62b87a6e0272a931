"""`chatkey check`: tells integrators what is wrong with their `getToken` endpoint, why, and what to change."""
