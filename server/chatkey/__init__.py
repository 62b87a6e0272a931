"""The command `chatkey`, and the documentation that it shows. The other packages bring the commands."""

__version__ = "0.1.0"
