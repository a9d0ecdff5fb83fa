"""The pages: read a request, call a command or a query, render. Who may do what is decided there, never here."""
