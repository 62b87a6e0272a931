"""Run the site: `python -m chatkey_stack.site --help`."""

from chatkey_stack.site.cli import site

site()
