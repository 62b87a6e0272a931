"""Social login: the code that all social providers share. The modules in `providers` contain the differences."""
