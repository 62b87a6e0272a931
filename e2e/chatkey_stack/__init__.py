"""Code that demo and test harness share: servers as `with` blocks, certificates, labs, a site, browsers."""
