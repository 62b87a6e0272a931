"""`chatkey check`: tells an integrator what is wrong with his `getToken` endpoint, why, and what to change."""
