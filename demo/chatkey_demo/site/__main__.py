"""Run the site: `python -m chatkey_demo.site --help`."""

from chatkey_demo.site.cli import site

site()
